"""Replacement of a chart's row names by short marks while the chart is drawn. The names are then written into the
drawing.

For each character that vl-convert measures, it opens a system font file eight times. In a report about 107 issues this
took half of the time. Only the widest names affect the rest of a drawing. So shorter names are not measured: each is
replaced by a mark of a few characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import inf
from typing import Any

_ADVANCES = {
    222: "'ijl|",
    278: " !,./:;I[\\]ft",
    333: "()-`r{}",
    389: '"*',
    500: "Jcksvxyz^",
    556: "#$0123456789?L_abdeghnopqu",
    584: "+<=>~",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "…",
    1015: "@",
}
"""Characters by their width in thousandths of the font size, for Helvetica and the fonts made to replace it."""

_WIDTHS = {character: width / 1000 for width, characters in _ADVANCES.items() for character in characters}
_TOLERANCE = 0.9
"""A line is certainly narrower than a limit if its computed width is below this fraction of the limit. Kerning and
other fonts change widths."""

_MARK = "~"


def leave_out(spec: Mapping[str, Any], font_size: float) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the specification with marks in place of some lines of row names, and the line that each mark replaces.

    `font_size` is the size of the names in pixels. The widest lines are kept, and so are lines that may exceed the
    axis' limit. Therefore the rest of the drawing stays the same.
    """
    axis = next(_row_axes(spec), None)
    if axis is None:
        return dict(spec), {}
    names = [name.split("\n") for name in axis["scale"]["domain"]]
    limit = _TOLERANCE * axis["axis"]["labelLimit"] / font_size
    widths = {line: sum(_WIDTHS.get(character, inf) for character in line) for lines in names for line in lines}
    mark = next(mark for number in count(1) if (mark := _MARK * number) not in json.dumps(spec))
    marks = {line: f"{mark}{number}" for number, line in enumerate(_narrow_lines(widths, limit))}
    changes: dict[str, Any] = {"labelExpr": _label_expression([[marks.get(line) for line in lines] for lines in names])}
    if max(widths.values()) < limit:
        changes["labelLimit"] = 0  # without a limit, names are not measured again
    return _with_axis(spec, changes), {marked: line.strip() for line, marked in marks.items()}


def _row_axes(view: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The channels of a view and its nested views whose axis has row names with a width limit."""
    if _has_names(y := view.get("encoding", {}).get("y", {})):
        yield y
    for inner in [*view.get("layer", ()), *([view["spec"]] if "spec" in view else ())]:
        yield from _row_axes(inner)


def _has_names(channel: Mapping[str, Any]) -> bool:
    return bool((channel.get("scale") or {}).get("domain")) and bool((channel.get("axis") or {}).get("labelLimit"))


def _narrow_lines(widths: Mapping[str, float], limit: float) -> list[str]:
    """The lines that are certainly narrower than both the widest line and `limit`. Widths are multiples of the font
    size."""
    widest = max((width for width in widths.values() if width < inf), default=0)
    return [line for line, width in widths.items() if line.strip() and width < min(_TOLERANCE * widest, limit)]


def _label_expression(marks: Sequence[Sequence[str | None]]) -> str:
    """A Vega expression that maps a row's number to the lines of the row's name. It contains no text of the names."""
    lines = (
        ",".join(
            f"split(datum.label, '\\n')[{number}]" if mark is None else f"'{mark}'" for number, mark in enumerate(row)
        )
        for row in marks
    )
    return f"[{','.join(f'[{row}]' for row in lines)}][round(datum.index * {max(1, len(marks) - 1)})]"


def _with_axis(view: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The view with these changes to every axis with row names."""
    made = dict(view)
    if "layer" in view:
        made["layer"] = [_with_axis(layer, changes) for layer in view["layer"]]
    if "spec" in view:
        made["spec"] = _with_axis(view["spec"], changes)
    if _has_names(y := view.get("encoding", {}).get("y", {})):
        made["encoding"] = {**view["encoding"], "y": {**y, "axis": {**y["axis"], **changes}}}
    return made
