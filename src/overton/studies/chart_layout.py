"""The layout of charts: for a column of a page, or for the screen of a phone.

Code that displays charts sets the layout, and the functions that draw charts read it. So studies need not pass it on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class ChartLayout:
    """A layout of charts. `width` is the chart's width in pixels. `beside` is the width of the space for row names to
    the left of the rows, or 0 if the names are above the rows. `characters` is the largest number of characters in a
    line of a row name, and `most` the largest number in any other line."""

    name: str
    width: int
    beside: int
    characters: int
    most: int

    @classmethod
    def of_width(cls, width: int) -> ChartLayout:
        """A layout with this width in pixels and the proportions of the page's layout. If the width is below
        `_LEAST_BESIDE`, the layout has the proportions of the phone's layout."""
        if width < _LEAST_BESIDE:
            characters = width * NARROW.characters // NARROW.width
            return cls("figure", width, 0, characters, characters)
        beside = width * WIDE.beside // WIDE.width
        return cls("figure", width, beside, beside * WIDE.characters // WIDE.beside, width * WIDE.most // WIDE.width)


WIDE = ChartLayout("wide", 720, 312, 40, 90)
NARROW = ChartLayout("narrow", 292, 0, 38, 38)
_LEAST_BESIDE = 480
"""The smallest width in pixels at which row names fit left of their rows."""

_LAYOUT: ContextVar[ChartLayout] = ContextVar("room", default=WIDE)


def current_layout() -> ChartLayout:
    """The current layout. By default, it is the layout for a column of a page."""
    return _LAYOUT.get()


@contextmanager
def in_layout(wanted: ChartLayout) -> Iterator[None]:
    """Draw everything within the block in this layout."""
    token = _LAYOUT.set(wanted)
    try:
        yield
    finally:
        _LAYOUT.reset(token)
