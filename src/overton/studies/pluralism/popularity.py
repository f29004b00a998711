"""A model's knowledge of viewpoints' popularity: rankings (section 6.2) and pairs (section 6.3) of each thread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics.arrays import Floats, Ints
from overton.studies.pluralism.thread_units import GroupedRows, UnitNames

Codes = NDArray[np.int32]

_MRR_CUT = 10
"""If the viewpoint with the most votes is ranked below this position, it counts as not named."""

_AT_ONCE = 1 << 14


def measure_rankings(rankings: pl.DataFrame, names: UnitNames) -> pl.DataFrame:
    """Spearman's rho, Kendall's tau-b, top-1, proportion of correct positions, and MRR@10 of every thread.

    Each measure X has two columns: its sum over the replies about a thread, and `X_replies`, the number of replies in
    the sum. The columns of counts are `replies`, `unreadable`, `missing`, `repeated` and `unknown`.

    `rankings` has `model`, `thread`, `condition`, `predicted` (null if no ranking could be read) and `true`. If a
    viewpoint is repeated, its first position counts. A viewpoint that is not in `true` is ignored. Viewpoints that the
    reply does not name are tied after the others. Such a viewpoint never has the correct position, and counts as below
    the tenth position in MRR@10. A reply that names no viewpoint is unreadable.
    """
    predicted, true = _codes(rankings["predicted"], rankings["true"])
    read = rankings["predicted"].is_not_null().to_numpy()
    some = [slice(start, start + _AT_ONCE) for start in range(0, len(read), _AT_ONCE)]
    parts = [_ranked(predicted[:, rows], true[:, rows], read[rows]) for rows in some]
    values, counts = ({name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]} for k in (0, 1))
    grouped = GroupedRows.of(rankings, names)
    sums = _sums(grouped, values, "replies", np.ones(len(read)))
    return grouped.table({**dict(sums), **_counts(grouped, {"replies": np.ones(len(read)), **counts})})


def _ranked(predicted: Codes, true: Codes, read: NDArray[np.bool_]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The measures of some replies, and further counts. Measures are NaN for a reply without a ranking."""
    found, size = _places_in(predicted, true), (true >= 0).sum(0)
    place, named = found.place, found.place < len(true)
    unread = ~read | ~named.any(0)
    spearman, kendall = _correlated(place, size)
    first = place[0] + 1
    measured = {
        "spearman": spearman,
        "kendall": kendall,
        "top_1": first == 1,
        "position_accuracy": (place == np.arange(len(true))[:, None]).sum(0) / size,
        "mrr_at_10": np.where(named[0] & (first <= _MRR_CUT), 1 / first, 0),
    }
    values = {name: np.where(unread, np.nan, value).astype(float) for name, value in measured.items()}
    missing = np.where(unread, 0, size - named.sum(0))
    counts = {"unreadable": unread, "missing": missing, "repeated": found.repeated, "unknown": found.unknown}
    return values, {name: count.astype(float) for name, count in counts.items()}


