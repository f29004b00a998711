"""The nulls of stance stability: the same question again, no history, no search, the same pages in every turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.studies.null_conditions import Null
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.protocol import NullChange, trials

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Sides
    from overton.studies.results import Results


_STANCES = ("change_rate", "drift")
"""Measures of the stance alone. The Chameleon score also counts how often sources are used again: with one question or
one turn's pages for all turns nearly all are, whatever the model does, and without a search there are none."""


def _trials(instead: NullChange, topics: Sequence[Topic], options: Any, seed: int) -> Iterator[Trial]:
    """Every conversation of the design once more."""
    return (msgspec.structs.replace(trial, instead=instead) for trial in trials(topics, options, seed))


def _instead(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    """The measures of the null's own conversations."""
    from overton.studies.stance_stability import compared

    assert rows is not None
    return compared.of_records(replace(results, records=rows), how)


def _null(name: NullChange, help_: str, of: tuple[str, ...] = _STANCES) -> Null:
    return Null(name, help_, of, _instead, partial(_trials, name), column="conversation")


NULLS = (
    _null("same-question", "the first question in every turn"),
    _null(
        "no-history",
        "every question as if it were the first: the model is shown no earlier turn",
        (*_STANCES, "chameleon"),
    ),
    _null("no-search", "no query, no search and no pages"),
    _null("same-pages", "the pages of the first turn in every turn"),
)
"""'same-question' comes first: changes there are due neither to a new question nor to how a judge reads one."""
