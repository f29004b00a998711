"""Names of rows that are left out while a chart is drawn."""

from __future__ import annotations

import re

import pytest

from overton.reporting.charts import clean_svg, draw_inline, specification
from overton.reporting.row_names import leave_out
from overton.statistics import Estimate
from overton.studies.chart_layout import NARROW, WIDE
from overton.studies.charts import Axis, Bar, BarPart, Dot, GridCell, bars, dots, grid, series_of
from overton.studies.sections import Chart

ROWS = {
    "short": ["yes", "no"],
    "lines": [
        "Should shops be free to turn away cash, whatever it costs?",
        "Is it so?",
        "May a council close a street?",
    ],
    "cut": [f"{'a name without spaces that is far too long '.replace(' ', '-') * 2}{number}" for number in range(3)],
    "one": ["the only row"],
    "spaces": ["  indented", "trailing and rather longer   ", " "],
    "wide letters": ["WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW", "iiiiii", "~0", "~1~2"],
    "other scripts": ["現金", "นโยบาย", "a much longer name in Latin letters", "naïve", "short"],
    "blank": ["", "a", "and some more"],
}


def drawn(rows, panels=()):
    points = [Dot(row, 0, Estimate(0.5, 0.4, 0.6, 10, "test"), panel) for row in rows for panel in panels or ("",)]
    axis = Axis("Share", 0, 1, "share")
    return dots(points, rows, series_of(["a"]), axis, panels=panels, wrap=True)


def boxes(rows):
    return grid([GridCell(row, "a", 1, "1", row) for row in rows], rows, ["a"], scale="score", title="Score")


def shares(rows):
    return bars([Bar(row, (Estimate(1, 1, 1, 5, "test"),)) for row in rows], [BarPart("all", "all")], "Share")


FORMS = {"dots": drawn, "panels": lambda rows: drawn(rows, ["first", "second"]), "grid": boxes, "bars": shares}


def plainly(chart, room):
    """The chart with every name measured."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg({**specification(chart, room), "background": "transparent"})
    return clean_svg(svg, f"{chart.name}-{room.name}", f"{chart.caption}. {chart.description}", room)


def unnumbered(svg):
    """The drawings without the numbers of gradients, which go on from one drawing of a process to the next."""
    return re.sub(r"gradient_\d+", "gradient", svg)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_drawings_are_as_if_every_name_was_measured(form, rows):
    chart = Chart("name", "Title", "What it shows", lambda: form(rows))
    assert unnumbered(draw_inline(chart)) == unnumbered(plainly(chart, WIDE) + plainly(chart, NARROW))


def test_only_names_narrower_than_the_widest_are_left_out():
    chart = Chart("name", "Title", "What it shows", lambda: drawn(ROWS["lines"]))
    spec, names = leave_out(specification(chart), 13)
    assert set(names.values()) == {"whatever it costs?", "Is it so?", "May a council close a street?"}
    assert spec["encoding"]["y"]["axis"]["labelLimit"] == 0
    assert "council" not in spec["encoding"]["y"]["axis"]["labelExpr"]


def test_names_that_may_be_cut_keep_their_limit():
    chart = Chart("name", "Title", "What it shows", lambda: drawn(ROWS["wide letters"]))
    spec, names = leave_out(specification(chart), 13)
    assert spec["encoding"]["y"]["axis"]["labelLimit"] > 0
    assert set(names.values()) == {"iiiiii", "~0", "~1~2"}
    assert all(mark.startswith("~~") for mark in names)


def test_specifications_without_names_of_rows_stay():
    spec = {"mark": "point", "encoding": {"y": {"field": "y", "type": "quantitative", "axis": None}}}
    assert leave_out(spec, 13) == (spec, {})
