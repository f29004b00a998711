"""Argument sets that were repeated (`--draws`): how far results differ between them, beyond sampling noise."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.resampling import Bootstrap
from overton.studies.open_mindedness.measures.cells import PRO
from overton.studies.open_mindedness.measures.scores import plurality

__all__ = ["between_sets", "repeated_sets"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_SETS = "argument sets were not repeated: run with --draws"


def repeated_sets(rows: pl.DataFrame, model: int) -> dict[int, tuple[Floats, Floats]]:
    """By issue: flips and pairs, and variance beyond noise and configurations, each summed over configurations.

    `rows` are those with a repeated set. The first pair counts pairs of sets whose most common stances differ, and
    all pairs; the second adds up the variance of the pro share between sets less what sampling alone gives.
    """
    counted = (
        rows.filter(pl.col("m") == model)
        .group_by("i", "c", "draw", "wording", "t")
        .agg(*((pl.col("s") == stance).sum().alias(f"s{stance}") for stance in range(3)))
        .sort("i", "c", "draw", "wording", "t")
    )
    made: dict[int, tuple[Floats, Floats]] = defaultdict(lambda: (np.zeros(2), np.zeros(2)))
    for (issue, _), part in counted.group_by("i", "c", maintain_order=True):
        draws = part["draw"].to_numpy()
        answers = part.select("s0", "s1", "s2").to_numpy().astype(np.int64)
        sets = [answers[draws == draw] for draw in np.unique(draws)]
        if len(sets) > 1:
            flips, variance = made[int(str(issue))]
            flips += _flips(sets)
            variance += _variance(sets)
    return dict(made)


def _flips(sets: list[Ints]) -> Floats:
    stances = plurality(np.stack([cells.sum(0) for cells in sets]).astype(float))
    pairs = list(combinations(stances.tolist(), 2))
    return np.array([sum(a != b for a, b in pairs), len(pairs)], float)


def _variance(sets: list[Ints]) -> Floats:
    shares = [cells[:, PRO].sum() / cells.sum() for cells in sets]
    beyond = float(np.var(shares, ddof=1) - np.mean([_noise(cells) for cells in sets]))
    return np.array([beyond, 1.0]) if np.isfinite(beyond) else np.zeros(2)


def _noise(cells: Ints) -> float:
    """Sampling variance of one set's pro share: a mean over strata (wordings and templates), or of all its answers."""
    n = cells.sum(1).astype(float)
    if (n < 2).any():
        cells, n = cells.sum(0, keepdims=True), n.sum(keepdims=True)
    share = cells[:, PRO] / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(((n / n.sum()) ** 2 * share * (1 - share) / (n - 1)).sum())


def between_sets(issues: dict[int, tuple[Floats, Floats]], bootstrap: Bootstrap) -> tuple[Estimate, Estimate]:
    """Share of pairs of sets with different most common stances, and the variance between sets, over all issues."""
    if not issues:
        return (not_computed(_NO_SETS, level=bootstrap.level),) * 2
    flips = np.stack([issues[issue][0] for issue in sorted(issues)])
    variance = np.stack([issues[issue][1] for issue in sorted(issues)])
    return bootstrap.ratio(flips[:, 0], flips[:, 1]), bootstrap.ratio(variance[:, 0], variance[:, 1])
