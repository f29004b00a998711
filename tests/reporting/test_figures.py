"""Charts as files: formats, width and font size."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest

from overton.errors import InputError
from overton.reporting import FigureSize, Report, write_figures
from overton.studies.chart_layout import current_layout
from overton.studies.sections import Chart, Section


def dots(width: int | None = None) -> Chart:
    """A chart that is as wide as its layout, or so many pixels."""

    def draw() -> dict[str, object]:
        return {
            "data": {"values": [{"x": 1, "y": "a"}, {"x": 2, "y": "b"}]},
            "mark": "point",
            "width": width or current_layout().width,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "nominal"}},
        }

    return Chart("dots", "Title", "What it shows", draw)


def written(folder: Path, size: FigureSize, chart: Chart | None = None) -> dict[str, bytes]:
    """The files of one chart, by their suffix."""
    report = Report(title="T", summary="", facts=(), sections=[Section("s", "S", [chart or dots()])])
    return {path.suffix: path.read_bytes() for path in write_figures(report, folder, size)}


def widths_mm(files: dict[str, bytes]) -> list[float]:
    """The width that the PDF, the SVG and the PNG have on paper."""
    box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", files[".pdf"])
    assert box is not None
    svg = ElementTree.fromstring(files[".svg"])
    (pixels,) = struct.unpack(">I", files[".png"][16:20])
    place = files[".png"].index(b"pHYs")
    (per_metre,) = struct.unpack(">I", files[".png"][place + 4 : place + 8])
    return [float(box[1]) / 72 * 25.4, float(svg.get("width", "")) / 96 * 25.4, pixels / per_metre * 1000]


def label_points(files: dict[str, bytes]) -> set[float]:
    """The font sizes of an SVG's texts on paper, in points."""
    svg = ElementTree.fromstring(files[".svg"])
    drawn = float((svg.get("viewBox") or "").split()[2])
    scale = float(svg.get("width", "")) / drawn * 72 / 96
    sizes = (element.get("font-size", "").removesuffix("px") for element in svg.iter() if element.text)
    return {round(float(size) * scale, 1) for size in sizes if size}


def test_a_chart_is_written_as_pdf_svg_and_png_on_white(tmp_path: Path) -> None:
    files = written(tmp_path / "figures", FigureSize())
    assert list(files) == [".pdf", ".svg", ".png"]
    assert files[".pdf"].startswith(b"%PDF")
    assert b'fill="white"' in files[".svg"]
    assert files[".png"].startswith(b"\x89PNG")
    assert widths_mm(files) == pytest.approx([190.5] * 3, abs=0.1)
    assert label_points(files) == {9.8}


@pytest.mark.parametrize(("width", "font"), [(84, 8), (84, 6.5), (178, 8), (60, 10)])
def test_figures_have_the_width_of_a_column_and_the_font_of_its_text(width: float, font: float, tmp_path: Path) -> None:
    files = written(tmp_path, FigureSize(width, font))
    assert widths_mm(files) == pytest.approx([width] * 3, abs=0.2)
    assert label_points(files) == {round(font, 1)}


def test_a_chart_that_is_too_large_is_scaled_as_a_whole(tmp_path: Path) -> None:
    files = written(tmp_path, FigureSize(84, 8), dots(width=1000))
    assert widths_mm(files) == pytest.approx([84] * 3, abs=0.2)
    assert max(label_points(files)) < 8


def test_sizes_beyond_their_limits_are_refused_before_anything_is_measured() -> None:
    with pytest.raises(InputError) as refused:
        FigureSize(width=8.4, font_size=80)
    assert [(problem.place, problem.key) for problem in refused.value.problems] == [
        ("option figure_width", "8.4"),
        ("option font_size", "80"),
    ]
