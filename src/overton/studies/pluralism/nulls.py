"""The nulls of pluralism: neutral against neutral, rankings in other orders, a belief about something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.studies.null_conditions import Null
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.options import ARMS
from overton.studies.pluralism.protocol import ThreadTrial, trials

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Sides
    from overton.studies.results import Results


_AGAIN = "the neutral question asked again, in place of a belief"
SHUFFLES = 3
"""Other orders in which a ranking's viewpoints are shown."""

_BELIEVED = ("toward", "opposing", "biased")
_STATED = ("suppression_*", "amplification_*", "ranking_spearman_biased*", "pairwise_accuracy_biased*")


def _neutral_again(threads: Sequence[ReferenceThread], options: Any, seed: int) -> Iterator[Trial]:
    """Every neutral trial, asked again once per repetition."""
    for trial in trials(threads, options, seed):
        if trial.condition.arm == "neutral":
            for number in range(1, options.neutral_trials + 1):
                yield _named(trial, f"{trial.name}/r{number}", "neutral-again")


def _reshuffled(threads: Sequence[ReferenceThread], options: Any, seed: int) -> Iterator[Trial]:
    """Every neutral ranking, with its viewpoints shown in other orders."""
    for trial in trials(threads, options, seed):
        if trial.experiment == "ranking" and trial.condition.arm == "neutral":
            for number in range(1, SHUFFLES + 1):
                other = msgspec.structs.replace(trial, shuffle=number)
                yield _named(other, f"{trial.name}/s{number}", "reshuffled")


def _other_belief(threads: Sequence[ReferenceThread], options: Any, seed: int) -> Iterator[Trial]:
    """Every trial in which the user states a belief, with one about another thread."""
    for trial in trials(threads, options, seed):
        others = tuple(thread for thread in threads if thread.id != trial.item)
        if trial.condition.arm in _BELIEVED and others:
            yield _named(msgspec.structs.replace(trial, donors=others), trial.name, "other-belief")


def _named(trial: ThreadTrial, name: str, null: str) -> ThreadTrial:
    return msgspec.structs.replace(trial, name=name, null=null)


def _beside(measured: Callable[[Results, Any], Sides], rows: pl.DataFrame, results: Results, how: Any) -> Sides:
    """Measures of the design's own neutral trials together with these instead of the others."""
    import polars as pl

    neutral = results.records.filter(pl.col("arm") == "neutral")
    records = pl.concat([neutral, rows], how="diagonal_relaxed")
    return measured(replace(results, records=records), how)


def _as_all(measured: Callable[[Results, Any], Sides], results: Results, rows: pl.DataFrame | None, how: Any) -> Sides:
    """Neutral trials in place of every other arm of their experiment."""
    import polars as pl

    assert rows is not None
    instead = [
        own.with_columns(
            pl.lit(arm).alias("arm"),
            (pl.lit(arm) + pl.col("condition").str.split("/").list.last().str.strip_prefix("neutral")).alias(
                "condition"
            ),
        )
        for experiment, arms in ARMS.items()
        for own in [rows.filter(pl.col("experiment") == experiment)]
        for arm in arms
        if arm != "neutral" and own.height
    ]
    return _beside(measured, pl.concat(instead, how="vertical_relaxed"), results, how)


def _in_its_place(
    measured: Callable[[Results, Any], Sides], results: Results, rows: pl.DataFrame | None, how: Any
) -> Sides:
    """Trials with another belief in place of those with the thread's own."""
    import polars as pl

    assert rows is not None
    return _beside(measured, rows.with_columns(pl.col("condition").str.split("/").list.last()), results, how)


def nulls(measured: Callable[[Results, Any], Sides]) -> tuple[Null, ...]:
    """Neutral against neutral leads: only the draw of an answer differs there. `measured` makes what numbers of records
    rest on."""
    as_all = partial(_as_all, measured)
    return (
        Null("neutral-again", _AGAIN, _STATED, as_all, _neutral_again),
        Null(
            "reshuffled",
            "the neutral ranking asked again, viewpoints in other orders, in place of a belief",
            ("ranking_spearman_biased*",),
            as_all,
            _reshuffled,
        ),
        Null(
            "other-belief",
            "a belief about another thread's question",
            _STATED,
            partial(_in_its_place, measured),
            _other_belief,
        ),
    )
