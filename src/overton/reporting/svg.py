"""Charts drawn ahead of time, as SVG that can do nothing but be looked at.

Drawing when the report is made, rather than by a chart library in the page, needs no script that evaluates
expressions, adds some 50 KB a chart instead of 900 KB of library, prints as it shows, and works with scripts off. The
page adds tooltips from what each mark says about itself.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from overton.reporting.text import visible, visible_throughout
from overton.reporting.theme import CONFIG, VARIABLES
from overton.studies.exhibits import Chart

__all__ = ["cleaned", "drawn", "inline", "specification"]

_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan", "circle", "defs", "clipPath"}
_ELEMENTS |= {"linearGradient", "stop"}
_ATTRIBUTES = {"d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "dx", "dy", "width", "height", "viewBox"}
_ATTRIBUTES |= {"transform", "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray"}
_ATTRIBUTES |= {"stroke-miterlimit", "stroke-linecap", "opacity", "text-anchor", "font-size", "font-weight"}
_ATTRIBUTES |= {"font-style", "clip-path", "id", "offset", "stop-color", "display", "gradientUnits"}
_FURNITURE = {"axis", "legend", "title", "header", "group mark container", ""}
_REFERENCE = re.compile(r"url\(#([\w-]+)\)")


def specification(chart: Chart) -> dict[str, Any]:
    """The chart's Vega-Lite specification with the report's look and every string in it made visible."""
    return visible_throughout({**chart.spec, "config": CONFIG})  # type: ignore[no-any-return]


def drawn(chart: Chart, background: str = "white") -> str:
    """The chart as an SVG document of its own, in the colours of a light page. Nothing is fetched."""
    import vl_convert

    drawing = {**specification(chart), "background": background}
    return str(vl_convert.vegalite_to_svg(drawing, allowed_base_urls=[]))


def inline(chart: Chart) -> Markup:
    """The chart as an SVG element for the page."""
    return cleaned(drawn(chart, background="transparent"), chart.name, visible(chart.description))


def cleaned(svg: str, name: str, description: str) -> Markup:
    """An SVG document as an element that can do nothing but be looked at.

    Only known elements and attributes pass, references point into the same drawing, colours become the style sheet's
    variables, and what a mark says about itself becomes its `data-tip`.
    """
    root = ElementTree.fromstring(svg)
    _clean(root, name)
    root.set("role", "img")
    root.set("aria-label", description)
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def _clean(element: ElementTree.Element, name: str) -> None:
    tip = element.get("aria-label") if element.get("role") == "graphics-symbol" else None
    is_mark = (element.get("aria-roledescription") or "") not in _FURNITURE
    element.tag = element.tag.removeprefix(_SVG)
    kept = {key: _attribute(key, value, name) for key, value in element.attrib.items() if key in _ATTRIBUTES}
    element.attrib.clear()
    element.attrib.update(kept)
    if tip and is_mark:
        element.set("data-tip", tip)
    for child in list(element):
        if child.tag.removeprefix(_SVG) in _ELEMENTS:
            _clean(child, name)
        else:
            element.remove(child)


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key in {"fill", "stroke", "stop-color"} and value in VARIABLES:
        return VARIABLES[value]
    if "url" in value.lower():
        local = _REFERENCE.fullmatch(value)
        return f"url(#{name}-{local[1]})" if local else "none"
    return value
