"""Records whose shares are probabilities: what each gives to every stance, and how well they agree with answers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from overton.statistics.calibration import Calibration, calibration
from overton.studies.probabilities import Weighing, resolve_label

COLUMNS = ("trial", "shares", "p_a", "p_b", "sampled", "letter")
"""Columns of records that probabilities need."""


def weights() -> dict[str, pl.Expr]:
    """What a row gives to pro, con and other: its probabilities; everything to its stance (coded `s`) if an answer
    names a letter whose probability was not reported."""
    a_pro, known = pl.col("a_is") == "pro", pl.col("p_a").is_not_null() & pl.col("p_b").is_not_null()
    p_a, p_b = pl.col("p_a").clip(0, 1), pl.col("p_b").clip(0, 1)
    pro, con = pl.when(a_pro).then(p_a).otherwise(p_b), pl.when(a_pro).then(p_b).otherwise(p_a)
    most = pl.max_horizontal(pro + con, pl.lit(1.0))  # rounding may go past 1
    chances = {"w_pro": pro / most, "w_con": con / most, "w_other": 1 - (pro + con) / most}
    return {
        name: pl.when(known).then(chance).otherwise((pl.col("s") == place).cast(pl.Float64))
        for place, (name, chance) in enumerate(chances.items())
    }


def weighing_of(table: pl.DataFrame, chosen: str, models: Sequence[str]) -> Weighing | None:
    """What shares are made of: probabilities or counts, the same for all models; None if no run has probabilities."""
    asked = table["shares"].fill_null("sampled").unique().to_list()
    if asked == ["sampled"]:
        return None
    answered = table.filter(pl.col("failure").is_null())
    found = {model: calibrated(answered.filter(pl.col("model") == model)) for model in models}
    unreported = answered.filter(
        pl.col("shares").is_not_null() & pl.col("letter").is_not_null() & pl.col("p_a").is_null()
    )
    counts = {str(model): int(count) for model, count in unreported["model"].value_counts().sort("model").iter_rows()}
    return resolve_label(chosen, asked, found, counts)


def calibrated(own: pl.DataFrame) -> Calibration:
    """One model's letters: P(A) of those that name one, and how often none is named."""
    drawn = own.filter(pl.col("sampled").list.len() > 0).sort("trial")
    letters = drawn["sampled"].to_list()
    counted = np.array([[names.count(letter) for letter in ("A", "B")] for names in letters], float).reshape(-1, 2)
    reported = drawn.select("p_a", "p_b").cast(pl.Float64).fill_null(float("nan")).to_numpy().reshape(-1, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_letters = reported / reported.sum(1, keepdims=True)
    known = np.isfinite(reported).all(1)
    none = np.array([names.count("neither") / len(names) for names in letters], float).reshape(-1)
    return calibration(of_letters, counted, (1 - reported.sum(1)[known], none[known]))
