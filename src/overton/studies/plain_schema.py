"""The JSON Schema of what a study's results look like, derived from their types as `plain` writes them."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from inspect import get_annotations, getdoc
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from overton.statistics import Estimate
from overton.studies.plain import fields_of, keys, shape_of

__all__ = ["schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REST = "additionalProperties"
_NUMBER: dict[str, Any] = {"type": ["number", "null"]}
_TEXT: dict[str, Any] = {"type": "string"}
_PLAIN: dict[type, dict[str, Any]] = {
    str: _TEXT,
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: _NUMBER,
    type(None): {"type": "null"},
}
_DEFINED: dict[str, dict[str, Any]] = {
    "variant": {
        "description": "One way to compute a measure. `why` says why there is no estimate or no interval; what belongs "
        "to this number only (a standard error, a test) stands beside.",
        "type": "object",
        "properties": {
            "estimate": _NUMBER,
            "interval": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
            "n": {"type": "integer"},
            "method": _TEXT,
            "why": {"type": ["string", "null"]},
        },
        "required": ["estimate", "interval", "n", "method", "why"],
    },
    "measure": {
        "description": "Variants by name; `leads` names the one to take.",
        "type": "object",
        "properties": {"leads": _TEXT, "plain": {"$ref": "#/$defs/variant"}},
        "required": ["leads", "plain"],
        _REST: {"$ref": "#/$defs/variant"},
    },
}


def schema(kind: type, study: str, version: int) -> dict[str, Any]:
    """The JSON Schema (2020-12) of `document(study, version, value)` for values of this type."""
    made = _Schemas()
    body = made.body(kind, ())
    head = {"study": {"const": study}, "schema": {"const": version}}
    return {
        "$schema": _DIALECT,
        "title": f"{study}, version {version}",
        **body,
        "properties": {**head, "level": {"type": "number"}, **body["properties"], **head},
        "required": list(dict.fromkeys([*head, *body["required"]])),
        "$defs": _DEFINED | made.defined,
    }


class _Schemas:
    """Schemas of types; those of structs are defined once, by name.

    `variants` are the names of the variants that stand beside a type's own numbers.
    """

    def __init__(self) -> None:
        self.defined: dict[str, dict[str, Any]] = {}

    def of(self, kind: Any, variants: tuple[str, ...] = ()) -> dict[str, Any]:
        """The schema of a type."""
        if kind in _PLAIN:
            return _PLAIN[kind]
        if kind is Estimate:
            return {"$ref": "#/$defs/measure"}
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (Union, types.UnionType):
            return {"anyOf": [self.of(one, variants) for one in inner]}
        if origin is not None and issubclass(origin, Mapping):
            return {"type": "object", _REST: self.of(inner[1], variants)}
        if origin is not None and issubclass(origin, Sequence):
            return self._list(inner, of_one_kind=origin is not tuple or inner[-1] is ...)
        if isinstance(kind, type) and fields_of(kind) is not None:
            return self._named(kind, variants)
        raise TypeError(f"{kind!r} is nothing that JSON can hold")

    def body(self, kind: type, variants: tuple[str, ...]) -> dict[str, Any]:
        """The schema of a struct or a named tuple, in full."""
        shape = shape_of(kind)
        if shape.measure:
            return self._measure(kind)
        properties: dict[str, Any] = {}
        required: list[str] = []
        rest: Any = False
        for key, name in keys(kind).items():
            beside = variants + tuple(one for one, held in shape.variants.items() if key in held)
            hint = _hint(kind, name)
            if key not in shape.flat:
                own = {key: self.of(hint, beside)} | self._beside(key, hint, beside)
                inner = {"properties": own, "required": [one for one in own if one not in shape.optional]}
            else:
                is_struct = isinstance(hint, type) and fields_of(hint) is not None
                inner = self.body(hint, beside) if is_struct else self.of(hint, beside)
            properties |= inner.get("properties", {})
            required += inner.get("required", [])
            rest = inner.get(_REST, rest) or rest
        about = {"description": text} if (text := getdoc(kind)) else {}
        return {**about, "type": "object", "properties": properties, "required": required, _REST: rest}

    def _beside(self, key: str, hint: Any, variants: tuple[str, ...]) -> dict[str, Any]:
        """Keys of their own for the variants of what is no measure and no object."""
        if not variants or _holds_numbers(hint):
            return {}
        return {f"{key}_{one}": {"anyOf": [self.of(hint), {"type": "null"}]} for one in variants}

    def _measure(self, kind: type) -> dict[str, Any]:
        own = {key: self.of(_hint(kind, name)) for key, name in keys(kind).items()}
        number = {"allOf": [{"$ref": "#/$defs/variant"}], "properties": own, "required": list(own)}
        return {"allOf": [{"$ref": "#/$defs/measure"}], "properties": {"plain": number}, "description": getdoc(kind)}

    def _named(self, kind: type, variants: tuple[str, ...]) -> dict[str, Any]:
        name = "_".join((kind.__name__, *variants))
        if name not in self.defined:
            self.defined[name] = {}  # a type may hold itself
            self.defined[name] = self.body(kind, variants)
        return {"$ref": f"#/$defs/{name}"}

    def _list(self, inner: tuple[Any, ...], *, of_one_kind: bool) -> dict[str, Any]:
        if of_one_kind:
            return {"type": "array", "items": self.of(inner[0])}
        parts = [self.of(one) for one in inner]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}


def _holds_numbers(hint: Any) -> bool:
    """Whether JSON writes a type as a measure or as an object, so that variants go into it."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(_holds_numbers(one) for one in get_args(hint))
    origin = get_origin(hint) or hint
    return isinstance(origin, type) and (issubclass(origin, Mapping) or fields_of(origin) is not None)


def _hint(kind: type, name: str) -> Any:
    """The type of a field, or what a property returns; only this one's, as others may not be known at run time."""
    found = getattr(kind, name, None)
    if isinstance(found, property) and found.fget is not None:
        return get_type_hints(found.fget)["return"]
    for base in kind.__mro__:
        own = get_annotations(base)
        if name in own:
            alone = {"__annotations__": {name: own[name]}, "__module__": base.__module__}
            return get_type_hints(type(base.__name__, (), alone))[name]
    raise TypeError(f"{kind.__name__} has no field or property {name}")
