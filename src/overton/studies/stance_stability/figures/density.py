"""Distributions of confidence by model (figure 3), smoothed."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.studies.charts import Axis, series_of
from overton.studies.exhibits import Chart
from overton.studies.stance_stability.figures.lines import Point, lines
from overton.studies.stance_stability.measures.analysis import Analysis

__all__ = ["confidence_density"]

Array = NDArray[np.float64]

_GRID = np.linspace(0, 1, 101)
_FEWEST = 3


def confidence_density(analysis: Analysis) -> Chart | None:
    """The mean confidence of each conversation, smoothed by a Gaussian kernel; None where no model's varies."""
    if "confidence" not in analysis.conversations.columns:
        return None
    names = list(analysis.models)
    points: list[Point] = []
    flat: list[str] = []
    for index, name in enumerate(names):
        values = analysis.conversations.filter(model=name)["confidence"].drop_nulls().to_numpy()
        heights = _density(values)
        if heights is None:
            flat.append(name)
            continue
        points += [
            Point(float(x), index, Estimate(float(height), np.nan, np.nan, len(values), "Gaussian kernel"))
            for x, height in zip(_GRID, heights, strict=True)
        ]
    if not points:
        return None
    top = max(point.estimate.value for point in points)
    about = "How the mean confidence of a conversation is distributed, by model."
    if flat:
        about += f" Not drawn, since it does not vary or there are too few conversations: {', '.join(flat)}."
    spec = partial(
        lines,
        points,
        series_of(names),
        Axis("Confidence of a conversation, mean over its turns", 0, 1, "value"),
        Axis("Density", 0, 1.05 * top, "value"),
        marks=False,
    )
    return Chart("confidence", "Confidence by model", about, spec, source="figure 3")


def _density(values: Array) -> Array | None:
    """A kernel estimate with Scott's bandwidth, its mass beyond 0 and 1 folded back."""
    from scipy.stats import gaussian_kde

    if len(values) < _FEWEST or np.ptp(values) < 1e-9:
        return None
    estimate = gaussian_kde(values)
    return np.asarray(estimate(_GRID) + estimate(-_GRID) + estimate(2 - _GRID))
