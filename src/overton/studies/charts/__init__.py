"""The types of charts for studies: dots and lines with intervals, stacked bars, grids."""

from overton.studies.charts.axes import Axis, difference_axis
from overton.studies.charts.bars import Bar, BarPart, bars
from overton.studies.charts.dots import Dot, Series, colour, dots, legend, series_of
from overton.studies.charts.grids import GridCell, grid
from overton.studies.charts.lines import LinePoint, lines

__all__ = [
    "Axis",
    "Bar",
    "BarPart",
    "Dot",
    "GridCell",
    "LinePoint",
    "Series",
    "bars",
    "colour",
    "difference_axis",
    "dots",
    "grid",
    "legend",
    "lines",
    "series_of",
]
