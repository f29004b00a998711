"""A study's results as JSON, with one format for numbers, and the JSON Schema of the results.

A *measure* is an object of named variants, and `leads` names the one that a reader should use:

    {"leads": "plain", "plain": {"estimate": 0.4, "interval": [0.3, 0.5], "n": 12, "method": "...", "why": null}}

plain             as observed; if it depends on a judge, from the judge's labels alone
corrected         corrected with human labels for some of the judged units
labelled          from only the units with human labels
letter_balanced   from answers whose label and position bias are set to zero
without_faults    without malformed replies (`overton.judging.FAULTS`)
as_published      by the paper's formula, if that is different
cross_fitted      from halves of the answers, so that chance does not raise it

`undetermined` lists the limits ('low', 'high') that the data do not determine. Such a limit lies at the end of the
measure's range. Without such limits, the key is absent. `why` is the reason for a missing estimate or interval, and
null if neither is missing. `method` describes how the estimate and the interval were computed, and may be empty.
Results that belong to one variant only (a standard error, a test) are in the object of that variant. The intervals'
`level`, the `resamples` and the `seed` appear once, at the start of a document.

The other keys follow from the types of the results: each struct becomes an object with a key for each field. A struct
with a different JSON format declares it in an attribute `SHAPE`. The JSON Schema also follows from types and `SHAPE`.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from inspect import get_annotations, getdoc
from math import isfinite, isnan
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from overton.statistics import NO_INTERVAL, NOT_COMPUTED, Estimate, PreferredEstimate

SCHEMA = 1
"""The version of documents without a table of estimates, such as plans and agreements."""

TABLE_SCHEMA = 2
"""The version of documents whose numbers are rows of one table: analyses and comparisons."""

_NO_INTERVAL = ": no interval"


@dataclass(frozen=True)
class Shape:
    """The differences between the JSON of a struct (or a named tuple) and its fields.

    also     keys whose names differ from those of their fields or properties. A key replaces a field of the same name
    without  fields that are not written
    leads    whether the struct is one measure. Its estimates are then the variants, and its field `leads` names the
             preferred one. Estimates that are None are left out
    """

    also: Mapping[str, str] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    leads: bool = False


@cache
def _shape_of(kind: type) -> Shape:
    declared = getattr(kind, "SHAPE", None)
    return declared if isinstance(declared, Shape) else Shape()


@cache
def _fields_of(kind: type) -> tuple[str, ...] | None:
    """The names of a struct's or a named tuple's fields; None for any other type."""
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    named: tuple[str, ...] | None = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
    return named


@cache
def _keys(kind: type) -> dict[str, str]:
    """The keys of a type's JSON in order, each with the field or property behind it."""
    shape = _shape_of(kind)
    elsewhere = {*shape.without, *shape.also.values()}
    return {name: name for name in _fields_of(kind) or () if name not in elsewhere} | dict(shape.also)


def plain(value: Any) -> Any:
    """Convert `value` to dictionaries with text keys, lists, strings and numbers; numbers that are not finite become
    null."""
    if value is None or isinstance(value, str | int):
        return value  # first, because most values are of these types
    if isinstance(value, float):
        return float(value) if isfinite(value) else None
    if isinstance(value, Estimate):
        return _measure(value)
    kind: type = type(value)
    if _fields_of(kind) is not None:
        return _object(value)
    if isinstance(value, Mapping):
        return {
            "/".join(map(str, key)) if isinstance(key, tuple) else str(key): plain(inner)
            for key, inner in value.items()
        }
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [plain(inner) for inner in value]
    return value


