"""Forms of chart that every study draws with: estimates as dots with intervals, and shaded grids."""

from overton.studies.charts.dots import Axis, Dot, Series, difference_axis, dots, series_of
from overton.studies.charts.grids import Box, grid

__all__ = ["Axis", "Box", "Dot", "Series", "difference_axis", "dots", "grid", "series_of"]