def measure_pairs(pairs: pl.DataFrame, names: UnitNames) -> pl.DataFrame:
    """Accuracy over each thread's comparisons: over all comparisons, and by whether a comparison names the more popular
    viewpoint first or second.

    Each measure X has two columns: its sum over the comparisons of a thread, and `X_answers`, the number of comparisons
    in the sum. The columns of counts are `answers` and `unreadable`.

    `pairs` has `model`, `thread`, `condition`, `correct` (null if no answer could be read), and optionally `first`. It
    may also have the probabilities `p_popular` and `p_other` of naming each viewpoint (null if not reported). With
    probabilities, a comparison has the value p_popular / (p_popular + p_other) and the weight p_popular + p_other.
    Counts of unreadable answers always use sampled answers.
    """
    correct = pairs["correct"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    share, named = _chances(pairs, correct)
    values = {"accuracy": share}
    if "first" in pairs.columns:
        place = pairs["first"].cast(pl.Int8).fill_null(-1).to_numpy()
        values["accuracy_first"] = np.where(place == 1, share, np.nan)
        values["accuracy_second"] = np.where(place == 0, share, np.nan)
    grouped = GroupedRows.of(pairs, names)
    counts = {"answers": np.ones(len(correct)), "unreadable": np.isnan(correct)}
    return grouped.table({**dict(_sums(grouped, values, "answers", named)), **_counts(grouped, counts)})


def _chances(pairs: pl.DataFrame, correct: Floats) -> tuple[Floats, Floats]:
    """Return two numbers for each row. The first is the probability that the answer names the more popular viewpoint,
    given that it names one of the two. The second is the probability that it names one of the two. Without
    probabilities, the numbers are `correct` and 1."""
    if "p_popular" not in pairs.columns:
        return correct, np.ones(len(correct))
    chances = ("p_popular", "p_other")
    popular, other = (pairs[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in chances)
    reported, named = np.isfinite(popular) & np.isfinite(other), popular + other
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(named > 0, popular / named, np.nan)
    return np.where(reported, share, correct), np.where(reported, named, 1.0)


def _sums(
    grouped: GroupedRows, values: Mapping[str, Floats], noun: str, weight: Floats
) -> Iterator[tuple[str, Floats]]:
    """For each column, the weighted sum of the finite values in each unit (NaN if there are none), and the sum of their
    weights."""
    for name, value in values.items():
        known = np.isfinite(value)
        below = grouped.sums(known * weight)
        above = grouped.sums(np.where(known, value, 0) * weight)
        yield name, np.where(below > 0, above, np.nan)
        yield f"{name}_{noun}", below


def _counts(grouped: GroupedRows, counts: Mapping[str, NDArray[np.generic]]) -> dict[str, Floats]:
    return {name: grouped.sums(count.astype(float)) for name, count in counts.items()}


class ViewpointPlaces(NamedTuple):
    """The positions of viewpoints in N rankings of at most L viewpoints.

    place     [L, N] the predicted position, from 0, of the viewpoint at each true position. It is L if the reply does
              not name the viewpoint, or if there is no such viewpoint
    repeated  [N] the number of repeated viewpoints in the reply
    unknown   [N] the number of viewpoints in the reply that are not to be ranked
    """

    place: Codes
    repeated: Codes
    unknown: Codes


def _codes(*lists: pl.Series) -> Iterator[Codes]:
    """Columns of lists of texts as integer codes [longest, N]. Equal texts have equal codes. The code is -1 after a
    list's end, and for null."""
    lengths = [column.list.len().fill_null(0).to_numpy().astype(np.int64) for column in lists]
    flat = [column.filter(pl.Series(length > 0)).explode() for column, length in zip(lists, lengths, strict=True)]
    codes = pl.concat(flat).cast(pl.Categorical).to_physical().to_numpy()
    for own, length in zip(np.split(codes, np.cumsum([len(column) for column in flat])), lengths, strict=False):
        made = np.full((len(length), int(length.max(initial=0))), -1, np.int32)
        made[np.arange(made.shape[1]) < length[:, None]] = own
        yield np.ascontiguousarray(made.T)


def _places_in(predicted: Codes, true: Codes) -> ViewpointPlaces:
    """The positions in `predicted` [P, N] of the viewpoints in `true` [L, N]; both are arrays of codes from
    `_codes`."""
    size, many = true.shape
    place = np.full((size, many), size, np.int32)
    given, repeated, unknown = np.zeros((3, many), np.int32)
    for said in predicted:
        is_it = true == said
        is_it &= said >= 0
        known = is_it.any(0)
        is_it &= place == size
        fresh = is_it.any(0)
        place -= is_it * (size - given)  # np.copyto(where=) takes four times as long
        given += fresh
        repeated += known & ~fresh
        unknown += (said >= 0) & ~known
    return ViewpointPlaces(place, repeated, unknown)


def _correlated(place: Codes, size: Ints) -> tuple[Floats, Floats]:
    """Spearman's rho and Kendall's tau-b between the positions [L, N] and the true order of the first `size` [N]
    viewpoints.

    Viewpoints that are not named (position L) are tied after the others. The values are NaN if there are fewer than two
    viewpoints, or if all are tied.
    """
    most = len(place)
    there = np.arange(most)[:, None] < size
    named = ((place < most) & there).sum(0)
    tied = size - named
    score = np.zeros(place.shape[1], np.int32)
    for first, second in combinations(range(most), 2):
        score += np.where(size > second, np.sign(place[second] - place[first]), 0)
    middle = (size + 1) / 2
    rank = np.where(place < most, place + 1.0, (named + 1 + size) / 2) - middle
    true = np.arange(1, most + 1)[:, None] - middle
    product = np.where(there, true * rank, 0).sum(0)
    whole, pairs = (size**3 - size) / 12, size * (size - 1) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = product / np.sqrt(whole * (whole - (tied**3 - tied) / 12))
        tau = score / np.sqrt(pairs * (pairs - tied * (tied - 1) / 2))
    known = (size >= 2) & (named > 0)
    return np.where(known, rho, np.nan), np.where(known, tau, np.nan)
