"""Corrected numbers in the places of an analysis that hold the judge's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from overton.statistics import Estimate

__all__ = ["Place", "placed"]

Value = TypeVar("Value")

Place = tuple[str | int | None, ...]
"""Where an analysis holds a number: the names of fields, keys and places in tuples on the way to it."""


def placed(value: Value, numbers: Mapping[Place, Estimate]) -> Value:
    """A value made of structs, mappings and tuples, with other numbers in some places; the rest is as it was.

    Raises:
        KeyError, AttributeError, IndexError: there is no such place.
    """
    made: Any = numbers.get(())
    if made is not None:
        return made  # type: ignore[no-any-return]
    inner: dict[str | int | None, dict[Place, Estimate]] = {}
    for (first, *rest), one in numbers.items():
        inner.setdefault(first, {})[tuple(rest)] = one
    return _with(value, inner) if inner else value


def _with(value: Any, inner: Mapping[str | int | None, Mapping[Place, Estimate]]) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {str(name): placed(getattr(value, str(name)), some) for name, some in inner.items()}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, Mapping):
        return {**value, **{name: placed(value[name], some) for name, some in inner.items()}}
    if hasattr(value, "_replace"):
        return value._replace(**{str(name): placed(getattr(value, str(name)), some) for name, some in inner.items()})
    return tuple(placed(one, inner[place]) if place in inner else one for place, one in enumerate(value))
