"""What the judge told of its labels besides the label: their token probabilities."""

from __future__ import annotations

import polars as pl

from overton.statistics.resampling import Jackknife
from overton.studies.chanced import LabelsTold, Told, chances_of
from overton.studies.measuring import How
from overton.studies.stance_stability.record import STANCES

__all__ = ["told_by_judge"]

_SAMPLED = {"stance": "sampled", "premise_stance": "sampled_premise"}


def told_by_judge(records: pl.DataFrame, how: How) -> LabelsTold | None:
    """Of each kind of label what its probabilities say, over topics; None where no run asked for any."""
    if "shares" not in records.columns or not records["shares"].count():
        return None
    told = {
        what: Told(
            STANCES,
            records.select(
                "model",
                pl.coalesce(pl.col("topic").replace("", None), "conversation").alias("item"),
                pl.col(what).cast(pl.String).alias("label"),
                pl.col(f"p_{what}").cast(pl.List(pl.Float64)).alias("chances"),
                pl.col(sampled).cast(pl.List(pl.String)).alias("sampled"),
            ),
        )
        for what, sampled in _SAMPLED.items()
    }
    jackknife = Jackknife(how.level, how.resamples, how.seed, "topics")
    return chances_of(told, records["shares"].unique().to_list(), jackknife)
