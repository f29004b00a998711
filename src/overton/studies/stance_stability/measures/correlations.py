"""Pearson correlations of source re-use with other measures, pooled as published and within models (section 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.resampling import Resampling
from overton.studies.stance_stability.measures.analysis import Correlation
from overton.studies.stance_stability.measures.partition import Split

__all__ = ["CORRELATED", "measure_correlations"]

Array = NDArray[np.float64]
Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]

CORRELATED = ("confidence", "stance_changes")
"""What the paper correlates source re-use with."""

_FEWEST = 3
_FLAT = "fewer than three conversations, or one side does not vary"


def measure_correlations(values: Mapping[str, Array], models: Split, resampling: Resampling) -> tuple[Correlation, ...]:
    """For each measure of `CORRELATED` that there is, with source re-use; empty where there are no documents."""
    if "source_reuse" not in values:
        return ()
    pairs = ((name, values["source_reuse"], values[name]) for name in CORRELATED if name in values)
    return tuple(_correlation(name, x, y, models, resampling) for name, x, y in pairs)


def _correlation(measure: str, x: Array, y: Array, models: Split, resampling: Resampling) -> Correlation:
    known = np.isfinite(x) & np.isfinite(y)
    each = {
        name: _estimate(x, y, known & (models.code == number), None, resampling)
        for number, name in enumerate(models.names)
    }
    pooled = _estimate(x, y, known, None, resampling)
    return Correlation(measure, pooled, _estimate(x, y, known, models, resampling), each)


def _estimate(x: Array, y: Array, use: Flags, models: Split | None, resampling: Resampling) -> Estimate:
    """The correlation of the chosen conversations, with the means of `models` taken off where they are given."""
    n = int(use.sum())
    if n < _FEWEST:
        return not_computed(_FLAT, level=resampling.level, n=n)
    x, y = np.where(use, x - x[use].mean(), 0), np.where(use, y - y[use].mean(), 0)
    parts = np.stack([use.astype(float), x, y, x * x, y * y, x * y], axis=1)
    block = models.code if models else None
    return resampling.statistic(parts, _pearson, _FLAT, block=block, use=use)


def _pearson(sums: Floats) -> Floats:
    """The correlation from sums of ones, values, squares and products [rows, blocks, 6], each block centred."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 2, 0)
    some = np.where(n > 0, n, 1)
    vx, vy, vxy = ((xx - x * x / some).sum(1), (yy - y * y / some).sum(1), (xy - x * y / some).sum(1))
    tiny = 1e-12 * np.maximum(n.sum(1), 1)
    varies = (vx > tiny) & (vy > tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies, np.clip(vxy / np.sqrt(vx * vy), -1, 1), np.nan)
