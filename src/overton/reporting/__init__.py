"""The report: one HTML file that opens offline and shows hostile text as plain text. This package knows nothing about
studies."""

from overton.reporting.figures import FigureSize, write_figures
from overton.reporting.page import MAX_BYTES, Report, render, write

__all__ = ["MAX_BYTES", "FigureSize", "Report", "render", "write", "write_figures"]
