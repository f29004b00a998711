"""How a command that runs something ends: summary, report, what to do next, exit code."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from overton.cli.output import results, say

if TYPE_CHECKING:
    from overton.api.runs import Run
    from overton.studies.command import Done

__all__ = ["Exit", "conclude", "show_done"]


class Exit(IntEnum):
    """The command's exit codes."""

    DONE = 0
    FAILED = 1
    BAD_INPUT = 2
    SOME_FAILED = 3
    STOPPED = 4


def conclude(run: Run) -> Exit:
    """Report on a run that has ended or stopped, say where things are, and give the exit code."""
    if run.study.kind != "asks" and run.study.measuring is None:
        _tell_made(run)
    elif run.records().height:
        _summarise(run)
        from overton.api.reports import report

        results().print(f"Report: {report([run.path])}", markup=False, soft_wrap=True)
    else:
        say("No item is whole yet, so there is nothing to report.")
    if run.manifest.left_out:
        say(f"Left out: {run.manifest.left_out}")
    return _state(run)


def show_done(done: Done, *, json: bool) -> Exit:
    """Show what a command of a study's own did, and give the exit code."""
    from overton.cli.output import print_json
    from overton.cli.tables import show

    for line in done.lines:
        say(line)
    if json and done.data is not None:
        print_json(done.data)
    else:
        show(done.exhibits, results())
    if done.path:
        results().print(done.path, markup=False, soft_wrap=True)
    return Exit.DONE if done.run is None else _state(done.run)


def _tell_made(run: Run) -> None:
    """What became of everything, and where it is."""
    dataset = run.study.dataset
    for line in dataset.told(run.rows()) if dataset and dataset.told else ():
        say(line)
    say(f"Run: {run.path}")
    if run.dataset is not None:
        results().print(str(run.dataset), markup=False, soft_wrap=True)


def _state(run: Run) -> Exit:
    manifest = run.manifest
    if not run.finished:
        missing = sum(map(len, manifest.missing.values()))
        say(f"Stopped: {manifest.stopped}.")
        say(f"{missing} items are not whole and are left out. Go on with: overton resume {run.path}{_hint(run)}")
        return Exit.STOPPED
    if run.failed:
        say(f"{run.failed} calls failed for good. Ask them again with: overton resume {run.path} --retry-failed")
        return Exit.SOME_FAILED
    return Exit.DONE


def _hint(run: Run) -> str:
    if "limit" not in run.manifest.stopped:
        return ""
    return " --max-cost MORE" if run.manifest.limits.cost is not None else " --max-calls MORE"


def _summarise(run: Run) -> None:
    from overton.api.analyses import measured
    from overton.cli.tables import show_sections

    show_sections(measured(run.manifest.study, run.path).summary(), results())
