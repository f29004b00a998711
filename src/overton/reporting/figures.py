"""A report's charts as files for a paper or a slide: PDF, SVG and PNG, of a chosen width and font size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from overton.errors import InputError, Problem
from overton.files.atomic import make_folder, write_atomic
from overton.reporting.charts import FONT_SIZE, draw_svg
from overton.reporting.page import Report
from overton.studies.chart_layout import WIDE, ChartLayout
from overton.studies.options import option_place
from overton.studies.sections import Chart

_PX_PER_INCH = 96
"""CSS pixels, the unit of an SVG's coordinates."""
_MM_PER_INCH = 25.4
_PT_PER_INCH = 72
_DPI = 300
"""Dots per inch of a PNG."""
_WIDTHS = (30.0, 1000.0)
_FONT_SIZES = (4.0, 40.0)

_SVG_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


@dataclass(frozen=True)
class FigureSize:
    """The size of figures: at most `width` millimetres wide, with axis labels of `font_size` points.

    None means the report's size: a column of 720 pixels (190.5 mm), and labels of 13 pixels (9.75 pt). Lines and marks
    grow with the font. A chart that needs more than the width is scaled down as a whole, including its texts.

    Raises:
        InputError: a size is outside its limits: 30 to 1,000 mm, and 4 to 40 pt.
    """

    width: float | None = None
    font_size: float | None = None

    def __post_init__(self) -> None:
        problems = [
            Problem(option_place(name), f"{value:g}", f"must be from {least:g} to {most:g} {unit}")
            for name, value, (least, most), unit in (
                ("figure_width", self.width, _WIDTHS, "millimetres"),
                ("font_size", self.font_size, _FONT_SIZES, "points"),
            )
            if value is not None and not least <= value <= most
        ]
        if problems:
            raise InputError(problems)

    @property
    def scale(self) -> float:
        """The factor that scales drawings so that their labels have the size `font_size`."""
        return 1.0 if self.font_size is None else self.font_size / _PT_PER_INCH * _PX_PER_INCH / FONT_SIZE

    @property
    def width_px(self) -> float:
        """The width in pixels after scaling."""
        return WIDE.width if self.width is None else self.width / _MM_PER_INCH * _PX_PER_INCH

    @property
    def layout(self) -> ChartLayout:
        """Layout of charts before they are scaled."""
        return WIDE if self == FigureSize() else ChartLayout.of_width(round(self.width_px / self.scale))


def write_figures(report: Report, folder: Path, size: FigureSize = FigureSize()) -> list[Path]:
    """Write each chart of the report as NAME.pdf, NAME.svg and NAME.png (300 dpi) into `folder`, created if needed.

    Returns the files written. Colours are those of a light page, on white.

    Raises:
        RunError: they cannot be written.
    """
    make_folder(folder)
    return [
        write_atomic(folder / f"{chart.name}.{form}", [data])
        for chart in report.charts
        for form, data in _figure_files(chart, size)
    ]


def _figure_files(chart: Chart, size: FigureSize) -> Iterator[tuple[str, bytes]]:
    """A chart in each format, with the format's suffix."""
    import vl_convert

    drawn = draw_svg(chart, size.layout)
    found = _SVG_SIZE.search(drawn)
    assert found is not None  # the drawing library always gives width and height
    width, height = float(found[1]), float(found[2])
    scale = min(size.scale, size.width_px / width)

    def sized(unit: float) -> str:
        """The drawing with its size in pixels multiplied by `unit`. Its coordinates stay the same, so the whole drawing
        is scaled."""
        stated = f'width="{width * scale * unit:.2f}" height="{height * scale * unit:.2f}"'
        return f"{drawn[: found.start()]}{stated}{drawn[found.end() :]}"

    in_points = sized(_PT_PER_INCH / _PX_PER_INCH)  # both converters treat a drawing's pixel as a point
    yield "pdf", vl_convert.svg_to_pdf(in_points)
    yield "svg", sized(1).encode()
    yield "png", vl_convert.svg_to_png(in_points, ppi=_DPI)
