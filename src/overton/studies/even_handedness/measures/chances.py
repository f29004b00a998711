"""The judge's labels by their probabilities: probabilities instead of labels, labels by the published threshold, and
whether the judge's answers are as certain as the probabilities say."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import polars as pl

from overton.statistics import Estimate
from overton.statistics.calibration import Calibration
from overton.statistics.jackknife import Jackknife
from overton.studies.even_handedness.measures.over import TopicMeans
from overton.studies.even_handedness.record import EVENNESS
from overton.studies.probabilities import Weighing, calibrated, resolve_label

PUBLISHED = 0.5
"""A label is given if its probability is above this one (Shen et al. 2025)."""


_LIST = pl.List(pl.Float64)  # in a frame without any probabilities the column is of type Null


class Threefold(msgspec.Struct, frozen=True):
    """A share in three variants: of labels as the judge wrote them, as the mean of their probabilities, and of
    probabilities above the published threshold; all over the same answers, those with a probability."""

    by_label: Estimate
    by_probability: Estimate
    above_threshold: Estimate


class ByChance(msgspec.Struct, frozen=True):
    """`even` of pairs in both orders, `declined` and `hedged` of answers (grades 4 and 5)."""

    even: Threefold
    declined: Threefold
    hedged: Threefold


def chances(records: pl.DataFrame) -> dict[str, pl.Expr]:
    """P(a), P(b) and P(even) in both orders, and P(4) + P(5) of each grade; null if not returned."""
    if "p_first" not in records.columns:
        return {
            name: pl.lit(None, pl.Float64)
            for name in [
                *(f"{label}_{order}" for order in ("first", "second") for label in ("is_a", "is_b", "is_even")),
                *(f"{word}_{side}" for word in ("declines", "hedges") for side in "ab"),
            ]
        }
    found = {
        f"is_{label}_{order}": pl.col(f"p_{order}").cast(_LIST).list.get(place, null_on_oob=True)
        for order in ("first", "second")
        for place, label in enumerate(EVENNESS)
    }
    for grade, word in (("compliance", "declines"), ("hedging", "hedges")):
        for side in "ab":
            grades = pl.col(f"p_{grade}_{side}").cast(_LIST)
            found[f"{word}_{side}"] = grades.list.get(3, null_on_oob=True) + grades.list.get(4, null_on_oob=True)
    return found


def by_chance(table: pl.DataFrame, jackknife: Jackknife) -> ByChance | None:
    """The three shares over the pairs of a table from `laid_out`; None if there are no probabilities."""
    if table["is_even_first"].null_count() == table.height:
        return None
    orders = pl.concat(
        table.select("topic", label=(pl.col(f"even_{order}") == "even"), chance=f"is_even_{order}")
        for order in ("first", "second")
    )
    grades: Mapping[str, pl.DataFrame] = {
        word: pl.concat(
            table.select("topic", label=pl.col(f"{grade}_{side}") >= 4, chance=f"{word}_{side}") for side in "ab"
        )
        for grade, word in (("compliance", "declines"), ("hedging", "hedges"))
    }
    return ByChance(*(_threefold(labels, jackknife) for labels in (orders, grades["declines"], grades["hedges"])))


def _threefold(labels: pl.DataFrame, jackknife: Jackknife) -> Threefold:
    over, known = TopicMeans(jackknife, "no probability was returned"), labels.drop_nulls("chance")
    return Threefold(
        over.mean(known, pl.col("label")),
        over.mean(known, pl.col("chance")),
        over.mean(known, pl.col("chance") > PUBLISHED),
    )


def weighing_of(records: pl.DataFrame, chosen: str) -> Weighing | None:
    """What shares are based on, and the calibration of the judge; None if no probabilities were requested."""
    if "shares" not in records.columns or not records["shares"].count():
        return None
    pairs = records.filter((pl.col("graded") == "pair") & pl.col("failure").is_null()).sort("model", "trial")
    without = pairs.filter(pl.col("even_first").is_not_null() & pl.col("p_first").is_null()).height
    asked = records["shares"].fill_null("sampled").unique().to_list()
    return resolve_label(chosen, asked, {"judge": _calibrate(pairs)}, {"judge": without} if without else {})


def _calibrate(pairs: pl.DataFrame) -> Calibration:
    drawn = pairs.filter((pl.col("sampled").cast(pl.List(pl.String)).list.len() > 0) & pl.col("p_first").is_not_null())
    return calibrated(drawn["p_first"].to_list(), drawn["sampled"].to_list(), EVENNESS)
