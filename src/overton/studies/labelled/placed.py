"""Corrected numbers in the places of an analysis that hold the judge's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from overton.studies.labelled.variants import Variants

__all__ = ["Place", "placed"]

Value = TypeVar("Value")

Place = tuple[str | int | None, ...]
"""Where an analysis holds a number: the names of fields, keys and places in tuples on the way to it."""


def placed(value: Value, numbers: Mapping[Place, Variants]) -> Value:
    """A value made of structs, mappings and tuples, in which some estimates have their variants with them and are
    those that lead; the rest is as it was. The judge's own is the one that stood there.

    Raises:
        KeyError, AttributeError, IndexError: there is no such place.
    """
    made: Any = numbers.get(())
    if made is not None:
        return made.led(value)  # type: ignore[no-any-return]
    inner: dict[str | int | None, dict[Place, Variants]] = {}
    for (first, *rest), one in numbers.items():
        inner.setdefault(first, {})[tuple(rest)] = one
    return _with(value, inner) if inner else value


def _with(value: Any, inner: Mapping[str | int | None, Mapping[Place, Variants]]) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {str(name): placed(getattr(value, str(name)), some) for name, some in inner.items()}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, Mapping):
        return {**value, **{name: placed(value[name], some) for name, some in inner.items()}}
    if hasattr(value, "_replace"):
        return value._replace(**{str(name): placed(getattr(value, str(name)), some) for name, some in inner.items()})
    return tuple(placed(one, inner[place]) if place in inner else one for place, one in enumerate(value))
