"""From runs to the HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overton.api.runs import Run, items_of, open_run
from overton.api.studies import Exhibits, binding_of
from overton.errors import InputError, Problem

__all__ = ["report"]


def report(
    runs: Sequence[str | Path], *, out: str | Path | None = None, figures: str | Path | None = None, **how: Any
) -> Path:
    """Write one self-contained HTML report of one or more runs of a study; gives the file.

    `out` defaults to the run's own `report.html` (needed where there are several runs). `figures` names a folder for
    each chart as PNG and SVG. `how` goes to the measures (see `analyze`). The report holds whole items only and says
    what is missing.

    Raises:
        InputError: no runs, runs of different studies, or several without `out`.
        RunError: a folder is not a run, or has no records.
    """
    opened = [open_run(path) for path in runs]
    _check(opened, out)
    target = Path(out) if out is not None else opened[0].path / "report.html"
    from overton.reporting import write, write_figures

    built = _build(opened, how)
    if figures is not None:
        write_figures(built, Path(figures))
    return write(built, target)


def _check(runs: Sequence[Run], out: str | Path | None) -> None:
    if not runs:
        raise InputError([Problem("report", "", "name at least one run")])
    studies = sorted({run.manifest.study for run in runs})
    if len(studies) > 1:
        raise InputError([Problem("report", "", f"the runs are of different studies: {', '.join(studies)}")])
    if len(runs) > 1 and out is None:
        raise InputError([Problem("--out", "", "name the report's file, since there are several runs")])


def _build(runs: Sequence[Run], how: dict[str, Any]) -> Any:
    from overton.reporting import Report
    from overton.studies.exhibits import Callout

    shown = binding_of(runs[0].manifest.study).exhibits(runs, **how)
    return Report(
        title=shown.title,
        summary=shown.summary,
        facts=_facts(runs, shown),
        sections=shown.sections,
        warnings=[Callout(text, "warning") for text in [*_warnings(runs), *shown.warnings]],
        trials=shown.trials,
        data=shown.data,
    )


def _facts(runs: Sequence[Run], shown: Exhibits) -> list[tuple[str, str]]:
    spent = [run.manifest.spent for run in runs]
    return [
        ("Models", "\n".join(shown.models)),
        (shown.items, str(len(items_of(runs)))),
        ("Trials planned", f"{sum(run.manifest.trials for run in runs):,}"),
        ("Requests sent", f"{sum(one.requests for one in spent):,}"),
        ("Calls failed", f"{sum(one.failed for one in spent):,}"),
        ("Cost", f"${sum(one.cost for one in spent):.2f}"),
        ("Begun", ", ".join(sorted({run.manifest.created[:10] for run in runs}))),
        ("Seed", ", ".join(sorted({str(run.manifest.seed) for run in runs}))),
        ("Overton", ", ".join(sorted({run.manifest.overton for run in runs}))),
    ]


def _warnings(runs: Sequence[Run]) -> list[str]:
    return [warning for run in runs for warning in _warnings_of(run)]


def _warnings_of(run: Run) -> list[str]:
    manifest, warnings = run.manifest, []
    if manifest.left_out:
        warnings.append(f"{run.path.name} leaves out {manifest.left_out}.")
    for model, items in manifest.missing.items():
        if items:
            warnings.append(
                f"{run.path.name} stopped ({manifest.stopped}). Only whole items are reported; {len(items)} are"
                f" missing for {model}: {', '.join(items[:20])}{' and more' if len(items) > 20 else ''}."
            )
    if manifest.spent.failed:
        warnings.append(f"{manifest.spent.failed} calls failed for good; they are no answers and are counted apart.")
    return warnings
