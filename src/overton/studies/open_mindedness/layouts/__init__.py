"""The report of open-mindedness: its sections, in reading order."""

from __future__ import annotations

from collections.abc import Sequence

from overton.studies.frame import Analysis
from overton.studies.items import words_of
from overton.studies.layouts import MeasureColumn, OverviewColumn, WordsColumn
from overton.studies.open_mindedness.findings import baseline_stances
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.layouts import effects, scores
from overton.studies.open_mindedness.layouts.parts import Shown
from overton.studies.open_mindedness.reading import ISSUES
from overton.studies.probabilities import probabilities_section, weighing_section
from overton.studies.sections import Section
from overton.studies.warnings import fault_section, with_faults

_FAULTS = "The table of scores also shows the score without these answers."


def sections(analysis: Analysis, judged: str = "", issues: Sequence[Issue] = ()) -> list[Section]:
    """The report's sections, in reading order.

    `judged` describes the judges of free answers. `issues` give the questions in the tooltips of charts. A number that
    the analysis could not compute is replaced by the reason.
    """
    shown = Shown(analysis, {name: item.text for name, item in words_of(ISSUES, issues).items()})
    several = len(analysis.models) > 1
    free = effects.free_answers(shown)
    made = [
        scores.headline(shown),
        scores.by_issue(shown),
        scores.definition(shown),
        scores.baseline(shown),
        effects.agreement(shown) if several else None,
        effects.shifts(shown),
        effects.topics(shown),
        effects.contrary(shown),
        effects.counter(shown),
        effects.correlations(shown) if several else None,
        scores.refusals(shown),
        effects.bias(shown),
        None if free is None else free.signed(judged),
        effects.draws(shown),
        effects.respondent(shown),
        scores.readings(shown),
        weighing_section(analysis.weighing),
        probabilities_section(analysis.chances),
    ]
    return with_faults(made, fault_section(analysis.faults, "answers", "Configuration", _FAULTS), analysis.warnings)


def overview(analysis: Analysis) -> Sequence[OverviewColumn]:
    """The columns of the first screen."""
    return [
        MeasureColumn("open_mindedness_cross_fitted", "Open-mindedness (of 100)"),
        WordsColumn("Baseline pro/con/neither", baseline_stances),
        MeasureColumn("pulls_letter_and_first", "Selection bias (points)"),
    ]
