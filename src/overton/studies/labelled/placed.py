"""Corrected numbers in the places where an analysis has the judge's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from overton.studies.labelled.variants import Variants

__all__ = ["Place", "placed"]

Value = TypeVar("Value")

Place = tuple[str | int | None, ...]
"""The place of a number in an analysis: the names of fields, keys and indices of tuples on the way to it."""


def placed(value: Value, numbers: Mapping[Place, Variants]) -> Value:
    """A value made of structs, mappings and tuples, in which some estimates are replaced by those that lead, with their
    variants; the rest is unchanged. The judge's own variant is the one that was there before.

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
