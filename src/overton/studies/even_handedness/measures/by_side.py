"""Two sides against each other: all pairs turned so that one side stands first; by topic, by group, by kind of pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from overton.statistics import Estimate
from overton.statistics.resampling import SHARE, Jackknife
from overton.studies.even_handedness.measures.analysis import BySide, Group, Part, Topic
from overton.studies.even_handedness.measures.over import GRADES, SIGNED, Over

__all__ = ["by_side", "group_results", "oriented", "parts", "topic_results"]

_TWO = ("complied", "hedged", "compliance", "hedging")
"""Columns of which there is one for each answer."""


def oriented(pairs: pl.DataFrame, sides: Mapping[str, str]) -> tuple[pl.DataFrame, str, str] | None:
    """The pairs between two sides, the first turned to stand as a, and the sides' names; None where there is none.

    `sides` maps groups to sides; the first of these is the one named first.
    """
    named = list(dict.fromkeys(sides.values()))
    if len(named) != 2:
        return None
    side_of = {letter: pl.col(f"group_{letter}").replace_strict(dict(sides), default=None) for letter in "ab"}
    first, second = named
    as_is = (side_of["a"] == first) & (side_of["b"] == second)
    reverse = (side_of["a"] == second) & (side_of["b"] == first)
    between = pairs.filter(as_is | reverse)
    return (turned(between, side_of["a"] == second), first, second) if between.height else None


def turned(pairs: pl.DataFrame, where: pl.Expr) -> pl.DataFrame:
    """The pairs with a and b exchanged `where` this holds."""
    told = [(f"{name}_a", f"{name}_b") for name in _TWO]
    swapped = [
        pl.when(where).then(pl.col(other)).otherwise(pl.col(one)).alias(one)
        for a, b in told
        for one, other in ((a, b), (b, a))
    ]
    lean = pl.when(where).then(-pl.col("lean")).otherwise("lean").alias("lean")
    return pairs.with_columns(*swapped, lean)


def by_side(pairs: pl.DataFrame, first: str, second: str, jackknife: Jackknife) -> BySide:
    """The measures of pairs in which `first` stands as a, and `second` as b."""
    over = Over(jackknife)
    names = {first: "a", second: "b"}
    a_alone = pl.col("complied_b") & ~pl.col("complied_a")
    b_alone = pl.col("complied_a") & ~pl.col("complied_b")

    def each(column: str, within: tuple[float, float] = SHARE) -> tuple[dict[str, Estimate], Estimate]:
        columns = {name: pl.col(f"{column}_{letter}") for name, letter in names.items()}
        means = {name: over.mean(pairs, value, within) for name, value in columns.items()}
        return means, over.difference(pairs, columns[first], columns[second], within)

    told: dict[str, Any] = {}
    for column in _TWO:
        told[column], told[f"{column}_difference"] = each(column, GRADES if column in _TWO[2:] else SHARE)
    return BySide(
        first=first,
        second=second,
        pairs=pairs.height,
        gap=over.mean(pairs.filter("helps"), pl.col("lean"), SIGNED),
        declined_alone={first: over.mean(pairs, a_alone), second: over.mean(pairs, b_alone)},
        **told,
    )


def parts(pairs: pl.DataFrame, column: str, sides: Mapping[str, str], jackknife: Jackknife) -> dict[str, Part]:
    """The pairs by what a column says, sorted; those of which it says nothing are in none."""
    kept = pairs.filter(pl.col(column).is_not_null())
    by_name = sorted(kept.partition_by(column, as_dict=True).items())
    return {str(name): _part(own, sides, jackknife) for (name,), own in by_name}


def _part(own: pl.DataFrame, sides: Mapping[str, str], jackknife: Jackknife) -> Part:
    over = Over(jackknife)
    told = oriented(own, sides)
    answers = pl.concat(own.select("topic", complied=f"complied_{side}", hedged=f"hedged_{side}") for side in "ab")
    return Part(
        pairs=own.height,
        topics=own["topic"].n_unique(),
        even=over.mean(own.filter("helps"), pl.col("even")),
        complied=over.mean(answers, pl.col("complied")),
        hedged=over.mean(answers, pl.col("hedged")),
        gap=None if told is None else over.mean(told[0].filter("helps"), pl.col("lean"), SIGNED),
    )


def topic_results(pairs: pl.DataFrame, jackknife: Jackknife) -> dict[str, Topic]:
    """Each topic by its own two groups, of which the one that the first pair has as a stands first."""
    found: dict[str, Topic] = {}
    for (name,), own in sorted(pairs.partition_by("topic", as_dict=True).items()):
        first, second = own.sort("pair").select("group_a", "group_b").row(0)
        told = oriented(own, {first: first, second: second})
        assert told is not None  # the first pair is between the two
        found[str(name)] = Topic(
            partisan=own.sort("pair")["partisan"][0],
            even=Over(jackknife).mean(own.filter("helps"), pl.col("even")),
            sides=by_side(*told, jackknife),
        )
    return found


def group_results(pairs: pl.DataFrame, jackknife: Jackknife) -> dict[str, Group]:
    """Each group against all that it is set against."""
    over = Over(jackknife)
    rows = pl.concat(
        pairs.select(
            "topic",
            "helps",
            group=f"group_{side}",
            less=pl.col("lean") * sign,
            complied=f"complied_{side}",
            hedged=f"hedged_{side}",
        )
        for side, sign in (("a", -1.0), ("b", 1.0))
    )
    return {
        str(name): Group(
            pairs=own.height,
            topics=own["topic"].n_unique(),
            gets_less=over.mean(own.filter("helps"), pl.col("less"), SIGNED),
            complied=over.mean(own, pl.col("complied")),
            hedged=over.mean(own, pl.col("hedged")),
        )
        for (name,), own in sorted(rows.partition_by("group", as_dict=True).items())
    }
