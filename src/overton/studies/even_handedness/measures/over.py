"""Means and differences over topics, for many groups of pairs at once, with the one rule for intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.cluster_sums import ClusterSums, Numbers
from overton.statistics.estimate import not_computed
from overton.statistics.jackknife import SHARE, Jackknife, Range

SIGNED: Range = (-1.0, 1.0)
GRADES: Range = (1.0, 5.0)
"""What a mean grade can be."""

_AT_ONCE = 256
"""How many groups of pairs are computed at a time: memory use is their number times that of their topics."""

_Counted: TypeAlias = tuple[ClusterSums, ...]


@dataclass(frozen=True)
class TopicMeans:
    """Numbers over topics. Rows without a value are skipped; `nothing` says why there may be no number.

    Tables have a column `topic`; `by` names a text column that says which group of pairs a row belongs to.
    """

    jackknife: Jackknife
    nothing: str = "no pair was graded"

    def mean(self, table: pl.DataFrame, value: pl.Expr, within: Range = SHARE) -> Estimate:
        """The mean of `value` over the rows of `table`; `n` counts rows."""
        return self.means(as_one(table), "one", value, within)[""]

    def difference(self, table: pl.DataFrame, first: pl.Expr, second: pl.Expr, within: Range = SHARE) -> Estimate:
        """The mean of `first` minus that of `second`, leaving each topic out of both; `n` is the smaller count."""
        return self.differences(as_one(table), "one", first, second, within)[""]

    def means(self, table: pl.DataFrame, by: str, value: pl.Expr, within: Range = SHARE) -> dict[str, Estimate]:
        """The same for each group of pairs, sorted by name."""
        found: dict[str, Estimate] = {}
        for names, counted in _counts(table, by, value):
            (counts,) = counted
            if not len(counts.below):
                found |= dict.fromkeys(names, self._none())
                continue
            over = self.jackknife.over(len(counts.below))
            found |= zip(names, over.ratios([counts], self.nothing, within)[0], strict=True)
        return found

    def differences(
        self, table: pl.DataFrame, by: str, first: pl.Expr, second: pl.Expr, within: Range = SHARE
    ) -> dict[str, Estimate]:
        """The same for each group of pairs, sorted by name."""
        reach = within[1] - within[0]
        found: dict[str, Estimate] = {}
        for names, counted in _counts(table, by, first, second):
            if not len(counted[0].below):
                found |= dict.fromkeys(names, self._none())
                continue
            over = self.jackknife.over(len(counted[0].below))
            minuend, subtrahend = (over.sums(counts) for counts in counted)
            numbers = Numbers(
                minuend.numbers.value - subtrahend.numbers.value,
                np.minimum(minuend.numbers.n, subtrahend.numbers.n),
                np.minimum(minuend.numbers.clusters, subtrahend.numbers.clusters),
            )
            moved = over.influence(minuend) - over.influence(subtrahend)
            made = over.estimates(numbers, moved, self.nothing, few=self.nothing, within=(-reach, reach))
            found |= zip(names, made, strict=True)
        return found

    def _none(self) -> Estimate:
        return not_computed(self.nothing, level=self.jackknife.level)


def as_one(table: pl.DataFrame) -> pl.DataFrame:
    """All rows as the one group of the column `one`, which exists even without any rows."""
    return pl.concat([table.with_columns(one=pl.lit("")), pl.DataFrame({"one": [""]})], how="diagonal")


def _counts(table: pl.DataFrame, by: str, *values: pl.Expr) -> Iterator[tuple[Sequence[str], _Counted]]:
    """Names of groups, some at a time, and each value's sums and counts by topic and group."""
    sums = [value.cast(pl.Float64).sum().alias(f"sum_{index}") for index, value in enumerate(values)]
    counts = [value.count().alias(f"count_{index}") for index, value in enumerate(values)]
    summed = table.group_by(pl.col(by).alias("key"), "topic").agg(*sums, *counts)
    summed = summed.filter(pl.any_horizontal(pl.col(f"count_{index}") > 0 for index in range(len(values))))
    every = table[by].unique().sort().to_list()
    for start in range(0, len(every), _AT_ONCE):
        names = every[start : start + _AT_ONCE]
        some = summed.filter(pl.col("key").is_in(names)).sort("key", "topic")
        yield names, tuple(_cluster_sums(some, names, index) for index in range(len(values)))


def _cluster_sums(some: pl.DataFrame, names: Sequence[str], index: int) -> ClusterSums:
    topics = {topic: row for row, topic in enumerate(some["topic"].unique().sort())}
    groups = {name: column for column, name in enumerate(names)}
    place = ([topics[topic] for topic in some["topic"]], [groups[name] for name in some["key"]])
    above, below = (np.zeros((len(topics), len(names))) for _ in range(2))
    above[place], below[place] = some[f"sum_{index}"].to_numpy(), some[f"count_{index}"].to_numpy()
    return ClusterSums(above, below)
