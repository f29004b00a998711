"""Two sides against each other: all pairs turned so that one side comes first; by topic, by group, by kind of pair."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from overton.statistics.jackknife import SHARE, Jackknife
from overton.studies.even_handedness.measures.analysis import BySide, Group, Part, Topic
from overton.studies.even_handedness.measures.over import GRADES, SIGNED, TopicMeans, as_one

_TWO = ("complied", "hedged", "compliance", "hedging")
"""Columns that exist for each answer; the first two are shares."""


def oriented(pairs: pl.DataFrame, sides: Mapping[str, str]) -> tuple[pl.DataFrame, str, str] | None:
    """The pairs between two sides, turned so that the first is a, and the sides' names; None if there are none.

    `sides` maps groups to sides; the first side is the one named first.
    """
    named = list(dict.fromkeys(sides.values()))
    if len(named) != 2:
        return None
    first, second = named
    side_of = {letter: pl.col(f"group_{letter}").replace_strict(dict(sides), default=None) for letter in "ab"}
    between = _pairs_between(pairs, side_of["a"], side_of["b"], pl.lit(first), pl.lit(second))
    return (between, first, second) if between.height else None


def _pairs_between(pairs: pl.DataFrame, a: pl.Expr, b: pl.Expr, first: pl.Expr, second: pl.Expr) -> pl.DataFrame:
    """The pairs between these two, with a and b exchanged if the second is a."""
    reverse = (a == second) & (b == first)
    kept = pairs.filter(((a == first) & (b == second)) | reverse)
    swapped = [
        pl.when(reverse).then(pl.col(f"{name}_{other}")).otherwise(pl.col(f"{name}_{side}")).alias(f"{name}_{side}")
        for name in _TWO
        for side, other in ("ab", "ba")
    ]
    return kept.with_columns(*swapped, pl.when(reverse).then(-pl.col("lean")).otherwise("lean").alias("lean"))


def by_side(pairs: pl.DataFrame, first: str, second: str, jackknife: Jackknife) -> BySide:
    """The measures of pairs in which `first` is a and `second` is b."""
    return _each(as_one(pairs), "one", {"": (first, second)}, jackknife)[""]


def _each(
    pairs: pl.DataFrame, by: str, named: Mapping[str, tuple[str, str]], jackknife: Jackknife
) -> dict[str, BySide]:
    """The same for each group of pairs, given the names of its first and second side."""
    over = TopicMeans(jackknife)
    sizes = dict(pairs.group_by(by).agg(pl.col("pair").count()).iter_rows())
    gaps = over.means(pairs, by, pl.when("helps").then("lean"), SIGNED)
    alone = {
        side: over.means(pairs, by, pl.col(f"complied_{other}") & ~pl.col(f"complied_{side}"))
        for side, other in ("ab", "ba")
    }
    within = {name: GRADES if place >= 2 else SHARE for place, name in enumerate(_TWO)}
    means = {
        (name, side): over.means(pairs, by, pl.col(f"{name}_{side}"), within[name]) for name in _TWO for side in "ab"
    }
    differences = {
        name: over.differences(pairs, by, pl.col(f"{name}_a"), pl.col(f"{name}_b"), within[name]) for name in _TWO
    }

    def made(key: str, first: str, second: str) -> BySide:
        both = {first: "a", second: "b"}
        return BySide(
            first=first,
            second=second,
            pairs=sizes[key],
            gap=gaps[key],
            complied={name: means["complied", side][key] for name, side in both.items()},
            complied_difference=differences["complied"][key],
            declined_alone={name: alone[side][key] for name, side in both.items()},
            compliance={name: means["compliance", side][key] for name, side in both.items()},
            compliance_difference=differences["compliance"][key],
            hedged={name: means["hedged", side][key] for name, side in both.items()},
            hedged_difference=differences["hedged"][key],
            hedging={name: means["hedging", side][key] for name, side in both.items()},
            hedging_difference=differences["hedging"][key],
        )

    return {key: made(key, *sides) for key, sides in sorted(named.items()) if key in sizes}


def parts(pairs: pl.DataFrame, by: str, sides: Mapping[str, str], jackknife: Jackknife) -> dict[str, Part]:
    """The pairs by the values of a column, sorted; pairs without a value are in no part."""
    over = TopicMeans(jackknife)
    kept = pairs.filter(pl.col(by).is_not_null())
    turned = oriented(kept, sides)
    even = over.means(kept, by, pl.when("helps").then("even"))
    answers = pl.concat(kept.select("topic", by, complied=f"complied_{side}", hedged=f"hedged_{side}") for side in "ab")
    complied, hedged = (over.means(answers, by, pl.col(name)) for name in ("complied", "hedged"))
    gaps = {} if turned is None else over.means(turned[0], by, pl.when("helps").then("lean"), SIGNED)
    return {
        name: Part(count, topics, even[name], complied[name], hedged[name], gaps.get(name))
        for name, count, topics in _sizes(kept, by)
    }


def _sizes(pairs: pl.DataFrame, by: str) -> list[tuple[str, int, int]]:
    return pairs.group_by(by).agg(pl.len(), pl.col("topic").n_unique().alias("topics")).sort(by).rows()


def topic_results(pairs: pl.DataFrame, jackknife: Jackknife) -> dict[str, Topic]:
    """Each topic by its own two groups; the group that is a in its first pair comes first."""
    heads = (
        pairs.sort("pair")
        .group_by("topic", maintain_order=True)
        .agg(
            pl.col("group_a").first().alias("first"),
            pl.col("group_b").first().alias("second"),
            pl.col("partisan").first().alias("divides"),
        )
    )
    turned = pairs.join(heads, on="topic", maintain_order="left")
    turned = _pairs_between(turned, pl.col("group_a"), pl.col("group_b"), pl.col("first"), pl.col("second"))
    sides = _each(turned, "topic", {topic: (first, second) for topic, first, second, _ in heads.iter_rows()}, jackknife)
    even = TopicMeans(jackknife).means(pairs, "topic", pl.when("helps").then("even"))
    divides = {topic: flag for topic, _, _, flag in heads.iter_rows()}
    return {topic: Topic(divides[topic], even[topic], side) for topic, side in sides.items()}


def group_results(pairs: pl.DataFrame, jackknife: Jackknife) -> dict[str, Group]:
    """Each group against all its opponents."""
    over = TopicMeans(jackknife)
    rows = pl.concat(
        pairs.select(
            "topic",
            group=f"group_{side}",
            less=pl.when("helps").then(pl.col("lean") * sign),
            complied=f"complied_{side}",
            hedged=f"hedged_{side}",
        )
        for side, sign in (("a", -1.0), ("b", 1.0))
    )
    less = over.means(rows, "group", pl.col("less"), SIGNED)
    complied, hedged = (over.means(rows, "group", pl.col(name)) for name in ("complied", "hedged"))
    return {
        name: Group(count, topics, less[name], complied[name], hedged[name])
        for name, count, topics in _sizes(rows, "group")
    }
