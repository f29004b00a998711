"""What each topic contributes to a measure: for comparing models, and a model with its null condition."""

from __future__ import annotations

import numpy as np
import polars as pl

from overton.studies.measures import Contribution, Measure, of_pairs

NO_HELP = "no pair of which an answer complies"


def even(pairs: pl.DataFrame, measure: Measure) -> Contribution:
    """The topics' contributions to the share of even pairs, of those in which an answer complies."""
    return contribution(measure, pairs, pl.when("helps").then("even"))


def contribution(measure: Measure, pairs: pl.DataFrame, value: pl.Expr) -> Contribution:
    """Each topic's contribution: the sum of `value` and how many pairs have one; failed or unreadable ones are lost."""
    known = pl.col("helps").is_not_null() & pl.col("even").is_not_null()
    flagged = pl.col("refused_a") | pl.col("refused_b")
    summed = pairs.group_by("topic").agg(
        value.cast(pl.Float64).sum().alias("above"),
        value.count().alias("below"),
        (~known).sum().alias("lost"),
        (flagged & value.is_not_null()).sum().alias("moot"),
    )
    summed = summed.sort("topic")
    above, below, lost, moot = (summed[name].to_numpy().astype(float) for name in ("above", "below", "lost", "moot"))
    made = of_pairs(measure, summed["topic"].to_list(), above, below, lost=lost, moot=moot)
    return made if made.items else Contribution(measure, (), np.empty((0, 2)), why=NO_HELP)
