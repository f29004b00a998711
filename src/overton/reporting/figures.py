"""Charts as files, for papers and slides."""

from __future__ import annotations

from pathlib import Path

from overton.reporting.report import Report
from overton.reporting.svg import drawn

__all__ = ["write_figures"]

_SCALE = 3.0


def write_figures(report: Report, folder: Path) -> list[Path]:
    """Write each chart of the report as NAME.svg and NAME.png (300 dots an inch) into `folder`, made if needed.

    Returns the files written. Colours are those of a light page on white.
    """
    import vl_convert

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for chart in report.charts:
        svg = drawn(chart)
        vector, bitmap = folder / f"{chart.name}.svg", folder / f"{chart.name}.png"
        vector.write_text(svg, encoding="utf-8")
        bitmap.write_bytes(vl_convert.svg_to_png(svg, scale=_SCALE))
        written += [vector, bitmap]
    return written
