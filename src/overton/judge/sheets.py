"""Sheets on which a person checks a judge: drawn from a run, and read back as agreement stored with the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from overton.analysis.results import AGREEMENT, agreements_of, results_of
from overton.errors import InputError, Problem, RunError, Unreadable, reason_of
from overton.files.atomic import make_folder, write_atomic
from overton.runs.labels import labels_locked
from overton.runs.run import Run, open_run
from overton.studies.options import option_place
from overton.untrusted import decode_json, decode_text, read_bytes

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.agreement import SheetAgreement
    from overton.judging.sheets import SheetAnswers, SheetKey
    from overton.studies.questions import JudgedRows, Sheet


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
    """Draw `size` of a run's labelled units onto a new sheet for a person; returns the files of the sheet and its key.

    The sheet is a CSV file with an empty column `person`; its key, beside it as NAME.key.json, contains the judge's
    labels, and the person must not see it. With `stratified`, each label is drawn equally often if possible. `what`
    names the label if a study has several, one of its `sheet.whats`. `size` defaults to the paper's.

    Raises:
        InputError: a file exists already, the study has no sheet, or nothing is labelled.
        RunError: `run` is not a run folder, or has no records; the files cannot be written.
    """
    from overton.judging.sheets import KeyRow, draw, key_of

    opened, files = open_run(run), fresh_sheet(Path(sheet))
    sheet_of, chosen, judged = judged_rows(opened, what)
    places = draw(judged.given, size=sheet_of.size if size is None else size, seed=seed, stratified=stratified)
    rows = judged.drawn(places)
    key = key_of(
        [KeyRow(*row) for row in rows.select("id", "label", "group").iter_rows()],
        study=opened.manifest.study,
        what=chosen,
        judge=judged.judge,
        labels=judged.labels,
        seed=seed,
        stratified=stratified,
        population={label: list(judged.given).count(label) for label in judged.labels},
    )
    write_files(files, key, rows.select(as_text(name) for name in judged.shown).to_dicts())
    return files


def fresh_sheet(path: Path) -> tuple[Path, Path]:
    """The files of a new sheet and of its key.

    Raises:
        InputError: one exists already.
    """
    files = path, path.with_suffix(".key.json")
    if taken := [Problem(str(file), "", "exists already; name another file") for file in files if file.exists()]:
        raise InputError(taken)
    return files


def write_files(files: tuple[Path, Path], key: SheetKey, shown: Sequence[Mapping[str, str]]) -> None:
    """Write a sheet, and its key beside it: the key first, since a sheet without one is useless.

    Raises:
        RunError: they cannot be written.
    """
    from overton.judging.sheets import write_sheet

    sheet, beside = files
    make_folder(sheet.parent)
    write_atomic(beside, [msgspec.json.format(msgspec.json.encode(key), indent=1)])
    try:
        write_atomic(
            sheet, [write_sheet(key, shown).encode("utf-8-sig")]
        )  # spreadsheets need the byte order mark to detect UTF-8
    except RunError:
        beside.unlink(missing_ok=True)
        raise


def opened_sheet(sheet: Path, key: Path | None = None, *, beside: Path | None = None) -> tuple[SheetKey, SheetAnswers]:
    """The key of a sheet and the person's answers; the key is by default the file that was written with `beside`.

    Raises:
        InputError: a file cannot be read, or the sheet has problems, listed by line.
    """
    from overton.judging.sheets import SheetKey, has_changed, read_sheet

    keys = key if key is not None else (beside or sheet).with_suffix(".key.json")
    try:
        known = decode_json(_read_content(keys), msgspec.json.Decoder(SheetKey).decode)
    except Unreadable as error:
        raise InputError([Problem(str(keys), "", f"is not the key of a sheet: {error.reason}")]) from error
    if has_changed(known):
        reason = "was changed after it was written: draw the sheet again, or restore the original key"
        raise InputError([Problem(str(keys), "", reason)])
    return known, read_sheet(_read_text(sheet), known, str(sheet))


def judged_rows(run: Run, what: str | None) -> tuple[Sheet, str, JudgedRows]:
    """The study's sheet, which of its labels is used, and what the judge gave.

    Raises:
        InputError: the study has no sheet, or no such label.
    """
    made = run.study.sheet
    if made is None:
        raise InputError(
            [Problem("study", run.study.name, "has no sheet: its judge, if any, gives no labels to check")]
        )
    if what is not None and what not in made.whats:
        raise InputError([Problem(option_place("what"), what, f"must be {' or '.join(made.whats)}")])
    results = results_of([run])
    chosen = what or (made.usual(results) if made.usual else made.whats[0])
    return made, chosen, made.rows(results, chosen)


def as_text(name: str) -> pl.Expr:
    """A column as text, '' where it is null."""
    import polars as pl

    return pl.col(name).cast(pl.String).fill_null("")


def read_agreement(
    sheet: str | Path, *, key: str | Path | None = None, run: str | Path | None = None, level: float = 0.95
) -> SheetAgreement:
    """How well the judge agrees with the person who filled in `sheet`.

    `key` defaults to the file that was written beside the sheet. With `run`, the agreement is stored in that run's
    folder, replacing an earlier one from the same sheet, and its report shows it; an empty sheet is not stored.

    Raises:
        InputError: a file cannot be read, or the sheet has problems, listed by line; or it belongs to another run.
    """
    from overton.judging.agreement import sheet_agreement

    known, answers = opened_sheet(Path(sheet), None if key is None else Path(key))
    found = sheet_agreement(known, answers, level=level)
    if run is not None and found.blank < found.drawn:
        _store_agreement(open_run(run), found)
    return found


def _store_agreement(run: Run, found: SheetAgreement) -> None:
    if run.manifest.study != found.study:
        raise InputError(
            [Problem(str(run.path), "", f"is a run of {run.manifest.study}, but the sheet is of {found.study}")]
        )
    with labels_locked(run.path):
        kept = [agreement for agreement in agreements_of(run) if agreement.sheet != found.sheet]
        write_atomic(run.path / AGREEMENT, [msgspec.json.format(msgspec.json.encode([*kept, found]), indent=1)])


def _read_text(path: Path) -> str:
    try:
        return decode_text(_read_content(path))
    except Unreadable as error:
        reason = "is not UTF-8; save the sheet as UTF-8"
        raise InputError([Problem(str(path), f"byte {error.byte}", reason)]) from error


def _read_content(path: Path) -> bytes:
    try:
        return read_bytes(path.resolve(), _MAX_BYTES)
    except Unreadable as error:
        raise InputError([Problem(str(path), "", error.reason)]) from error
    except OSError as error:
        raise InputError([Problem(str(path), "", f"cannot be read: {reason_of(error)}")]) from error
