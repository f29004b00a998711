"""The nulls of deliberation: agents asked again alone, or shown another discussion; partners' values dealt anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.studies.deliberation.items import Dilemma
from overton.studies.deliberation.protocol import NullChange, trials
from overton.studies.null_conditions import Null

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Sides
    from overton.studies.results import Results


def _trials(instead: NullChange, dilemmas: Sequence[Dilemma], options: Any, seed: int) -> Iterator[Trial]:
    """Every deliberation of the design once more; strangers' words need a second dilemma."""
    if instead == "stranger" and len(dilemmas) < 2:
        return
    for trial in trials(dilemmas, options, seed):
        others = tuple(dilemma for dilemma in dilemmas if dilemma.id != trial.item) if instead == "stranger" else ()
        yield msgspec.structs.replace(trial, instead=instead, donors=others, values=False, retest=0.0)


def _instead(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    """The measures of the null's own deliberations."""
    from overton.studies.deliberation import compared

    assert rows is not None
    return compared.of_records(replace(results, records=rows), how)


def _permuted(results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    from overton.studies.deliberation import compared

    return compared.by_chance(results, how)


def _null(name: NullChange, help_: str) -> Null:
    measures = ("changed", "consensus", "rounds_to_consensus")
    return Null(name, help_, measures, _instead, partial(_trials, name), column="deliberation")


NULLS = (
    _null("alone", "each agent asked again in every round, hearing nobody"),
    _null("stranger", "the others' verdicts and explanations taken from a discussion of another dilemma"),
    Null(
        "permuted",
        "the values of partners from discussions of other dilemmas, drawn at random",
        ("similarity", "inherited"),
        _permuted,
    ),
)
"""'alone' comes first: a verdict that changes there changes without conformity."""
