"""A check of a run against its own journal: the run is conducted again, offline, and compared with its files."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from overton.analysis.analyze import chosen_how, measured_runs
from overton.errors import InputError, JournalError, Notice, RunError, RunMismatch, StudyError, command
from overton.files.atomic import cannot_be_written
from overton.reports.run_report import report
from overton.runs.folder import stored_records
from overton.runs.lanes import write_dataset
from overton.runs.replay import recall_records
from overton.runs.run import Run, check_unchanged, open_run

if TYPE_CHECKING:
    import polars as pl

_MOST_NAMED = 3
"""The maximum number of differences that a sentence names."""
_LEFT_OUT = ("*.lock", "*.reserve", "records.parquet", "records.parts", "report.html", "pages.*")
"""Files that are not copied, because they are made again or are not needed."""


class VerifiedPart(msgspec.Struct, frozen=True):
    """One part of a run: whether it matches the journal, and a sentence on the comparison or the difference."""

    part: str
    same: bool
    said: str


@dataclass(frozen=True)
class Verification:
    """A run's calls, records, estimates and report, each compared with the result of conducting the run again from its
    journal."""

    run: Path
    parts: tuple[VerifiedPart, ...]

    @property
    def same(self) -> bool:
        """Whether all parts are the same."""
        return all(part.same for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        """As JSON values: `run`, `same`, `parts`."""
        return {"run": str(self.run), "same": self.same, "parts": msgspec.to_builtins(self.parts)}


def verify(path: str | Path) -> Verification:
    """Conduct a run again from its journal, and compare records, estimates and report with those on disk.

    No calls are made, and nothing is written into the run's folder. The check uses a copy of the folder, without the
    files that are made again. A run that stopped is verified as far as it went. If a part differs, the parts that
    depend on it are still compared.

    Raises:
        InputError: the run's study is not installed here.
        RunError: `path` is not a run folder, is running, or has no records; or the copy cannot be written.
    """
    run = open_run(path)
    if run.manifest.status == "running":
        raise RunError(f"{run.path} is running, or was killed. If it was killed: {command('resume', run.path)}")
    with TemporaryDirectory(prefix="overton-") as kept, warnings.catch_warnings():
        warnings.simplefilter("ignore", Notice)
        again = Path(kept) / run.path.resolve().name
        try:
            shutil.copytree(run.path, again, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        except (OSError, shutil.Error) as error:
            raise cannot_be_written(again, error) from error
        return Verification(run.path, tuple(_compare_parts(run, again)))


def _compare_parts(run: Run, again: Path) -> Iterator[VerifiedPart]:
    try:
        conducted = _conduct_again(run, again)
    except (RunMismatch, JournalError) as error:
        yield VerifiedPart("calls", same=False, said=str(error))
        return
    outcomes = run.manifest.spent.outcomes
    yield VerifiedPart("calls", same=True, said=f"the journal's {outcomes:,} outcomes answer the calls of this run")
    yield _compare_records(run, conducted)
    if run.study.measuring is not None and conducted.records().height:
        yield _compare_estimates(run, conducted)
        yield _compare_report(run, conducted)
    if run.dataset is not None:
        same = run.dataset.read_bytes() == (again / run.dataset.name).read_bytes()
        yield VerifiedPart("dataset", same, f"{run.dataset.name} {'matches' if same else 'does not match'} the journal")


def _conduct_again(run: Run, again: Path) -> Run:
    """Conduct the run again in the folder of its copy. Return the copy, with its new records.

    Raises:
        RunMismatch: items, prompts, or a call would differ now.
        JournalError: the journal is damaged.
    """
    copy = Run(again, study=run.study)
    check_unchanged(copy)
    recall_records(copy, lacking=copy.manifest.stopped)
    write_dataset(copy)
    return copy


def _compare_records(run: Run, again: Run) -> VerifiedPart:
    stored, made = (stored_records(each.path) for each in (run, again))
    return _compare_tables("records", stored, made, ("trial",))


def _compare_estimates(run: Run, again: Run) -> VerifiedPart:
    try:
        stored = _estimates_of(run)
    except (InputError, StudyError) as error:
        return VerifiedPart("estimates", same=False, said=f"none can be computed from the records on disk: {error}")
    return _compare_tables(
        "estimates", stored, _estimates_of(again), ("measure", "model", "item", "facet", "condition")
    )


def _estimates_of(run: Run) -> pl.DataFrame:
    analysis = measured_runs(run.study, [run], chosen_how(run.study, {}, [run])).analysis
    estimates: pl.DataFrame = analysis.estimates()
    return estimates


def _compare_report(run: Run, again: Run) -> VerifiedPart:
    stored = run.path / "report.html"
    if not stored.is_file():
        return VerifiedPart("report", same=True, said="the run has no report")
    if stored.read_bytes() == report([again.path]).read_bytes():
        return VerifiedPart("report", same=True, said=f"{stored.name} matches the journal")
    advice = f"write it again: {command('report', run.path)}"
    return VerifiedPart("report", same=False, said=f"{stored.name} does not match the journal; {advice}")


def _compare_tables(part: str, stored: pl.DataFrame, made: pl.DataFrame, names: Sequence[str]) -> VerifiedPart:
    """Whether two tables are equal, and where they differ. The columns `names` identify a row."""
    import polars as pl

    if stored.height != made.height or stored.schema != made.schema:
        shapes = [f"{table.height:,} rows of {table.width} columns" for table in (stored, made)]
        if shapes[0] == shapes[1]:
            shapes = [f"{table.height:,} rows with columns {_spell_columns(table)}" for table in (stored, made)]
        return VerifiedPart(part, same=False, said=f"there are {shapes[0]}; the journal gives {shapes[1]}")
    differs = pl.DataFrame({name: ~stored[name].eq_missing(made[name]) for name in stored.columns})
    rows = differs.select(pl.any_horizontal(pl.all())).to_series().arg_true().to_list()
    if not rows:
        return VerifiedPart(part, same=True, said=f"all {stored.height:,} rows match the journal")
    said = []
    for row in rows[:_MOST_NAMED]:
        column = next(name for name in stored.columns if differs[name][row])
        values = f"{column} is {stored[column][row]!r}, the journal gives {made[column][row]!r}"
        said.append(f"{_spell_row(stored, row, names)}: {values}")
    more = [f"and {len(rows) - len(said):,} more rows differ"] if len(rows) > len(said) else []
    return VerifiedPart(part, same=False, said="; ".join([*said, *more]))


def _spell_columns(table: pl.DataFrame) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in table.schema.items())


def _spell_row(table: pl.DataFrame, row: int, names: Sequence[str]) -> str:
    known = [table[name][row] for name in names if name in table.columns]
    return f"row {row + 1} ({', '.join(str(value) for value in known if value is not None)})"
