"""From runs to the HTML report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.api.analyses import families_of, records_of, shown_names
from overton.api.runs import Run, open_run
from overton.errors import InputError, Problem

if TYPE_CHECKING:
    pass

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
    from overton.studies.open_mindedness import figures, measures

    issues = _issues(runs)
    records = records_of(runs)
    analysis = measures.analyze(records, families=families_of(runs), **how)
    return Report(
        title="Open-mindedness",
        summary=(
            "How far arguments in a model's context move the stance it takes on contested issues, by the protocol of"
            " MillStone (Triedman and Shmatikov, 2025)."
        ),
        facts=_facts(runs),
        sections=figures.sections(analysis, questions={issue.id: issue.question for issue in issues}),
        warnings=[Callout(text, "warning") for text in _warnings(runs)],
        trials=figures.trial_table(records, issues),
        data=analysis.to_json(),
    )


def _issues(runs: Sequence[Run]) -> list[Any]:
    """The issues of all runs, each once.

    Raises:
        InputError: two runs ask different things under one id.
    """
    found: dict[str, tuple[Any, Run]] = {}
    for run in runs:
        for item in run.items():
            known, where = found.setdefault(item.id, (item, run))
            if known != item:
                raise InputError(
                    [Problem(str(run.path), item.id, f"is not the issue that {where.path} asks under this name")]
                )
    return [item for item, _ in found.values()]


def _facts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    names = [name for shown in shown_names(runs) for name in shown.values()]
    spent = [run.manifest.spent for run in runs]
    return [
        ("Models", "\n".join(names)),
        ("Issues", str(len(_issues(runs)))),
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
    held = [entry.spec for entry in run.entries if entry.holds_form]
    if held:
        warnings.append(
            f"{', '.join(held)}: answers were held to the form 'position <<A>>' or 'position <<B>>' by a grammar. The"
            " model could neither refuse nor answer otherwise; wherever its numbers appear, its name says so."
        )
    if manifest.left_out:
        warnings.append(f"{run.path.name} leaves out {manifest.left_out}.")
    for model, items in manifest.missing.items():
        if items:
            warnings.append(
                f"{run.path.name} stopped ({manifest.stopped}). Only whole issues are reported; {len(items)} are"
                f" missing for {model}: {', '.join(items[:20])}{' and more' if len(items) > 20 else ''}."
            )
    if manifest.spent.failed:
        warnings.append(f"{manifest.spent.failed} calls failed for good; they are no answers and are counted apart.")
    return warnings
