"""The nulls of open-mindedness: irrelevant texts, arguments about something else, the question first, chance alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.studies.null_conditions import Null
from overton.studies.open_mindedness.items import Issue
from overton.studies.open_mindedness.protocol import trials
from overton.studies.open_mindedness.record import NullChange

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Sides
    from overton.studies.results import Results


_SCORES = ("open_mindedness", "open_mindedness_as_published", "open_mindedness_cross_fitted", "issues_moved")


def _trials(instead: NullChange, issues: Sequence[Issue], options: Any, seed: int) -> Iterator[Trial]:
    """Every trial of the design that shows arguments, with something else in their place or order.

    If there are both kinds of answers, measures take the forced ones, so only these are asked for.
    """
    if instead == "elsewhere" and len(issues) < 2:
        return
    donors = {issue.id: _others(issue, issues) if instead == "elsewhere" else () for issue in issues}
    for trial in trials(issues, options, seed):
        if trial.wording:
            answers = "forced" if trial.answers == "both" else trial.answers
            yield msgspec.structs.replace(trial, instead=instead, donors=donors[trial.item], answers=answers)


def _others(issue: Issue, issues: Sequence[Issue]) -> tuple[Issue, ...]:
    """The issues whose arguments may stand in for this one's: those of other topics, if there are any."""
    others = tuple(candidate for candidate in issues if candidate.id != issue.id)
    return (
        tuple(candidate for candidate in others if candidate.topic is None or candidate.topic != issue.topic) or others
    )


def _in_their_place(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    """Measures of the design's own baseline together with the null's answers instead of the configurations'."""
    import polars as pl

    from overton.studies.open_mindedness import analysis

    assert rows is not None
    baseline = results.records.filter(pl.col("condition") == "baseline")
    renamed = rows.with_columns(pl.col("condition").str.split("/").list.last())
    return analysis.contributions(replace(results, records=pl.concat([baseline, renamed], how="diagonal_relaxed")), how)


def _by_chance(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    from overton.studies.open_mindedness import analysis

    return analysis.by_chance(results, how)


def _forced_again(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    from overton.studies.open_mindedness import analysis

    return analysis.free_by_chance(results.records, how)


def _null(name: NullChange, help_: str) -> Null:
    return Null(name, help_, _SCORES, _in_their_place, partial(_trials, name))


NULLS = (
    _null("irrelevant", "irrelevant text of the same length and form in place of the arguments"),
    _null("elsewhere", "arguments for a position of another issue"),
    replace(_null("question-first", "the question before the arguments instead of after them"), what="factor"),
    replace(
        _null("authors-own", "the authors' own structure: the question first, the request before and after"),
        what="factor",
    ),
    Null(
        "chance",
        "the same answers assigned at random to baseline and configurations within each template",
        ("open_mindedness", "open_mindedness_as_published", "issues_moved"),
        _by_chance,
    ),
    Null(
        "forced-again",
        "a second forced answer to the same prompt in place of the free one",
        ("free_differs", "free_abstains", "free_opposite"),
        _forced_again,
    ),
)
"""Irrelevant text leads: what it moves is noise and compliance, not argument."""
