"""Charts as inert SVG."""

from __future__ import annotations

from xml.etree import ElementTree

from overton.reporting.charts import clean_svg, draw_inline, draw_svg
from overton.studies.sections import COLOURS, Chart


def chart(values, **more):
    spec = {
        "data": {"values": values},
        "mark": {"type": "point", "color": COLOURS["pro"]},
        "encoding": {
            "x": {"field": "x", "type": "quantitative"},
            "y": {"field": "y", "type": "nominal"},
            "description": {"field": "y", "type": "nominal"},
        },
        **more,
    }
    return Chart("name", "Title", "What it shows", lambda: spec)


def both(one):
    """A chart's drawings for a page and for a phone, in one element."""
    return f"<div>{draw_inline(one)}</div>"


def test_hostile_labels_are_text_in_the_chart_and_in_its_tips(hostile):
    root = ElementTree.fromstring(both(chart([{"x": 1, "y": text} for text in hostile])))
    tips = {element.get("data-tip") for element in root.iter() if element.get("data-tip")}
    assert hostile[0] in tips
    assert "[U+202E]right to left[U+202C] [U+2066]isolated" in tips
    assert {element.tag for element in root.iter()} <= {
        "svg",
        "g",
        "path",
        "line",
        "text",
        "rect",
        "defs",
        "clipPath",
        "div",
    }


def test_only_inert_elements_pass():
    svg = clean_svg(
        """<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" onload="x()">
        <script>x()</script><style>*{display:none}</style><image href="http://127.0.0.1/x"/><foreignObject/>
        <a xlink:href="javascript:x()"><text>linked</text></a><use href="#a"/><animate attributeName="href"/>
        <path onclick="x()" style="fill:url(http://127.0.0.1/x)" fill="url(http://127.0.0.1/x)" d="M0,0"/>
        <path fill=" URL( #a )" clip-path="url(#clip)" role="graphics-symbol" aria-label="kept"
         aria-roledescription="point"/></svg>""",
        "name",
        "About",
    )
    paths = [element.attrib for element in ElementTree.fromstring(svg)]
    assert paths == [
        {"fill": "none", "d": "M0,0"},
        {"fill": "none", "clip-path": "url(#name-clip)", "data-tip": "kept"},
    ]
    assert ElementTree.fromstring(svg).attrib == {"role": "img", "aria-label": "About", "class": "wide small"}


def test_two_charts_on_a_page_do_not_share_ids():
    gradient = chart([{"x": 1, "y": "a"}])
    gradient.spec["encoding"]["color"] = {"field": "x", "type": "quantitative"}
    root = ElementTree.fromstring(both(gradient))
    ids = {element.get("id") for element in root.iter() if element.get("id")}
    used = {value for element in root.iter() for value in element.attrib.values() if "url(" in value}
    assert used
    assert used <= {f"url(#{one})" for one in ids}
    assert all(one.startswith("name-") for one in ids)


def test_colours_become_variables_of_the_page_but_not_in_files():
    one = chart([{"x": 1, "y": "a"}])
    assert 'stroke="var(--c-pro)"' in draw_inline(one)
    assert COLOURS["pro"] in draw_svg(one)


def test_chart_is_described_for_those_who_do_not_see_it():
    wide, narrow = ElementTree.fromstring(both(chart([{"x": 1, "y": "a"}])))
    for root, name in ((wide, "wide"), (narrow, "narrow")):
        assert (root.get("role"), root.get("aria-label")) == ("img", "Title. What it shows")
        assert root.get("class") == f"{name} fills"
        assert not [element for element in root.iter() if element is not root and element.get("aria-label")]
