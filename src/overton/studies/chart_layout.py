"""The layout of charts: for a column of a page, or for the screen of a phone.

Code that shows charts sets the layout; chart forms read it while they draw, so that no study has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class ChartLayout:
    """A layout: its `width` in pixels, how many of them row names may take beside their rows (0: they are above the
    rows), in lines of so many `characters`; no text has more than `most` characters per line."""

    name: str
    width: int
    beside: int
    characters: int
    most: int


WIDE = ChartLayout("wide", 720, 312, 40, 90)
NARROW = ChartLayout("narrow", 292, 0, 38, 38)

_LAYOUT: ContextVar[ChartLayout] = ContextVar("room", default=WIDE)


def current_layout() -> ChartLayout:
    """The layout that is drawn for now; a column of a page if nothing is set."""
    return _LAYOUT.get()


@contextmanager
def in_layout(wanted: ChartLayout) -> Iterator[None]:
    """Draw everything within the block in this layout."""
    token = _LAYOUT.set(wanted)
    try:
        yield
    finally:
        _LAYOUT.reset(token)
