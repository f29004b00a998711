"""The one bootstrap over clusters, for every study."""

from __future__ import annotations

from overton.statistics.resampling.bootstrap import Bootstrap, Resampling
from overton.statistics.resampling.draws import Counts, Draws, Numbers, Sums, limits, tail

__all__ = ["Bootstrap", "Counts", "Draws", "Numbers", "Resampling", "Sums", "limits", "tail"]
