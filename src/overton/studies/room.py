"""The room that a chart is laid out in: a column of a page, or the screen of a phone.

Code that shows charts says in which room; chart forms read it while they draw, so that no study has to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

__all__ = ["NARROW", "WIDE", "Room", "in_room", "room"]


@dataclass(frozen=True)
class Room:
    """A room: its `width` in pixels, how many of them row names may take beside their rows (0: they are above the
    rows), in lines of so many `characters`; no text has more than `most` characters per line."""

    name: str
    width: int
    beside: int
    characters: int
    most: int


WIDE = Room("wide", 720, 312, 40, 90)
NARROW = Room("narrow", 292, 0, 38, 38)

_ROOM: ContextVar[Room] = ContextVar("room", default=WIDE)


def room() -> Room:
    """The room that is drawn for now; a column of a page if nothing is set."""
    return _ROOM.get()


@contextmanager
def in_room(wanted: Room) -> Iterator[None]:
    """Everything drawn within is laid out for this room."""
    token = _ROOM.set(wanted)
    try:
        yield
    finally:
        _ROOM.reset(token)
