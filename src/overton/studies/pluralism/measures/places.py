"""Where replies put viewpoints, thousands of rankings at once: rankings stand side by side, so that rows are long."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

__all__ = ["Places", "correlated", "matrix", "places_in"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


class Places(NamedTuple):
    """For N rankings of at most L viewpoints.

    place     [L, N] the place from 0 that the reply gives to the viewpoint that truly is at each place; L where it
              does not name it, or where there is none
    repeated  [N] how often it names one again
    unknown   [N] how often it names one that is not to be ranked
    """

    place: Codes
    repeated: Codes
    unknown: Codes


def matrix(lists: pl.Series, known: pl.Series) -> Codes:
    """Lists of texts as numbers of those in `known` [longest, N], -1 behind the end of a list and where it is null."""
    length = lists.list.len().fill_null(0).to_numpy().astype(np.int64)
    made = np.full((len(lists), int(length.max(initial=0))), -1, np.int32)
    flat = lists.filter(pl.Series(length > 0)).explode().cast(pl.Enum(known)).to_physical().to_numpy()
    made[np.arange(made.shape[1]) < length[:, None]] = flat
    return np.ascontiguousarray(made.T)


def places_in(predicted: Codes, true: Codes) -> Places:
    """The places of the viewpoints of `true` [L, N] in `predicted` [P, N]; both as `matrix` gives them."""
    size, many = true.shape
    place = np.full((size, many), size, np.int32)
    given, repeated, unknown = np.zeros((3, many), np.int32)
    for said in predicted:
        is_it = true == said
        is_it &= said >= 0
        known = is_it.any(0)
        is_it &= place == size
        fresh = is_it.any(0)
        np.copyto(place, given, where=is_it)
        given += fresh
        repeated += known & ~fresh
        unknown += (said >= 0) & ~known
    return Places(place, repeated, unknown)


def correlated(place: Codes, size: Ints) -> tuple[Array, Array]:
    """Spearman's rho and Kendall's tau-b of the places [L, N] with the true order of the first `size` [N] viewpoints.

    Those that are not named (place L) are tied behind the others. NaN where there are fewer than two viewpoints, or
    all are tied.
    """
    most = len(place)
    there = np.arange(most)[:, None] < size
    named = ((place < most) & there).sum(0)
    tied = size - named
    score = np.zeros(place.shape[1], np.int32)
    for one, two in combinations(range(most), 2):
        score += np.where(size > two, np.sign(place[two] - place[one]), 0)
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
