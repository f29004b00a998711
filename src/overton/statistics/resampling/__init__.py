"""The one bootstrap over clusters, for every study."""

from __future__ import annotations

from overton.statistics.resampling.bootstrap import Bootstrap, Resampling
from overton.statistics.resampling.counts import Counts, Numbers, Sums
from overton.statistics.resampling.rule import Draws, limits, tail

__all__ = ["Bootstrap", "Counts", "Draws", "Numbers", "Resampling", "Sums", "limits", "tail"]
