"""The forms of chart that studies draw with: dots with intervals, bars of the parts of a whole, and shaded grids."""

from overton.studies.charts.axes import Axis, difference_axis
from overton.studies.charts.bars import Bar, BarPart, bars
from overton.studies.charts.dots import Dot, Series, colour, dots, legend, series_of
from overton.studies.charts.grids import GridCell, grid

__all__ = [
    "Axis",
    "Bar",
    "BarPart",
    "Dot",
    "GridCell",
    "Series",
    "bars",
    "colour",
    "difference_axis",
    "dots",
    "grid",
    "legend",
    "series_of",
]
