"""A run's records and estimates as tables for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.analysis.analyze import chosen_how, measured_runs
from overton.errors import InputError, Problem
from overton.files.table_formats import write_tables
from overton.runs.run import Run, open_run
from overton.studies.frame import Analysis

if TYPE_CHECKING:
    import polars as pl


TABLES = "tables"
"""The folder into which tables are written if none is named."""


def export_tables(run: str | Path | Run, *, to: str, out: str | Path = TABLES, **how: Any) -> list[Path]:
    """Write a run's records and estimates into a new folder; returns the files, `records` and `estimates`.

    Example: `overton.export_tables("runs/first", to="csv", out="first-tables")`.

    `to` is 'csv', 'parquet' or 'xlsx'. The table `records` has the rows of `records.parquet`, and `estimates` those of
    `analysis.estimates()`; `how` are the choices of `overton.analyze`. In CSV and xlsx, lists are written as JSON. In
    CSV, a text that a spreadsheet would take for a formula gets an apostrophe in front. A study without measures has
    records only.

    Raises:
        InputError: an unknown format or choice, a run that cannot be measured, or a table that is too large for xlsx.
        MissingExtra: the format is xlsx, and the optional part 'spreadsheets' is not installed.
        RunExists: there is something at `out` already.
        RunError: the run has no records, or the folder cannot be written.
    """
    opened = open_run(run)
    return write_tables({"records": opened.records(), **_estimates_of(opened, how)}, Path(out), to)


def _estimates_of(run: Run, how: dict[str, Any]) -> dict[str, pl.DataFrame]:
    """Every number of a run's analysis as the table `estimates`; empty if the study has no measures.

    Raises:
        InputError: choices were made for a study without measures; or see `overton.analyze`.
    """
    if run.study.measuring is None:
        if how:
            raise InputError([Problem(name, "", f"{run.study.name} has no measures") for name in how])
        return {}
    analysis = measured_runs(run.study, [run], chosen_how(run.study, how, [run])).analysis
    return {"estimates": analysis.estimates()} if isinstance(analysis, Analysis) else {}
