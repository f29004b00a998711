"""The look of charts, and how their colours follow the page into the dark."""

from __future__ import annotations

from typing import Any

from overton.studies.exhibits import COLOURS, SERIES

__all__ = ["CONFIG", "VARIABLES", "style_sheet"]

_FONT = "Helvetica, Arial, sans-serif"
_INK, _MUTED, _LINE = COLOURS["ink"], COLOURS["muted"], COLOURS["line"]

CONFIG: dict[str, Any] = {
    "font": _FONT,
    "padding": {"left": 4, "right": 12, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "range": {"category": list(SERIES)},
    "title": {"anchor": "start", "color": _INK, "fontSize": 13, "fontWeight": 600, "offset": 12},
    "axis": {
        "labelColor": _MUTED,
        "titleColor": _INK,
        "gridColor": _LINE,
        "domainColor": _LINE,
        "tickColor": _LINE,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": 400,
        "titlePadding": 8,
        "labelLimit": 260,
        "labelPadding": 6,
    },
    "axisY": {"labelColor": _INK, "ticks": False, "domain": False},
    "header": {"labelColor": _INK, "titleColor": _INK, "labelFontSize": 12, "labelFontWeight": 600, "labelLimit": 240},
    "legend": {
        "labelColor": _INK,
        "titleColor": _INK,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": 400,
        "labelLimit": 380,
        "orient": "top",
        "symbolSize": 70,
    },
    "text": {"color": _INK, "fontSize": 11},
    "rule": {"color": _MUTED},
}
"""Vega-Lite configuration of every chart."""

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

VARIABLES = {colour: f"var(--{name})" for name, colour in _LIGHT_BY_NAME.items()}
"""The style sheet's variable for each colour that a chart may use."""


def style_sheet() -> str:
    """The variables' values: light, dark where the reader prefers it, and light on paper."""
    light = _declarations(_LIGHT_BY_NAME)
    dark = _declarations(_DARK_BY_NAME)
    return f":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def _declarations(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())
