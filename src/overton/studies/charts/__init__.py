"""Forms of chart that every study draws with: estimates as dots with intervals, and shaded grids."""

from overton.studies.charts.dots import Axis, Dot, Series, colour, difference_axis, dots, legend, series_of
from overton.studies.charts.grids import Box, grid

__all__ = ["Axis", "Box", "Dot", "Series", "colour", "difference_axis", "dots", "grid", "legend", "series_of"]
