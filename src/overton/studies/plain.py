"""What JSON holds of a study's results, and the one form of a number in it.

A *measure* is an object of named variants, and `leads` names the one that a reader should take:

    {"leads": "plain", "plain": {"estimate": 0.4, "interval": [0.3, 0.5], "n": 12, "method": "...", "why": null}}

plain             as it was observed
letter_balanced   from answers whose pulls of letter and order are set to zero
as_published      by the paper's formula, where that is another one

`why` says in words why there is no estimate, or no interval (both null then), and is null where there are both;
`method` says how they were made, and is empty where there is nothing to say. What belongs to one number only (a
standard error, a test) stands in its variant. The intervals' `level`, the `resamples` and the `seed` stand once, at the
head of a document.

Everything else follows from the results' own types: an object for each struct, a key for each field. A struct that JSON
shows otherwise says so in an attribute `SHAPE`, from which `plain_schema` derives the JSON Schema too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any, TypeVar

import msgspec

from overton.statistics import NOT_COMPUTED, Estimate, not_computed

__all__ = ["SCHEMA", "Shape", "document", "fields_of", "keys", "plain", "shape_of", "shaped"]

SCHEMA = 1
"""The version of documents that are no analysis: plans, agreements, comparisons."""

Tuple = TypeVar("Tuple", bound=tuple[Any, ...])

_NO_INTERVAL = ": no interval"


@dataclass(frozen=True)
class Shape:
    """How a struct's (or a named tuple's) JSON differs from its fields.

    also       keys of other names than the fields or properties that they hold; one of a field's name replaces it
    without    fields that are not written
    flat       keys whose own keys stand in the object's place
    optional   keys that a document may lack
    variants   {variant: {key: field}}: the numbers of `field` are variants of those under `key`, which has measures in
               it; what else it holds has keys of its own, KEY_VARIANT. Where fields are None or empty, a reason in
               `not_computed` under the name of one of them is their `why`, and leaves `not_computed`
    measure    the field or property that makes the whole struct one measure; all other keys stand in its variant
    """

    also: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    flat: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    variants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    measure: str = ""


def shaped(*, flat: tuple[str, ...]) -> Callable[[type[Tuple]], type[Tuple]]:
    """Declares the shape of a named tuple, whose body takes none."""

    def declared(kind: type[Tuple]) -> type[Tuple]:
        setattr(kind, "SHAPE", Shape(flat=flat))  # noqa: B010
        return kind

    return declared


def shape_of(kind: type) -> Shape:
    """The shape that a type declares, or the one that is as its fields."""
    declared = getattr(kind, "SHAPE", None)
    return declared if isinstance(declared, Shape) else Shape()


def fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of a struct's or a named tuple's fields; None for any other type."""
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    named: tuple[str, ...] | None = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
    return named


def keys(kind: type) -> dict[str, str]:
    """The keys of a type's JSON in order, each with the field or property that it holds; variants are no keys."""
    shape = shape_of(kind)
    beside = (name for held in shape.variants.values() for name in held.values())
    elsewhere = {*shape.without, *shape.also.values(), *beside, shape.measure}
    return {name: name for name in fields_of(kind) or () if name not in elsewhere} | dict(shape.also)


def plain(value: Any) -> Any:
    """`value` as dictionaries with texts as keys, lists, strings and numbers, null for those that are not finite."""
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Estimate):
        return _measure(value, {})
    if fields_of(type(value)) is not None:
        return _object(value)
    if isinstance(value, Mapping):
        return {_key(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(inner) for inner in value]
    return value


def document(study: str, schema: int, value: Any, *, without: Iterable[str] = ()) -> dict[str, Any]:
    """A struct as a document that names its study and the version of its schema, `without` some of its keys.

    The intervals' level stands at its head, also where the struct itself does not name the one that all of them have.
    """
    told = {name: one for name, one in plain(value).items() if name not in set(without)}
    levels: set[float] = set() if "level" in told else set(_levels(value))
    level = {"level": levels.pop()} if len(levels) == 1 else {}
    return {"study": study, "schema": schema, **level, **told}


def _object(value: Any) -> dict[str, Any]:
    kind: type = type(value)
    shape = shape_of(kind)
    told: dict[str, Any] = {key: plain(getattr(value, name)) for key, name in keys(kind).items()}
    for variant, held in shape.variants.items():
        _put_beside(told, value, variant, held)
    if shape.measure:
        return _measure(getattr(value, shape.measure), told)
    made: dict[str, Any] = {}
    for key, one in told.items():
        made |= (one or {}) if key in shape.flat else {key: one}
    return made


def _put_beside(told: dict[str, Any], value: Any, variant: str, held: Mapping[str, str]) -> None:
    """Into `told`, a struct's JSON, the variants that its other fields hold, or why there are none."""
    reasons: Mapping[str, str] = getattr(value, "not_computed", None) or {}
    why = next((reasons[name] for name in held.values() if name in reasons), None)
    for key, name in held.items():
        if told[key] is not None:
            other = plain(getattr(value, name))
            told[key] = _beside(told[key], other, variant, None if other else why)
    if why is not None:
        told["not_computed"] = {name: reason for name, reason in reasons.items() if name not in held.values()}


def _beside(made: dict[str, Any], other: Mapping[str, Any] | None, variant: str, why: str | None) -> dict[str, Any]:
    """`made` with the numbers of `other`, of the same shape, as variants of its own; where there is none, `why`."""
    if _is_measure(made):
        if other is None and why is None:
            return made
        return {**made, variant: other["plain"] if other else _number(not_computed(why or ""))}
    told = dict(made)
    for key, one in made.items():
        own = other.get(key) if other else None
        if isinstance(one, dict):
            told[key] = _beside(one, own, variant, why)
        else:
            told[f"{key}_{variant}"] = own
    return told


def _measure(estimate: Estimate, beside: Mapping[str, Any]) -> dict[str, Any]:
    return {"leads": "plain", "plain": {**_number(estimate), **beside}}


def _is_measure(told: Mapping[str, Any]) -> bool:
    return isinstance(told.get("leads"), str)


def _number(one: Estimate) -> dict[str, Any]:
    method, why = _made(one)
    return {
        "estimate": plain(one.value),
        "interval": [plain(one.low), plain(one.high)],
        "n": one.n,
        "method": method,
        "why": why,
    }


def _made(one: Estimate) -> tuple[str, str | None]:
    """How a number was made, and why it or its interval is missing: `Estimate.method` says either, or both."""
    if not isfinite(one.value):
        return "", one.method.removeprefix(NOT_COMPUTED) or "the data does not tell"
    if isfinite(one.low) and isfinite(one.high):
        return one.method, None
    if not (isnan(one.low) or isnan(one.high)):
        return one.method, "the interval has no end"
    how, _, rest = one.method.partition(_NO_INTERVAL)
    if rest:
        return how, f"no interval{rest}"
    return ("", one.method) if _NO_INTERVAL in one.method else (one.method, "no interval is made for it")


def _levels(value: Any) -> Iterator[float]:
    """The levels of all intervals in a value."""
    if isinstance(value, Estimate):
        if not isnan(value.low):
            yield value.level
        return
    names = fields_of(type(value))
    if names is not None:
        inner: Iterable[Any] = (getattr(value, name) for name in names)
    elif isinstance(value, Mapping):
        inner = value.values()
    else:
        inner = value if isinstance(value, (list, tuple)) else ()
    for one in inner:
        yield from _levels(one)


def _key(key: object) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
