"""Means and differences over topics: what is in a table of pairs, summed by topic, under the one rule for intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from overton.statistics import Estimate
from overton.statistics.estimate import not_computed
from overton.statistics.resampling import SHARE, Counts, Jackknife, Numbers, Range

__all__ = ["GRADES", "SIGNED", "Over"]

SIGNED: Range = (-1.0, 1.0)
GRADES: Range = (1.0, 5.0)
"""What a mean grade can be."""


@dataclass(frozen=True)
class Over:
    """Numbers over topics. Rows without a value say nothing; `nothing` says why there may be none."""

    jackknife: Jackknife
    nothing: str = "no pair was graded"

    def mean(self, table: pl.DataFrame, value: pl.Expr, within: Range = SHARE) -> Estimate:
        """The mean of `value` over the rows of `table`, which has a column `topic`; `n` counts rows."""
        summed = _by_topic(table, value)
        if not summed["count_0"].sum():
            return self._none()
        counts = _counts(summed, 0)
        return self.jackknife.over(summed.height).ratio(counts, self.nothing, within)

    def difference(self, table: pl.DataFrame, first: pl.Expr, second: pl.Expr, within: Range = SHARE) -> Estimate:
        """The mean of `first` minus that of `second`, each topic left out of both; `n` is the smaller of the two."""
        summed = _by_topic(table, first, second)
        if not summed["count_0"].sum() or not summed["count_1"].sum():
            return self._none()
        over = self.jackknife.over(summed.height)
        one, other = (over.sums(_counts(summed, index)) for index in (0, 1))
        numbers = Numbers(
            one.numbers.value - other.numbers.value,
            np.minimum(one.numbers.n, other.numbers.n),
            np.minimum(one.numbers.clusters, other.numbers.clusters),
        )
        reach = within[1] - within[0]
        moved = over.influence(one) - over.influence(other)
        return over.estimates(numbers, moved, self.nothing, within=(-reach, reach))[0]

    def _none(self) -> Estimate:
        return not_computed(self.nothing, level=self.jackknife.level)


def _by_topic(table: pl.DataFrame, *values: pl.Expr) -> pl.DataFrame:
    sums = [value.cast(pl.Float64).sum().alias(f"sum_{index}") for index, value in enumerate(values)]
    counts = [value.count().alias(f"count_{index}") for index, value in enumerate(values)]
    summed = table.group_by("topic").agg(*sums, *counts).sort("topic")
    return summed.filter(pl.any_horizontal(pl.col(f"count_{index}") > 0 for index in range(len(values))))


def _counts(summed: pl.DataFrame, index: int) -> Counts:
    return Counts(summed[f"sum_{index}"].to_numpy(), summed[f"count_{index}"].to_numpy().astype(float))
