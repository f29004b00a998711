"""The files through which a value passes on its way to where it is used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec

import overton

SOURCE = Path(overton.__file__).parent
_DEPTH, _MOST = 6, 64
"""How far, and among how many members, an object is searched for the value."""


@dataclass(eq=False)
class Step:
    """A call with the value, made by an earlier such call; `kept` if it has not ended, or handed the value back."""

    file: str
    earlier: Step | None
    kept: bool = True

    @property
    def on_the_way(self) -> bool:
        return self.kept and (self.earlier is None or self.earlier.on_the_way)


class Walk:
    """The calls of Overton's functions with a value, until it arrives: at the function `end`, below the file `below`.

    `carries` says whether an object is the value; one that has it as a part carries it, too. Calls that take the value
    and give back something else (a check, a count, a digest, a file written) are not on its way, nor is what they call.
    """

    def __init__(self, carries: Callable[[Any], bool], end: tuple[str, str], below: str = "") -> None:
        self.carries, self.end, self.below = carries, end, below
        self.steps: list[Step] = []
        self.arrived = False
        self._open: dict[FrameType, Step] = {}

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        if self.arrived:
            return
        if event == "return" and (step := self._open.pop(frame, None)) is not None:
            step.kept = self.holds(value)
        if event != "call" or (file := file_of(frame)) is None:
            return
        if any(self.holds(argument) for argument in arguments_of(frame)):
            callers = list(self._callers(frame))
            step = self._open[frame] = Step(file, callers[0] if callers else None)
            self.steps.append(step)
            below = not self.below or any(caller.file == self.below for caller in callers)
            self.arrived = below and (file, frame.f_code.co_name) == self.end

    def _callers(self, frame: FrameType) -> Iterator[Step]:
        back = frame.f_back
        while back is not None:
            if back in self._open:
                yield self._open[back]
            back = back.f_back

    def holds(self, value: Any, depth: int = _DEPTH) -> bool:
        if self.carries(value):
            return True
        return bool(depth) and any(self.holds(member, depth - 1) for member in members_of(value))

    def handed(self) -> list[tuple[str, str]]:
        """From which file to which the value is handed on its way, each pair once."""
        on_the_way = [step for step in self.steps if step.on_the_way and step.earlier is not None]
        pairs = [(step.earlier.file, step.file) for step in on_the_way if step.earlier is not None]
        return list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))

    def files(self) -> list[str]:
        """All files on the way."""
        return list(dict.fromkeys(step.file for step in self.steps if step.on_the_way))

    def route(self) -> list[str]:
        """The files on the way that hand the value on to another, and the last one.

        Files that are called with it and only hand it back are leaves, and do not count.
        """
        return list(dict.fromkeys([*(earlier for earlier, _ in self.handed()), self.end[0]]))


def file_of(frame: FrameType) -> str | None:
    """The file of Overton that a frame's function is in."""
    path = Path(frame.f_code.co_filename)
    return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else None


def arguments_of(frame: FrameType) -> list[Any]:
    code = frame.f_code
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return [frame.f_locals[name] for name in code.co_varnames[:count] if name in frame.f_locals]


def members_of(value: Any) -> list[Any]:
    """The parts of an object."""
    if isinstance(value, partial):
        return [*value.args, *value.keywords.values()]
    if isinstance(value, Mapping):
        return [*value.values()][:_MOST]
    if isinstance(value, list | tuple | set | frozenset):
        return [*value][:_MOST]
    if isinstance(value, msgspec.Struct):
        return [getattr(value, name) for name in value.__struct_fields__]
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in fields(value)]
    return [*vars(value).values()] if isinstance(value, overton.Run) else []


def walked(walk: Walk, made: Callable[[], object]) -> Walk:
    """The walk of a value while something is made."""
    sys.setprofile(walk)
    try:
        made()
    finally:
        sys.setprofile(None)
    return walk
