"""Export of runs to other tools' formats, and import of other tools' logs as runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from overton.cli.build import OUT, PATH, RUN, WITH, Exit, command_with, computing, paths
from overton.errors import InputError, Problem


@command_with(
    RUN,
    click.Option(
        ["--to"],
        type=click.Choice(["inspect", "csv", "parquet", "xlsx"]),
        required=True,
        metavar="inspect|csv|parquet|xlsx",
        help="Format: Inspect AI logs for 'inspect view', one per model (inspect), or tables of records and estimates"
        " (csv, parquet, xlsx).",
    ),
    click.Option(
        ["--out"],
        type=PATH,
        metavar="DIR",
        help="Folder for the logs (by default 'logs'), or new folder for the tables (by default 'tables').",
    ),
    WITH,
)
def export(run: Path, to: str, out: Path | None, choices: Sequence[str]) -> None:
    """Write a run in another tool's format, without any calls. Incomplete items are left out."""
    from overton.analysis.table_export import TABLES, export_tables
    from overton.cli.terminal import results

    if to == "inspect":
        _export_logs(run, out, choices)
        return
    for path in export_tables(run, to=to, out=out or TABLES, **computing(choices, ("to", "out"))):
        results().print(str(path), soft_wrap=True)


def _export_logs(run: Path, out: Path | None, choices: Sequence[str]) -> None:
    from overton.cli.terminal import results, say
    from overton.inspect.logs import LOGS, export_run

    if choices:
        raise InputError([Problem("--with", choices[0], "is for tables; Inspect computes its own figures")])
    for log in export_run(run, out=out or LOGS):
        results().print(str(log.path), soft_wrap=True)
        if lacking := log.planned - log.samples:
            say(f"{log.lane}: {lacking} of {log.planned} samples are left out, because their items are incomplete.")


@command_with(
    paths("logs", "LOG...", "Logs of an Overton task, or folders of them."),
    OUT,
    name="import",
)
def import_logs(logs: Sequence[Path], out: Path | None) -> Exit:
    """Turn Inspect AI logs into a run, which can be reported, analyzed, resumed and extended like any other run."""
    from overton.cli.output import conclude
    from overton.inspect import logs as inspect_logs

    return conclude(inspect_logs.import_logs(logs, out=out))
