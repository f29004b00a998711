"""What the judge returned besides its labels: their token probabilities."""

from __future__ import annotations

import polars as pl

from overton.statistics.jackknife import Jackknife
from overton.studies.measurement import How
from overton.studies.probabilities import JudgeChances, LabelProbabilityTable, label_probabilities
from overton.studies.stance_stability.record import STANCES

_SAMPLED = {"stance": "sampled", "premise_stance": "sampled_premise"}


def label_chances(records: pl.DataFrame, how: How) -> JudgeChances | None:
    """What the probabilities of each kind of label say, over topics; None if no run asked for any."""
    if "shares" not in records.columns or not records["shares"].count():
        return None
    labels = {
        what: LabelProbabilityTable(
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
    return label_probabilities(labels, records["shares"].unique().to_list(), jackknife)
