"""Charts as static SVG without scripts. Their colours follow the page's light or dark mode."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from overton.reporting.cells import visible_throughout
from overton.reporting.row_names import leave_out
from overton.studies.chart_layout import NARROW, WIDE, ChartLayout
from overton.studies.sections import COLOURS, SERIES, Chart
from overton.untrusted import visible

_FONT = "Helvetica, Arial, sans-serif"
FONT_SIZE = 13
"""Font size of a chart's labels in pixels, before a figure is scaled."""
_INK, _MUTED, _LINE = COLOURS["ink"], COLOURS["muted"], COLOURS["line"]

_CONFIG: dict[str, Any] = {
    "font": _FONT,
    "padding": {"left": 4, "right": 12, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "range": {"category": list(SERIES)},
    "title": {"anchor": "start", "color": _INK, "fontSize": FONT_SIZE, "fontWeight": 600, "offset": 12},
    "axis": {
        "labelColor": _MUTED,
        "titleColor": _INK,
        "gridColor": _LINE,
        "domainColor": _LINE,
        "tickColor": _LINE,
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": 400,
        "titlePadding": 8,
        "labelLimit": 260,
        "labelPadding": 6,
    },
    "axisY": {"labelColor": _INK, "ticks": False, "domain": False},
    "header": {
        "labelColor": _INK,
        "titleColor": _INK,
        "labelFontSize": FONT_SIZE,
        "labelFontWeight": 600,
        "labelLimit": 240,
    },
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "labelFontSize": FONT_SIZE,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": 400,
        "labelLimit": 380,
        "orient": "top",
        "symbolSize": 70,
    },
    "text": {"color": _INK, "fontSize": FONT_SIZE},
    "rule": {"color": _MUTED},
}
"""Vega-Lite configuration of every chart."""


def _sized_config(room: ChartLayout) -> dict[str, Any]:
    """The configuration for a layout. The narrow layout has larger texts, because it may be scaled down: on the
    narrowest screen, its texts have 13 pixels."""
    if room is not NARROW:
        return _CONFIG
    return {
        part: {name: _LARGER_FONT_SIZE if name.endswith("ontSize") else value for name, value in values.items()}
        if isinstance(values, dict)
        else values
        for part, values in _CONFIG.items()
    }


_LARGER_FONT_SIZE = 13.6

_DARK = {
    "ink": "#e8eaed",
    "muted": "#a3abb3",
    "line": "#3a4149",
    "pro": "#5db2f0",
    "con": "#f0905a",
    "other": "#9aa1a8",
    "balanced": "#a99bef",
    "accent": "#4fc4b8",
}
_DARK_SERIES = ("#5db3f0", "#f0915a", "#4fc4b9", "#dd86b9", "#cfae3f", "#a99cef", "#c3c9cf", "#9cc8ea", "#ef7f76")

_LIGHT_BY_NAME = {
    **{f"c-{name}": value for name, value in COLOURS.items()},
    **{f"s-{i}": c for i, c in enumerate(SERIES)},
}
_DARK_BY_NAME = {
    **{f"c-{name}": value for name, value in _DARK.items()},
    **{f"s-{i}": c for i, c in enumerate(_DARK_SERIES)},
}

_VARIABLES = {colour: f"var(--{name})" for name, colour in _LIGHT_BY_NAME.items()}
"""The style sheet's variable for each colour that a chart may use."""