def document(
    study: str, schema: int, value: Any, *, without: Iterable[str] = (), beside: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Convert a struct to a document that names its study and its schema's version. Keys and tables in `without` are
    left out.

    The contents of `beside` precede the struct's own keys. If the struct does not state the level of intervals, and all
    intervals have the same level, the document states it at the start.
    """
    left_out = set(without)
    own = {name: inner for name, inner in plain(value).items() if name not in left_out}
    if left_out and isinstance(tables := own.get("tables"), dict):
        own["tables"] = {name: rows for name, rows in tables.items() if name not in left_out}
    levels: set[float] = set() if "level" in own else set(_levels(value))
    level = {"level": levels.pop()} if len(levels) == 1 else {}
    return {"study": study, "schema": schema, **level, **plain(beside or {}), **own}


def _object(value: Any) -> dict[str, Any]:
    kind: type = type(value)
    shape = _shape_of(kind)
    if shape.leads:
        variants = {name: getattr(value, name) for name in _keys(kind)}
        return {
            name: inner if name == "leads" else number_of(inner)
            for name, inner in variants.items()
            if inner is not None
        }
    return {key: plain(getattr(value, name)) for key, name in _keys(kind).items()}


def _measure(estimate: Estimate) -> dict[str, Any]:
    if isinstance(estimate, PreferredEstimate):
        return {"leads": estimate.leads, **{name: number_of(variant) for name, variant in estimate.beside.items()}}
    return {"leads": "plain", "plain": number_of(estimate)}


def number_of(estimate: Estimate) -> dict[str, Any]:
    """An estimate as a variant of a measure."""
    method, why = _method_and_reason(estimate)
    return {
        "estimate": plain(estimate.value),
        **interval_of(estimate),
        "n": estimate.n,
        "method": method,
        "why": why,
    }


def interval_of(estimate: Estimate) -> dict[str, Any]:
    """An estimate's interval, and those limits that the data do not determine."""
    undetermined = {"undetermined": list(estimate.undetermined)} if estimate.undetermined else {}
    return {"interval": [plain(estimate.low), plain(estimate.high)], **undetermined}


def _method_and_reason(estimate: Estimate) -> tuple[str, str | None]:
    """The method of a number, and the reason why it or its interval is missing. `Estimate.method` contains one or
    both."""
    if not isfinite(estimate.value):
        return "", estimate.method.removeprefix(NOT_COMPUTED) or "the data do not determine it"
    if isfinite(estimate.low) and isfinite(estimate.high):
        return estimate.method, None
    if not (isnan(estimate.low) or isnan(estimate.high)):
        return estimate.method, "the interval has no limit"
    if estimate.method.startswith(NO_INTERVAL):
        return "", estimate.method
    how, _, rest = estimate.method.partition(_NO_INTERVAL)
    if rest:
        return how, f"no interval{rest}"
    return ("", estimate.method) if _NO_INTERVAL in estimate.method else (estimate.method, "no interval is made for it")


def _levels(value: Any) -> Iterator[float]:
    if isinstance(value, Estimate):
        if not isnan(value.low):
            yield value.level
        return
    kind: type = type(value)
    names = _fields_of(kind)
    if names is not None:
        inner: Iterable[Any] = (getattr(value, name) for name in names)
    elif isinstance(value, Mapping):
        inner = value.values()
    else:
        inner = value if isinstance(value, (list, tuple)) else ()
    for member in inner:
        yield from _levels(member)


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MORE_KEYS = "additionalProperties"
_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_TEXT: dict[str, Any] = {"type": "string"}
_PLAIN_SCHEMAS: dict[type, dict[str, Any]] = {
    str: _TEXT,
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: _NUMBER,
    type(None): {"type": "null"},
}
_SHARED_SCHEMAS: dict[str, dict[str, Any]] = {
    "variant": {
        "description": (
            "One way to compute a measure. `why` is the reason for a missing estimate or interval. Further keys"
            " have values that belong only to this variant, such as a standard error or a test."
        ),
        "type": "object",
        "properties": {
            "estimate": _NUMBER,
            "interval": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
            "undetermined": {
                "description": "Limits that the data do not determine. They are at the end of the measure's range.",
                "type": "array",
                "items": {"enum": ["low", "high"]},
            },
            "n": {"type": "integer"},
            "method": _TEXT,
            "why": {"type": ["string", "null"]},
        },
        "required": ["estimate", "interval", "n", "method", "why"],
    },
    "measure": {
        "description": "Variants by name; `leads` names the one to use.",
        "type": "object",
        "properties": {"leads": _TEXT, "plain": {"$ref": "#/$defs/variant"}},
        "required": ["leads", "plain"],
        _MORE_KEYS: {"$ref": "#/$defs/variant"},
    },
}


def schema(kind: type, study: str, version: int, beside: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The JSON Schema (2020-12) of `document(study, version, value)` for values of this type; `beside` has the types of
    further keys."""
    made = _Schemas()
    body = made.body(kind)
    head = {"study": {"const": study}, "schema": {"const": version}}
    also = {name: made.of(key_type) for name, key_type in (beside or {}).items()}
    return {
        "$schema": _DIALECT,
        "title": f"{study}, version {version}",
        **body,
        "properties": {**head, "level": {"type": "number"}, **also, **body["properties"], **head},
        "required": list(dict.fromkeys([*head, *also, *body["required"]])),
        "$defs": _SHARED_SCHEMAS | made.defined,
    }


def with_key(made: dict[str, Any], key: str, kind: Any) -> dict[str, Any]:
    """Extend a schema made by `schema`: documents may have one more key, with values of this type."""
    schemas = _Schemas()
    more = {key: schemas.of(kind)}
    return {**made, "properties": made["properties"] | more, "$defs": made["$defs"] | schemas.defined}


class _Schemas:
    """Schemas of types; those of structs are defined once, by name."""

    def __init__(self) -> None:
        self.defined: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type."""
        if kind in _PLAIN_SCHEMAS:
            return _PLAIN_SCHEMAS[kind]
        if kind is Estimate:
            return {"$ref": "#/$defs/measure"}
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(option) for option in inner]}
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", _MORE_KEYS: self.of(inner[1])}
        if origin is not None and issubclass(origin, Sequence):
            return self._list(inner, of_one_kind=origin is not tuple or inner[-1] is ...)
        if isinstance(kind, type) and _fields_of(kind) is not None:
            return self._reference_to(kind)
        raise TypeError(f"{kind!r} cannot be written as JSON")

    def body(self, kind: type) -> dict[str, Any]:
        """The schema of a struct or a named tuple, in full."""
        if _shape_of(kind).leads:
            return {"allOf": [{"$ref": "#/$defs/measure"}], "description": getdoc(kind)}
        properties = {key: self.of(_field_type(kind, name)) for key, name in _keys(kind).items()}
        about = {"description": text} if (text := getdoc(kind)) else {}
        return {**about, "type": "object", "properties": properties, "required": list(properties), _MORE_KEYS: False}

    def _reference_to(self, kind: type) -> dict[str, Any]:
        name = kind.__name__
        if name not in self.defined:
            self.defined[name] = {}  # a type may contain itself
            self.defined[name] = self.body(kind)
        return {"$ref": f"#/$defs/{name}"}

    def _list(self, inner: tuple[Any, ...], *, of_one_kind: bool) -> dict[str, Any]:
        if of_one_kind:
            return {"type": "array", "items": self.of(inner[0])}
        parts = [self.of(member) for member in inner]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}


def _field_type(kind: type, name: str) -> Any:
    """The type of a field or property. The types of other fields are not resolved, because they may be unknown at run
    time."""
    found = getattr(kind, name, None)
    if isinstance(found, property) and found.fget is not None:
        return get_type_hints(found.fget)["return"]
    for base in kind.__mro__:
        own = get_annotations(base)
        if name in own:
            alone = {"__annotations__": {name: own[name]}, "__module__": base.__module__}
            return get_type_hints(type(base.__name__, (), alone))[name]
    raise TypeError(f"{kind.__name__} has no field or property {name}")
