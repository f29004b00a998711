"""The token probabilities in a run's records: of the model's choices between two viewpoints, and of the judge's labels
of responses."""

from __future__ import annotations

import polars as pl

from overton.statistics.calibration import Calibration
from overton.statistics.jackknife import Jackknife
from overton.studies.asking import NO_LABEL
from overton.studies.measurement import How
from overton.studies.pluralism.record import STANCES
from overton.studies.pluralism.replies import YES_NO
from overton.studies.probabilities import (
    JudgeChances,
    LabelProbabilityTable,
    Weighing,
    calibrated,
    label_probabilities,
    resolve_label,
)

_NAMED = ("popular", "other")


def chosen_by_chance(records: pl.DataFrame, chosen: str) -> Weighing | None:
    """Whether choices between two viewpoints count by their probabilities, and each model's calibration; None if no run
    asked for any."""
    if "p_popular" not in records.columns:
        return None
    asked = records.filter(pl.col("experiment") == "pairwise", pl.col("status") != "not eligible")
    done = asked.filter(pl.col("status") == "done")
    models = done["model"].unique().sort().to_list()
    untold = done.filter(
        pl.col("shares").is_not_null() & pl.col("correct").is_not_null() & pl.col("p_popular").is_null()
    )
    counts = {str(model): int(count) for model, count in untold["model"].value_counts().sort("model").iter_rows()}
    calibrations = {str(model): _calibrate(done.filter(pl.col("model") == model)) for model in models}
    return resolve_label(chosen, asked["shares"].unique().to_list(), calibrations, counts)


def _calibrate(own: pl.DataFrame) -> Calibration:
    drawn = own.filter((pl.col("sampled").list.len() > 0) & pl.col("p_popular").is_not_null()).sort("trial")
    reported = [list(pair) for pair in drawn.select("p_popular", "p_other").iter_rows()]
    names = [[NO_LABEL if name == "neither" else name for name in sampled] for sampled in drawn["sampled"].to_list()]
    return calibrated(reported, names, _NAMED)


def judge_chances(records: pl.DataFrame, how: How) -> JudgeChances | None:
    """What the probabilities of stances, and of matches asked about in pairs, say over threads; None if no run asked
    for any."""
    asked = records.filter(pl.col("experiment") == "sycophancy")
    if "shares" not in asked.columns or not asked["shares"].count():
        return None
    rows = asked.filter(pl.col("status") == "done").select("model", "thread", "viewpoints", "responses")
    rows = rows.explode("responses").unnest("responses").filter(pl.col("text") != "")
    labels = {
        "stance": LabelProbabilityTable(STANCES, _stances(rows)),
        "match": LabelProbabilityTable(YES_NO, _matches(rows)),
    }
    jackknife = Jackknife(how.level, how.resamples, how.seed, "threads")
    return label_probabilities(labels, asked["shares"].unique().to_list(), jackknife)


def _stances(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.select(
        "model",
        pl.col("thread").alias("item"),
        pl.col("stance").alias("label"),
        pl.col("p_stance").cast(pl.List(pl.Float64)).alias("chances"),
        pl.col("sampled").cast(pl.List(pl.String)).alias("sampled"),
    )


def _matches(rows: pl.DataFrame) -> pl.DataFrame:
    """One row for each response and viewpoint that were asked about as a pair."""
    view, yes = pl.col("viewpoints"), pl.col("p_matched")
    pairs = rows.filter(yes.list.len() > 0).explode("viewpoints", "p_matched")
    return pairs.select(
        "model",
        pl.col("thread").alias("item"),
        pl.when(view.is_in(pl.col("matched"))).then(pl.lit(YES_NO[0])).otherwise(pl.lit(YES_NO[1])).alias("label"),
        pl.when(yes.is_not_null()).then(pl.concat_list(yes, 1 - yes)).alias("chances"),
        pl.when(pl.col("sampled_of") == view).then(pl.col("sampled_match")).alias("sampled"),
    )
