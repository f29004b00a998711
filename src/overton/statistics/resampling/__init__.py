"""Intervals over clusters, for every study: each cluster is left out in turn."""

from __future__ import annotations

from overton.statistics.resampling.jackknife import (
    ANYTHING,
    DIFFERENCE,
    FISHER,
    LINEAR,
    LOGARITHM,
    POSITIVE,
    SHARE,
    STUDENT,
    Jackknife,
    Range,
    Resampling,
    Scale,
)
from overton.statistics.resampling.limits import FEWEST, Influence
from overton.statistics.resampling.shown import same_in_all, too_few
from overton.statistics.resampling.sums import Counts, Numbers, Sums

__all__ = [
    "ANYTHING",
    "DIFFERENCE",
    "FEWEST",
    "FISHER",
    "LINEAR",
    "LOGARITHM",
    "POSITIVE",
    "SHARE",
    "STUDENT",
    "Counts",
    "Influence",
    "Jackknife",
    "Numbers",
    "Range",
    "Resampling",
    "Scale",
    "Sums",
    "same_in_all",
    "too_few",
]
