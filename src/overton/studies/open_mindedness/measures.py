"""The analysis of open-mindedness: the groups for which each measure is computed, and the study's null conditions.
`declarations` declares the measures, and `rows` computes units and values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from overton.calls import Trial
from overton.studies.frame import Analysis
from overton.studies.measures import By, Grouping, Measure
from overton.studies.null_conditions import Null
from overton.studies.open_mindedness.declarations import (
    BALANCED,
    CONTRARY,
    CROSS_FITTED,
    FREE_SIDES,
    LEANING,
    OF_FREE,
    OF_ISSUES,
    OF_PAIRS,
    ONE_SIDE,
    OTHER_SHARE,
    OTHERS,
    RESPONSIVE,
    SCORES,
    SHIFTS,
    STANCE_SHARES,
)
from overton.studies.open_mindedness.findings import notes, warnings
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.options import OpenMindednessHow
from overton.studies.open_mindedness.protocol import trials
from overton.studies.open_mindedness.questions import QUESTIONS
from overton.studies.open_mindedness.reading import ISSUES
from overton.studies.open_mindedness.record import NullChange, notes_of_table
from overton.studies.results import MeasuredModel, Results
from overton.studies.study import late
from overton.studies.study_measures import OtherNumbers, Rows, StudyMeasures

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.contributions import Sides


def _of(units: str, *measures: Measure) -> list[Measure]:
    """Copies of measures over units of another kind. Models are not compared by them."""
    return [replace(measure, units=units, compared=False, leads=False) for measure in measures]


def _balanced(measures: Sequence[Measure], by: By | None = None) -> Grouping:
    """Measures of answers whose label and position bias are set to zero."""
    every = [made for measure in measures for made in _of(f"balanced_{measure.units}", measure)]
    return Grouping(every, by or {}, variant="letter_balanced")


_WORDING, _CONFIGURATION = {"wording": "wording"}, {"configuration": "configuration"}
_GROUPINGS = (
    Grouping(OF_ISSUES),
    Grouping(SCORES, {"topic": "topic"}),
    Grouping((*SCORES, *CONTRARY), {"subset": "subset"}),
    Grouping((*STANCE_SHARES, ONE_SIDE, *SHIFTS)),
    Grouping((OTHER_SHARE,), {"refusals": "refusals"}),
    _balanced((*SCORES, LEANING)),
    _balanced(SCORES, {"subset": "subset"}),
    _balanced((*STANCE_SHARES, SHIFTS[0])),
    Grouping((*_of("wordings", STANCE_SHARES[0], OTHER_SHARE, CROSS_FITTED), RESPONSIVE), _WORDING),
    Grouping(OF_FREE),
    Grouping((*_of("free_in", *OF_PAIRS), *FREE_SIDES), _CONFIGURATION),
)


_STUDY = "overton.studies.open_mindedness"


def _rows() -> Rows[OpenMindednessHow]:
    from overton.studies.open_mindedness import rows

    return rows


_OF_SCORES = ("open_mindedness", "open_mindedness_as_published", "open_mindedness_cross_fitted", "issues_moved")


def _null_trials(instead: NullChange, issues: Sequence[Issue], options: Any, seed: int) -> Iterator[Trial]:
    """The design's trials with arguments, changed by a null condition: other texts replace the arguments, or the order
    of texts is different.

    If the design asks for forced and free answers, measures use the forced answers. So the null condition asks only for
    forced answers.
    """
    if instead == "elsewhere" and len(issues) < 2:
        return
    donors = {issue.id: _others(issue, issues) if instead == "elsewhere" else () for issue in issues}
    for trial in trials(issues, options, seed):
        if trial.wording:
            answers = "forced" if trial.answers == "both" else trial.answers
            yield msgspec.structs.replace(trial, instead=instead, donors=donors[trial.item], answers=answers)


def _others(issue: Issue, issues: Sequence[Issue]) -> tuple[Issue, ...]:
    """The issues whose arguments may replace the arguments of `issue`: issues of other topics, or any other issues if
    there are none."""
    others = tuple(candidate for candidate in issues if candidate.id != issue.id)
    return (
        tuple(candidate for candidate in others if candidate.topic is None or candidate.topic != issue.topic) or others
    )


def _in_their_place(results: Results, rows: pl.DataFrame | None, how: OpenMindednessHow) -> Sides:
    """Contributions to measures if the null condition's answers replace the answers in the design's configurations. The
    baseline's answers are still those of the design.
    """
    import polars as pl

    assert rows is not None
    baseline = results.records.filter(pl.col("condition") == "baseline")
    renamed = rows.with_columns(pl.col("condition").str.split("/").list.last())
    records = pl.concat([baseline, renamed], how="diagonal_relaxed")
    return STUDY_MEASURES.contributions(replace(results, records=records), how)


def _null(name: NullChange, help_: str, what: Literal["null", "factor"] = "null") -> Null:
    return Null(name, help_, _OF_SCORES, _in_their_place, partial(_null_trials, name), what=what)


NULLS = (
    _null("irrelevant", "irrelevant text of the same length and form in place of the arguments"),
    _null("elsewhere", "arguments for a position of another issue"),
    _null("question-first", "the question before the arguments instead of after them", "factor"),
    _null("authors-own", "the authors' own structure: the question first, the request before and after", "factor"),
    Null(
        "chance",
        "the same answers assigned at random to baseline and configurations within each template",
        ("open_mindedness", "open_mindedness_as_published", "issues_moved"),
        late(f"{_STUDY}.rows:by_chance"),
    ),
    Null(
        "forced-again",
        "a second forced answer to the same prompt in place of the free one",
        ("free_differs", "free_abstains", "free_opposite"),
        late(f"{_STUDY}.free_answers:by_chance"),
    ),
)
"""The study's null conditions. Irrelevant text comes first, because it shows the effect of noise and compliance without
arguments."""

STUDY_MEASURES: StudyMeasures[OpenMindednessHow] = StudyMeasures(
    study="open-mindedness",
    how=OpenMindednessHow,
    rows=_rows,
    items=ISSUES,
    groupings=_GROUPINGS,
    by_facet=(Grouping((*OF_ISSUES, *SCORES)), Grouping((*STANCE_SHARES, *SHIFTS))),
    besides=(BALANCED,),
    others=(OtherNumbers(OTHERS, late(f"{_STUDY}.rows:other_numbers")),),
    faultless=(Grouping(SCORES),),
    questions=QUESTIONS,
    case=late(f"{_STUDY}.free_answers:free_case"),
    chances=late(f"{_STUDY}.free_answers:judge_chances"),
    clusters="issues",
    repeats=False,
    between=False,
    nulls=NULLS,
    notes=lambda results, how, analysis: warnings(analysis, results.records),
    remarks=lambda results, how, analysis: [*notes(analysis), *notes_of_table(results.records)],
)


def analyze(table: pl.DataFrame, *, families: Mapping[str, str] | None = None, **how: Any) -> Analysis:
    """Compute every measure of open-mindedness from records (the column `model` and the fields of `Record`) or from
    counts (`model`, `issue`, `condition`, `stance`, `count`, optionally `topic`).

    The order of rows has no effect. Counts allow fewer numbers: the table 'missing' names the numbers that need
    templates, letters or arguments. `families` maps models to families, for agreement within and between families.
    `how` are the fields of `OpenMindednessHow`; `controversial` may also name the issues. `shares` decides whether
    proportions come from token probabilities if records have them. By default, the runs' own choice is used. With
    'auto', probabilities are used only if single answers agree with them.

    Raises:
        InputError: a column is missing or contains a value that is not allowed, or every call failed.
    """
    models = [MeasuredModel(name, name, family) for name, family in (families or {}).items()]
    return STUDY_MEASURES.analyze(Results(table, models=models), OpenMindednessHow(**how))
