"""The modules that a judge's label passes through until it is a number."""

from __future__ import annotations

import dataclasses
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import FrameType

import msgspec
import numpy as np
import polars as pl

from overton.studies.frame import EstimateRow

PACKAGES = ("overton.studies.", "overton.statistics.", "overton.judging.")


class Trace:
    """The results of functions of some packages while a label becomes the estimate of a measure, until its row exists.

    A label passes through a module if another label changes a result of one of its functions, or an instance of one of
    its classes. So modules that check options, make prompts or count malformed answers do not count.
    """

    def __init__(self, measure: str) -> None:
        self.measure = measure
        self.returned: dict[str, list[str]] = defaultdict(list)
        self.row: EstimateRow | None = None

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        module = str(frame.f_globals.get("__name__"))
        if event != "return" or self.row is not None or not module.startswith(PACKAGES):
            return
        self.returned[f"{module} {frame.f_code.co_name}"].append(self._written(value))
        if isinstance(value, EstimateRow) and value.measure == self.measure:
            self.row = value

    def _written(self, value: object) -> str:
        """All parts of a value as a text, '' for functions and other objects without data."""
        if isinstance(value, str | int | float | None):
            return repr(value)
        if isinstance(value, pl.DataFrame):
            return repr(value.rows())
        if isinstance(value, pl.Series | np.ndarray | np.generic):
            return repr(value.tolist() if not isinstance(value, pl.Series) else value.to_list())
        if isinstance(value, Mapping):
            return repr([(self._written(key), self._written(inner)) for key, inner in value.items()])
        if isinstance(value, list | tuple):
            written = repr([self._written(inner) for inner in value])
        else:
            names = _fields(value)
            written = repr([self._written(getattr(value, name)) for name in names]) if names else ""
        made_by = type(value).__module__
        if made_by.startswith(PACKAGES):
            self.returned[f"{made_by} {type(value).__name__}"].append(written)
        return written

    def modules_unlike(self, other: Trace) -> set[str]:
        """The modules in which something differs."""
        names = self.returned.keys() | other.returned.keys()
        return {name.split()[0] for name in names if self.returned.get(name) != other.returned.get(name)}


def _fields(value: object) -> Sequence[str]:
    if isinstance(value, msgspec.Struct):
        return value.__struct_fields__
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [field.name for field in dataclasses.fields(value)]
    return ()


def traced(measure: str, made: Callable[[], object]) -> Trace:
    """The trace of what makes records of a judge's labels, and analyses them."""
    trace = Trace(measure)
    sys.setprofile(trace)
    try:
        made()
    finally:
        sys.setprofile(None)
    return trace
