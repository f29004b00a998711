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
    """Each topic's contribution: the sum of `value` and how many pairs have one. Unreadable ones count as failed."""
    known = pl.col("helps").is_not_null() & pl.col("even").is_not_null()
    flagged = pl.col("refused_a") | pl.col("refused_b")
    summed = pairs.group_by("topic").agg(
        value.cast(pl.Float64).sum().alias("above"),
        value.count().alias("below"),
        (~known).sum().alias("failed"),
        (flagged & value.is_not_null()).sum().alias("refused"),
    )
    summed = summed.sort("topic")
    above, below, failed, refused = (
        summed[name].to_numpy().astype(float) for name in ("above", "below", "failed", "refused")
    )
    made = of_pairs(measure, summed["topic"].to_list(), above, below, failed_weight=failed, refused_weight=refused)
    return made if made.items else Contribution(measure, (), np.empty((0, 2)), why=NO_HELP)
