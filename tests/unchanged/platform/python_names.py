"""Names that Python users import, with signatures and fields, and the errors that they catch."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any

import msgspec

import overton
from overton import errors

__all__ = ["error_classes", "kind_words", "package_names"]

_DOORS = ("overton.items", "overton.judge", "overton.corpus", "overton.models", "overton.calls", "overton.testing")
_KNOWN = {*dir(builtins), "Any", "Callable", "Iterable", "Iterator", "Literal", "Mapping", "Path", "Sequence"}
"""Words of an annotation that are not names of Overton; those may change."""
_WORD = re.compile(r"'[^']*'|[A-Za-z_][\w.]*")


def package_names(scratch: Path) -> dict[str, Any]:
    """Every name that `dir` lists in the package and its parts, with its signature or its fields."""
    found = {"overton": {name: _described(getattr(overton, name)) for name in dir(overton) if name != "__version__"}}
    for door in _DOORS:
        module = import_module(door)
        names = sorted({*module.__all__, *(one for one in dir(module) if door in ("overton.items", "overton.judge"))})
        found[door] = {name: _described(getattr(module, name)) for name in names if not name.startswith("_")}
    return found


def _described(value: Any) -> Any:
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return {"class": _fields(value), "members": _members(value)}
    if callable(value):
        return {"call": _signature(value)}
    if isinstance(value, tuple):
        return [getattr(one, "__name__", repr(one)) for one in value]
    return f"a value: {type(value).__name__ if type(value).__module__ == 'builtins' else 'of another kind'}"


def _signature(function: Any) -> dict[str, Any]:
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    return {
        one.name: [one.kind.description, _annotation(one.annotation), _default(one.default)]
        for one in taken
        if one.name != "self"
    }


def _fields(kind: type) -> Any:
    """Name, annotation and default of each field, in order; of a class without fields, how it is called."""
    if dataclasses.is_dataclass(kind):
        return {one.name: [_annotation(one.type), _made(one)] for one in dataclasses.fields(kind)}
    if issubclass(kind, msgspec.Struct):
        hints = kind.__annotations__
        return {one.name: [_annotation(hints.get(one.name, "")), _made(one)] for one in msgspec.structs.fields(kind)}
    return "protocol" if getattr(kind, "_is_protocol", False) else _signature(kind)


def _made(field: Any) -> str:
    empty = (dataclasses.MISSING, msgspec.NODEFAULT)
    if field.default not in empty:
        return _default(field.default)
    return "none" if field.default_factory in empty else f"= {field.default_factory()!r}"


def _members(kind: type) -> dict[str, Any]:
    """The public methods and properties that a class of Overton defines."""
    found: dict[str, Any] = {}
    for name, value in sorted(vars(kind).items()):
        plain = getattr(value, "__func__", value)
        if name.startswith("_"):
            continue
        if inspect.isfunction(plain):
            found[name] = _signature(plain)
        elif isinstance(value, property):
            found[name] = "property"
    return found


def _default(value: Any) -> str:
    if value is inspect.Parameter.empty:
        return "none"
    return f"= {value!r}" if isinstance(value, bool | int | float | str | tuple | NoneType) else "= a value"


def _annotation(annotation: Any) -> str:
    """The text of an annotation, with `~` for each name that may change."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    if annotation is inspect.Parameter.empty:
        return ""
    text = re.sub(r"Annotated\[(\w+), .*\]", r"\1", text.replace("builtins.", ""))
    return _WORD.sub(lambda found: found[0] if _is_known(found[0]) else "~", text)


def _is_known(word: str) -> bool:
    return word.startswith("'") or word.rpartition(".")[2] in _KNOWN


def error_classes(scratch: Path) -> dict[str, Any]:
    """The classes of errors: names, bases by which they are caught, and signatures."""
    names = sorted(name for name, value in vars(errors).items() if inspect.isclass(value) and name in errors.__all__)
    return {
        name: {
            "bases": [one.__name__ for one in getattr(errors, name).__mro__[1:] if one is not object],
            **_described(getattr(errors, name)),
        }
        for name in names
    } | {"functions": {name: _signature(getattr(errors, name)) for name in ("command", "quoted", "reason_of")}}


_KINDS = {*("AccessError", "CallFailed", "Failure", "RejectedError", "UnavailableError"), "refused", "unavailable"}
"""Errors and failures whose first argument is a kind, and the functions that make them for search engines."""
_MAKES = re.compile(rf"\b({'|'.join(sorted(_KINDS))})\(")


def kind_words(scratch: Path) -> dict[str, Any]:
    """The words that tables have for kinds of failure, and Overton's own names in logs, as spelled in the source."""
    sources = [path.read_text("utf-8") for path in sorted(Path(overton.__file__).parent.rglob("*.py"))]
    trees = [ast.parse(text) for text in sources if _MAKES.search(text)]
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args)
    return {
        "kinds": {text: True for call in nodes if _called(call) in _KINDS for text in _texts(call.args[0])},
        "in logs": {name: any(f'"{name}"' in text for text in sources) for name in _IN_LOGS},
    }


_IN_LOGS = ("overton", "overton:calls", "overton/figures", "overton_form", "overton_spots", "records", "condition")


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _texts(argument: ast.expr) -> Iterator[str]:
    """The texts that an expression may be: a constant, or either side of a choice."""
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        yield argument.value
    elif isinstance(argument, ast.IfExp):
        yield from (*_texts(argument.body), *_texts(argument.orelse))