def style_sheet() -> str:
    """The style sheet with the colours: light by default and on paper, dark if the reader prefers dark mode."""
    light = _declarations(_LIGHT_BY_NAME)
    dark = _declarations(_DARK_BY_NAME)
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def _declarations(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


_SVG_NAMESPACE = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan", "circle", "defs", "clipPath"}
_ELEMENTS |= {"linearGradient", "stop"}
_ATTRIBUTES = {"d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dx", "dy", "width", "height", "viewBox"}
_ATTRIBUTES |= {"transform", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"}
_ATTRIBUTES |= {"stroke-miterlimit", "stroke-linecap", "opacity", "text-anchor", "font-size", "font-weight"}
_ATTRIBUTES |= {"font-style", "clip-path", "id", "offset", "stop-color", "display", "gradientUnits"}
_UNMARKED_ROLES = {"axis", "legend", "title", "header", "group mark container", ""}
_MAX_EXCESS_PX = 12
"""A drawing is scaled to fit if its width differs from the layout's width by at most this number of pixels."""

_REFERENCE = re.compile(r"url\(#([\w-]+)\)")


def specification(chart: Chart, room: ChartLayout = WIDE) -> dict[str, Any]:
    """The chart's Vega-Lite specification with the report's style. Control characters in its strings are spelled out.

    A single-view chart without a width is as wide as the layout.
    """
    spec = chart.within(room)
    bare = "width" not in spec and ("mark" in spec or "layer" in spec)
    wide = {"width": room.width, "autosize": {"type": "fit-x", "contains": "padding"}} if bare else {}
    return visible_throughout({**spec, **wide, "config": _sized_config(room)})  # type: ignore[no-any-return]


def draw_svg(chart: Chart, room: ChartLayout = WIDE) -> str:
    """The chart as a standalone SVG document, in the colours of a light page. Nothing is fetched."""
    return _draw(specification(chart, room), "white")


def _draw(spec: Mapping[str, Any], background: str) -> str:
    import vl_convert

    return str(vl_convert.vegalite_to_svg({**spec, "background": background}, allowed_base_urls=[]))


def draw_inline(chart: Chart) -> Markup:
    """The chart as two SVG elements, one for the page's column and one for phones. The page shows one of them."""
    return Markup("").join(_draw_inline(chart, room) for room in (WIDE, NARROW))


def _draw_inline(chart: Chart, room: ChartLayout) -> Markup:
    spec = specification(chart, room)
    drawn, names = leave_out(spec, spec["config"]["axis"]["labelFontSize"])
    described = visible(f"{chart.caption}. {chart.description}")
    return clean_svg(_draw(drawn, "transparent"), f"{chart.name}-{room.name}", described, room, names)


def clean_svg(
    svg: str, name: str, description: str, room: ChartLayout = WIDE, texts: Mapping[str, str] = MappingProxyType({})
) -> Markup:
    """An SVG document as an inert element.

    The element has two classes: the layout's name, and a word for the drawing's size. The page scales a drawing of
    class 'fills' to the page's width. Drawings of class 'broad' or 'small' keep their size. Only known elements and
    attributes are kept, and references must point into the same drawing. Colours become the style sheet's variables,
    and a mark's description becomes its `data-tip`. Texts that are keys of `texts` are replaced by their values.
    """
    root = ElementTree.fromstring(svg)
    excess = float(root.get("width", "0").removesuffix("px") or 0) - room.width
    _clean_element(root, name, texts)
    size = "fills" if abs(excess) <= _MAX_EXCESS_PX else "broad" if excess > 0 else "small"
    root.set("class", f"{room.name} {size}")
    root.set("role", "img")
    root.set("aria-label", description)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def _clean_element(element: ElementTree.Element, name: str, texts: Mapping[str, str]) -> None:
    tip = element.get("aria-label") if element.get("role") == "graphics-symbol" else None
    is_mark = (element.get("aria-roledescription") or "") not in _UNMARKED_ROLES
    element.tag = element.tag.removeprefix(_SVG_NAMESPACE)
    kept = {key: _clean_attribute(key, value, name) for key, value in element.attrib.items() if key in _ATTRIBUTES}
    element.attrib.clear()
    element.attrib.update(kept)
    element.text = texts.get(element.text or "", element.text)
    if tip and is_mark:
        element.set("data-tip", tip)
    for child in list(element):
        if child.tag.removeprefix(_SVG_NAMESPACE) in _ELEMENTS:
            _clean_element(child, name, texts)
        else:
            element.remove(child)


def _clean_attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key in {"fill", "stroke", "stop-color"} and value in _VARIABLES:
        return _VARIABLES[value]
    if "url" in value.lower():
        local = _REFERENCE.fullmatch(value)
        return f"url(#{name}-{local[1]})" if local else "none"
    return value
