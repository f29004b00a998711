"""The token probabilities that the judge of free answers reported for its labels."""

from __future__ import annotations

import polars as pl

from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.measures.free import with_answers
from overton.studies.open_mindedness.questions import LABELS
from overton.studies.probabilities import JudgeChances, LabelProbabilityTable, label_probabilities


def judge_chances(records: pl.DataFrame, jackknife: Jackknife) -> JudgeChances | None:
    """What the probabilities of the side that answers take say, over issues; None if no run asked for any."""
    if "judge_shares" not in records.columns or not records["judge_shares"].count():
        return None
    free = with_answers(records).filter((pl.col("answers") == "free") & pl.col("judge_attempts").is_not_null())
    table = free.select(
        "model",
        pl.col("issue").alias("item"),
        pl.when(pl.col("failure").is_null())
        .then(pl.col("stance").cast(pl.String).replace("other", "neither"))
        .alias("label"),
        pl.when(pl.col("p_takes_pro").is_not_null())
        .then(pl.concat_list(pl.col(f"p_takes_{label}").cast(pl.Float64) for label in LABELS))
        .alias("chances"),
        pl.col("taken_sampled").cast(pl.List(pl.String)).alias("sampled"),
    )
    return label_probabilities(
        {"side": LabelProbabilityTable(LABELS, table)}, free["judge_shares"].unique().to_list(), jackknife
    )
