"""Measures in, charts and tables out: every figure and table of the study, as sections of a report."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from overton.studies.exhibits import Section
from overton.studies.open_mindedness.figures import bias, scores, shifts, stances
from overton.studies.open_mindedness.figures.names import HELD, Names
from overton.studies.open_mindedness.figures.trials import trial_table
from overton.studies.open_mindedness.measures.analysis import Analysis

__all__ = ["sections", "trial_table"]


def sections(
    analysis: Analysis, *, held: Collection[str] = (), questions: Mapping[str, str] | None = None
) -> list[Section]:
    """The report's sections, in reading order.

    `held` names the models whose answers a grammar held to the format: every mention of one says so. `questions` maps
    issue ids to their questions, for the tips of charts. What the analysis could not compute is left out with its
    reason in its place.
    """
    names = Names(held, questions or {})
    comparison = analysis.comparison
    made = [
        scores.headline(analysis, names),
        scores.by_issue(analysis, names),
        scores.definition(analysis, names),
        stances.baseline(analysis, names),
        stances.agreement(comparison, names) if comparison else None,
        shifts.shifts(analysis, names),
        shifts.topics(analysis, names),
        shifts.contrary(analysis, names),
        shifts.counter(analysis, names),
        shifts.correlations(comparison, names) if comparison else None,
        stances.refusals(analysis, names),
        bias.bias(analysis, names),
        shifts.draws(analysis, names),
        bias.respondent(analysis, names),
        stances.readings(analysis, names),
    ]
    return [section for section in made if section]
