"""How well a model knows what is popular: rankings (section 6.2) and pairs (section 6.3) of each thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.studies.pluralism.measures.places import correlated, matrix, places_in
from overton.studies.pluralism.measures.units import Names, Units, in_units, summed

__all__ = ["MRR_CUT", "measure_pairs", "measure_rankings"]

Array = NDArray[np.float64]
Codes = NDArray[np.int32]

MRR_CUT = 10
"""Beyond this place the most voted viewpoint is as good as not named."""

_AT_ONCE = 1 << 14


def measure_rankings(rankings: pl.DataFrame, names: Names) -> Units:
    """Spearman's rho, Kendall's tau-b, top-1, share of positions that are right, and MRR@10 of every thread.

    `rankings` has `model`, `thread`, `condition`, `predicted` (null where no ranking could be read) and `true`. Of a
    viewpoint that is named again the first place counts; one that is not in `true` is passed over. Viewpoints that are
    not named share the places that are left: they are tied, at no position, and beyond any cut. A reply that names none
    is unreadable.
    """
    known = pl.concat([rankings[name].explode().drop_nulls() for name in ("predicted", "true")]).unique().sort()
    predicted, true = (matrix(rankings[name], known) for name in ("predicted", "true"))
    read = rankings["predicted"].is_not_null().to_numpy()
    some = [slice(start, start + _AT_ONCE) for start in range(0, len(read), _AT_ONCE)]
    parts = [_ranked(predicted[:, rows], true[:, rows], read[rows]) for rows in some]
    values, counts = ({name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]} for k in (0, 1))
    return _gathered(rankings, names, values, {"replies": np.ones(len(read)), **counts})


def _ranked(predicted: Codes, true: Codes, read: NDArray[np.bool_]) -> tuple[dict[str, Array], dict[str, Array]]:
    """The measures of some replies, and what had to be counted; NaN where a reply says nothing."""
    found, size = places_in(predicted, true), (true >= 0).sum(0)
    place, named = found.place, found.place < len(true)
    unread = ~read | ~named.any(0)
    spearman, kendall = correlated(place, size)
    first = place[0] + 1
    measured = {
        "spearman": spearman,
        "kendall": kendall,
        "top_1": first == 1,
        "position_accuracy": (place == np.arange(len(true))[:, None]).sum(0) / size,
        "mrr_at_10": np.where(named[0] & (first <= MRR_CUT), 1 / first, 0),
    }
    values = {name: np.where(unread, np.nan, value).astype(float) for name, value in measured.items()}
    missing = np.where(unread, 0, size - named.sum(0))
    counts = {"unreadable": unread, "missing": missing, "repeated": found.repeated, "unknown": found.unknown}
    return values, {name: count.astype(float) for name, count in counts.items()}


def measure_pairs(pairs: pl.DataFrame, names: Names) -> Units:
    """Accuracy of every thread's comparisons, and by whether the more popular viewpoint was named first.

    `pairs` has `model`, `thread`, `condition`, `correct` (null where no answer could be read), and perhaps `first`. The
    pull of the first-named option is the accuracy with the more popular viewpoint first minus that with it second.
    """
    correct = pairs["correct"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    values = {"accuracy": correct}
    if "first" in pairs.columns:
        place = pairs["first"].cast(pl.Int8).fill_null(-1).to_numpy()
        values["accuracy_first"] = np.where(place == 1, correct, np.nan)
        values["accuracy_second"] = np.where(place == 0, correct, np.nan)
    gaps = (("first_pull", "accuracy_first", "accuracy_second"),) if "first" in pairs.columns else ()
    counts = {"answers": np.ones(len(correct)), "unreadable": np.isnan(correct)}
    return replace(_gathered(pairs, names, values, counts), gaps=gaps)


def _gathered(
    table: pl.DataFrame, names: Names, values: Mapping[str, Array], counts: Mapping[str, NDArray[np.generic]]
) -> Units:
    """Rows put together by unit: sums of the values that are numbers, and how many these are."""
    where, order, unit, conditions = in_units(table, names)

    def stacked(columns: Iterable[NDArray[np.generic]]) -> Array:
        summed_up = [summed(unit, len(where.thread), column[order].astype(float)) for column in columns]
        return np.stack(summed_up, axis=1)

    return Units(
        where,
        conditions,
        tuple(values),
        stacked(np.where(np.isfinite(value), value, 0) for value in values.values()),
        stacked(np.isfinite(value) for value in values.values()),
        tuple(counts),
        stacked(counts.values()),
    )
