"""The opening of a report on runs, or on a table that Overton did not make. It has the content of a run's first screen,
with all findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from overton.reports.first_screen import (
    cautions_on,
    cost_of,
    count_replies,
    design_warnings,
    differences_in,
    heading,
    joined_heading,
    named_models,
    overview_table,
    resume_command,
    shown_findings,
)
from overton.studies.cautions import Caution, CautionRank
from overton.studies.findings import counted

if TYPE_CHECKING:
    from overton.analysis.analyze import Measured
    from overton.reporting.opening import Opening
    from overton.reports.run_comparison import RunComparison
    from overton.runs.run import Run
    from overton.studies.finding_order import ShownFinding
    from overton.studies.sections import Section

_MOST_CAUTIONS = 3
"""The maximum number of visible cautions; the others are folded."""


def opening_of(
    comparison: RunComparison, sections: Sequence[Section], warnings: Sequence[str], source: str = ""
) -> Opening:
    """The opening of a report on the runs that are compared.

    `sections` has the paper's tables if the paper's numbers come first. `warnings` has further sentences on the runs.
    `source` names the table if the report is on a table and not on runs.
    """
    from overton.reporting.opening import Opening

    runs, measured = comparison.runs, comparison.measured
    shown = shown_findings(measured, differences_in(comparison), None)
    void = _reasons_for_nothing(runs, measured, shown)
    cautions = sorted(cautions_on(runs, measured, [each.bare for each in shown]), key=lambda caution: caution.rank)
    missing = [text for run in runs for text in _missing_items(run)]
    wanted = cautions if not void else _advice(cautions, shown)
    first = [*missing, *(caution.text for caution in wanted)][:_MOST_CAUTIONS]
    told = [caution.text for caution in cautions if not (void and caution.rank == CautionRank.DO_NOT_QUOTE)]
    every = dict.fromkeys([*told, *warnings_of(runs), *warnings])
    return Opening(
        heading=_heading(runs, measured, source),
        void=void,
        cautions=first,
        notes=[text for text in every if text not in first],
        findings=shown,
        table=None if sections or void else overview_table(measured),
        sections=sections,
    )


def _advice(cautions: Sequence[Caution], shown: Sequence[ShownFinding]) -> list[Caution]:
    """The study's cautions on answers that are not a measurement. Each says what to do."""
    declared = any(each.bare.quotable for each in shown)
    return [caution for caution in cautions if declared and caution.rank == CautionRank.MEANING]


def warnings_of(runs: Sequence[Run]) -> Iterator[str]:
    """Warnings to read before any number: incomplete items, failed calls, and deviations from the runs' design."""
    for run in runs:
        yield from _missing_items(run)
    for run in runs:
        yield from _further_warnings(run)


_MOST_NAMED = 20
"""The maximum number of items that a warning names."""


def _missing_items(run: Run) -> Iterator[str]:
    """The items that are missing, and how to get them."""
    for model, items in run.manifest.missing.items():
        if items:
            stopped = run.manifest.stopped
            why = f"stopped ({stopped})" if stopped else "has trials without records"
            named = f"{', '.join(items[:_MOST_NAMED])}{' and more' if len(items) > _MOST_NAMED else ''}"
            be = "is" if len(items) == 1 else "are"
            yield (
                f"{run.path.name} {why}. Only complete items are reported; {len(items)} {be} missing for {model}:"
                f" {named}. To continue: {resume_command(run)}."
            )


def _further_warnings(run: Run) -> Iterator[str]:
    manifest = run.manifest
    if run.changed_records:
        yield run.changed_records
    yield from design_warnings(run)
    if manifest.left_out and not manifest.has_selection:
        yield f"{run.path.name} leaves out {manifest.left_out}."
    for model, unwritable in manifest.unmade.items():
        first = "; ".join(unwritable.trials[:5])
        yield f"{counted(unwritable.count, 'trials')} of {model} could not be stored as table rows: {first}."
    for name, note in manifest.notes.items():
        yield f"{run.path.name}: {name} {note}."
    if manifest.spent.failed:
        yield f"{counted(manifest.spent.failed, 'calls')} failed permanently. Failed calls do not count as answers."


def _reasons_for_nothing(runs: Sequence[Run], measured: Measured, shown: Sequence[ShownFinding]) -> str:
    """The reasons why nothing can be concluded; '' if something can be concluded."""
    if measured.results is not None and not measured.results.items:
        return " ".join(["No item is complete.", *(f"To continue: {resume_command(run)}." for run in runs)])
    if not shown or any(each.finding.quotable for each in shown):
        return ""
    own = [each.sentence for each in shown if each.bare.quotable]
    reasons = [text for each in shown for text in each.finding.cautions]
    return " ".join(dict.fromkeys([*own, *reasons]))


def _heading(runs: Sequence[Run], measured: Measured, source: str) -> str:
    """Say in one line what was asked."""
    models = [model.name for model in measured.results.models] if measured.results else []
    if len(runs) == 1:
        return heading(runs[0], models, None)
    if not runs:
        return joined_heading([measured.study.name, named_models(getattr(measured.analysis, "models", ())), source])
    assert measured.results is not None
    spent = [run.manifest.spent for run in runs]
    return joined_heading(
        [
            measured.study.name,
            counted(len(runs), "runs"),
            named_models(models),
            counted(len(measured.results.items), measured.study.items.plural),
            count_replies(sum(each.outcomes - each.failed for each in spent)),
            cost_of(runs),
        ]
    )
