"""Two clusterings of the same threads: how they agree, and which of them people prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.api.references import MAKER, built_threads, start, threads_of
from overton.api.requests import Arguments, Prices
from overton.api.runs import Run, open_run
from overton.api.threads import references_at
from overton.errors import InputError, Problem
from overton.hosts.local import Limits, Watch

if TYPE_CHECKING:
    from overton.studies.pluralism.comparing import Comparison, ReferenceComparison
    from overton.studies.pluralism.items import Thread
    from overton.studies.pluralism.preferring import Pair, Preferences

__all__ = ["Compared", "compare_clusterings", "compare_references", "compared", "compared_run", "read_preferences"]


@dataclass(frozen=True)
class Compared:
    """Two clusterings in one run: how they agree (None while nothing was built), and the sheet and its key if drawn."""

    run: Run
    comparison: Comparison | None
    sheet: tuple[Path, Path] | None


def compare_clusterings(
    threads: str | Path | Sequence[Thread],
    *,
    methods: tuple[str, str],
    model: str,
    out: str | Path,
    embedder: str | None = None,
    sheet: str | Path | None = None,
    size: int = 100,
    seed: int = 0,
    model_args: Arguments | None = None,
    prices: Prices | None = None,
    max_cost: float | None = None,
    max_calls: int | None = None,
    watch: Watch | None = None,
    **options: Any,
) -> Compared:
    """Two clusterings of the same opinions of the same threads, in one run: how they agree.

    With `sheet` a blinded side-by-side sheet of `size` threads is written there (CSV), its key beside it as
    NAME.key.json; `read_preferences` reads it back.

    Raises:
        InputError: see `references.build`; not two different methods; a file for the sheet is there already.
    """
    if len(set(methods)) != 2:
        raise InputError([Problem("--method", ", ".join(methods), "name two different clusterings")])
    files = _sheet_files(Path(sheet)) if sheet is not None else None
    run = start(
        threads,
        methods,
        model=model,
        out=out,
        embedder=embedder,
        seed=seed,
        model_args=model_args,
        prices=prices,
        limits=Limits(max_cost, max_calls),
        watch=watch,
        options=options,
    )
    return compared(run, files, size=size)


def compared(run: Run, files: tuple[Path, Path] | None = None, *, size: int = 100) -> Compared:
    """What a finished or resumed run of two clusterings tells; `files` are a sheet's and its key's, to be made."""
    from overton.studies.pluralism import comparing, preferring

    first, second = run.manifest.options["methods"]
    methods, rows = (first, second), built_threads(run)
    pairs = preferring.pairs_of(rows, threads_of(run), *methods)
    comparison = comparing.compare(rows, *methods) if pairs else None
    if pairs and files is not None:
        _write_sheet(pairs, methods, files, size, run.manifest.seed)
    return Compared(run, comparison, files if pairs else None)


def compared_run(path: str | Path, sheet: str | Path | None = None, *, size: int = 100) -> Compared:
    """The same of a run folder, perhaps with a sheet to be made, as after a run was resumed.

    Raises:
        InputError: it is no run of two clusterings; a file for the sheet is there already.
        RunError: it is not a run folder.
    """
    run = open_run(path)
    if run.manifest.study != MAKER or len(run.manifest.options["methods"]) != 2:
        raise InputError([Problem(str(path), run.manifest.study, "is not a run of two clusterings")])
    return compared(run, _sheet_files(Path(sheet)) if sheet is not None else None, size=size)


def compare_references(first: str | Path, second: str | Path) -> ReferenceComparison:
    """How two datasets of reference viewpoints agree on the threads that both hold, hand-made ones for instance.

    Raises:
        InputError: a file cannot be read, or no thread is in both.
    """
    from overton.studies.pluralism import comparing

    return comparing.compare_references(references_at(first), references_at(second))


def read_preferences(sheets: Sequence[str | Path], *, key: str | Path | None = None) -> Preferences:
    """What people prefer who filled in copies of one side-by-side sheet; `key` defaults to that beside the first.

    Raises:
        InputError: a file cannot be read, or by line what is wrong with a sheet.
    """
    from overton.judging.sheets import Key, read_sheet
    from overton.studies.pluralism.preferring import preferences

    paths = [Path(sheet) for sheet in sheets]
    if not paths:
        raise InputError([Problem("SHEET", "", "name at least one filled sheet")])
    keys = Path(key) if key is not None else paths[0].with_suffix(".key.json")
    try:
        known = msgspec.json.decode(_bytes(keys), type=Key)
    except msgspec.DecodeError as error:
        raise InputError([Problem(str(keys), "", f"is not the key of a sheet: {error}")]) from error
    return preferences(known, [read_sheet(_text(path), known, str(path)) for path in paths])


def _sheet_files(sheet: Path) -> tuple[Path, Path]:
    files = sheet, sheet.with_suffix(".key.json")
    taken = [Problem(str(file), "", "exists already; name another file") for file in files if file.exists()]
    if taken:
        raise InputError(taken)
    return files


def _write_sheet(
    pairs: Sequence[Pair], methods: tuple[str, str], files: tuple[Path, Path], size: int, seed: int
) -> None:
    from overton.judging.sheets import write_sheet
    from overton.studies.pluralism.preferring import preference_sheet

    key, texts = preference_sheet(pairs, *methods, size=size, seed=seed)
    files[0].parent.mkdir(parents=True, exist_ok=True)
    files[0].write_text(write_sheet(key, texts), encoding="utf-8-sig", newline="")  # spreadsheets need the mark
    files[1].write_bytes(msgspec.json.format(msgspec.json.encode(key), indent=1))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError([Problem(str(path), "", f"cannot be read: {error.strerror or error}")]) from error


def _text(path: Path) -> str:
    try:
        return _bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason = "is not UTF-8; save the sheet as UTF-8"
        raise InputError([Problem(str(path), f"byte {error.start}", reason)]) from error
