"""The report: one HTML file that opens offline and shows hostile text as text. Knows no study."""

from overton.reporting.figures import write_figures
from overton.reporting.render import MAX_BYTES, render, write
from overton.reporting.report import Report

__all__ = ["MAX_BYTES", "Report", "render", "write", "write_figures"]
