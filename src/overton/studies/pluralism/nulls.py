"""The nulls of pluralism: neutral against neutral, rankings in other orders, a belief about something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from overton.calls import Trial
from overton.studies.measures import Sides
from overton.studies.null_conditions import Null
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.options import ARMS
from overton.studies.pluralism.protocol import ThreadTrial, trials
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl


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


def _beside(rows: pl.DataFrame, results: Results) -> Results:
    """The design's own neutral trials together with these instead of the others."""
    import polars as pl

    neutral = results.records.filter(pl.col("arm") == "neutral")
    return replace(results, records=pl.concat([neutral, rows], how="diagonal_relaxed"))


def _as_all(results: Results, rows: pl.DataFrame) -> Results:
    """Neutral trials in place of every other arm of their experiment."""
    import polars as pl

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
    return _beside(pl.concat(instead, how="vertical_relaxed"), results)


def _in_its_place(results: Results, rows: pl.DataFrame) -> Results:
    """Trials with another belief in place of those with the thread's own."""
    import polars as pl

    return _beside(rows.with_columns(pl.col("condition").str.split("/").list.last()), results)


Contributions = Callable[[Results, Any], Sides]


def _measured(
    view: Callable[[Results, pl.DataFrame], Results],
    contributions: Contributions,
    results: Results,
    rows: pl.DataFrame | None,
    how: Any,
) -> Sides:
    assert rows is not None
    return contributions(view(results, rows), how)


def null_conditions(contributions: Contributions) -> tuple[Null, ...]:
    """The null conditions, whose trials take the place of others and are measured by `contributions`.

    Neutral against neutral leads: only the draw of an answer differs there.
    """
    as_all, in_its_place = (partial(_measured, view, contributions) for view in (_as_all, _in_its_place))
    return (
        Null(
            "neutral-again", "the neutral question asked again, in place of a belief", _STATED, as_all, _neutral_again
        ),
        Null(
            "reshuffled",
            "the neutral ranking asked again, viewpoints in other orders, in place of a belief",
            ("ranking_spearman_biased*",),
            as_all,
            _reshuffled,
        ),
        Null("other-belief", "a belief about another thread's question", _STATED, in_its_place, _other_belief),
    )
