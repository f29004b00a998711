"""The report: one HTML file that opens offline and shows hostile text as text. It knows nothing about studies."""

from overton.reporting.page import MAX_BYTES, Report, render, write, write_figures

__all__ = ["MAX_BYTES", "Report", "render", "write", "write_figures"]
