"""The room that a chart is laid out in: a column of a page, or the screen of a phone.

Code that shows charts says in which room; chart forms read it while they draw, so that no study has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class ChartLayout:
    """A room: its `width` in pixels, how many of them row names may take beside their rows (0: they are above the
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
    """The room that is drawn for now; a column of a page if nothing is set."""
    return _LAYOUT.get()


@contextmanager
def in_layout(wanted: ChartLayout) -> Iterator[None]:
    """Everything drawn within is laid out for this room."""
    token = _LAYOUT.set(wanted)
    try:
        yield
    finally:
        _LAYOUT.reset(token)
