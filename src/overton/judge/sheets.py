"""Sheets on which a person labels judged rows: sampling from a run, writing and reading. Each sheet has a key file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.errors import InputError, Problem, RunError, Unreadable
from overton.files.atomic import make_folder, write_atomic
from overton.judge.label_draw import as_text, draw_task, judged_rows, questions_of
from overton.runs.run import open_run
from overton.untrusted import decode_json, decode_text, read_file

if TYPE_CHECKING:
    from overton.judging.label_tasks import LabelTask


_MAX_BYTES = 200_000_000


def draw_sheet(
    run: str | Path,
    sheet: str | Path,
    *,
    size: int | None = None,
    seed: int = 0,
    stratified: bool = False,
    what: str | None = None,
) -> tuple[Path, Path]:
    """Sample `size` of a run's judged units onto a new sheet for a person; return the files of the sheet and its key.

    The sheet is a CSV file with an empty column `person`. The sheet's key, NAME.key.json in the same folder, is the
    task. The key contains the judge's labels, so the person must not see it. With `stratified`, equally many units are
    sampled for each of the judge's labels if possible. `what` names the label (one of `questions.keys`) if a study has
    several. `size` defaults to the paper's number. `overton.judge.agreement` reads the filled sheet as one person's
    labels.

    Raises:
        InputError: a file exists already, the study has no sheet, or the judge gave no labels.
        RunError: `run` is not a run folder, or has no records; the files cannot be written.
    """
    opened, files = open_run(run), fresh_sheet(Path(sheet))
    judged = judged_rows(opened, what)
    task, rows = draw_task(
        opened,
        judged,
        lambda groups: (tuple(range(len(groups))),),
        size=questions_of(opened.study).size if size is None else size,
        seed=seed,
        design="stratified" if stratified else "plain",
    )
    write_files(files, task, rows.select(as_text(name) for name in judged.question.sheet_columns).to_dicts())
    return files


def fresh_sheet(path: Path) -> tuple[Path, Path]:
    """The files of a new sheet and of its key.

    Raises:
        InputError: one of the files exists already.
    """
    files = path, path.with_suffix(".key.json")
    if taken := [Problem(str(file), "", "exists already; name another file") for file in files if file.exists()]:
        raise InputError(taken)
    return files


def write_files(files: tuple[Path, Path], task: LabelTask, shown: Sequence[Mapping[str, str]]) -> None:
    """Write a sheet, and its key next to it. The key is written first, because a sheet without a key is useless.

    Raises:
        RunError: they cannot be written.
    """
    from overton.judging.sheets import write_sheet

    sheet, beside = files
    make_folder(sheet.parent)
    write_atomic(beside, [msgspec.json.format(msgspec.json.encode(task), indent=1)])
    try:
        # Spreadsheets need the byte order mark to detect UTF-8.
        write_atomic(sheet, [write_sheet(task, shown).encode("utf-8-sig")])
    except RunError:
        beside.unlink(missing_ok=True)
        raise


def opened_sheet(
    sheet: Path, key: Path | None = None, *, beside: Path | None = None, more: Sequence[str] = ()
) -> tuple[LabelTask, dict[int, str]]:
    """Read the task of a sheet, and the person's labels by row. Empty rows are left out.

    The task is in the file `key`. By default this is the key file next to `beside` or, if `beside` is not given, next
    to `sheet`. `more` are labels that a person may give in addition to the task's labels.

    Raises:
        InputError: a file cannot be read, or the sheet has problems, listed by line.
    """
    from overton.judging.sheets import read_sheet

    name, task = _read_key(key if key is not None else (beside or sheet).with_suffix(".key.json"))
    return task, read_sheet(_read_text(sheet), name, len(task.rows), (*task.labels, *more), str(sheet))


class _KeyHead(msgspec.Struct):
    """The part of a file that shows whether it is a `SheetKey`: only a `SheetKey` has this field."""

    sheet: str = ""


def _read_key(path: Path) -> tuple[str, LabelTask]:
    """The name of a sheet and its task."""
    from overton.judging.label_tasks import LabelTask, has_changed
    from overton.judging.sheets import SheetKey

    content = _read_content(path)
    try:
        if decode_json(content, msgspec.json.Decoder(_KeyHead).decode).sheet:
            key = decode_json(content, msgspec.json.Decoder(SheetKey).decode)
            name, task, changed = key.sheet, key.task(), key.has_changed()
        else:
            task = decode_json(content, msgspec.json.Decoder(LabelTask).decode)
            name, changed = task.name, has_changed(task)
    except Unreadable as error:
        raise InputError([Problem(str(path), "", f"is not the key of a sheet: {error.reason}")]) from error
    if changed:
        reason = "was changed after it was written: sample the sheet again, or restore the original key"
        raise InputError([Problem(str(path), "", reason)])
    return name, task


def _read_text(path: Path) -> str:
    try:
        return decode_text(_read_content(path))
    except Unreadable as error:
        reason = "is not UTF-8; save the sheet as UTF-8"
        raise InputError([Problem(str(path), f"byte {error.byte}", reason)]) from error


def _read_content(path: Path) -> bytes:
    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"cannot be read: {reason}")])

    return read_file(path.resolve(), _MAX_BYTES, bytes, error)
