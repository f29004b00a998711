"""A study's options as a user gives them, or what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from overton.errors import InputError, Problem

__all__ = ["options_of"]

_WHERE = re.compile(r"(?P<what>.*?)(?: - at `\$\.(?P<name>\w+).*)?")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`")


def options_of(kind: type[msgspec.Struct], given: Mapping[str, Any]) -> msgspec.Struct:
    """The options.

    Raises:
        InputError: one that there is not, or that cannot be what it is given as.
    """
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        raise InputError([_problem(kind, given, str(error))]) from None


def _problem(kind: type[msgspec.Struct], given: Mapping[str, Any], said: str) -> Problem:
    """What msgspec said, in the words of whoever gave the options."""
    if stranger := _UNKNOWN.match(said):
        known = ", ".join(kind.__struct_fields__)
        return Problem("options", stranger["name"], f"no such option; known are {known}")
    found = _WHERE.fullmatch(said)
    if found is None or found["name"] is None:
        return Problem("options", "", said)
    name, words = found["name"], _words(get_type_hints(kind)[found["name"]])
    if words and found["what"].startswith("Invalid enum value"):
        return Problem("options", f"{name} = {given[name]!r}", f"must be of {', '.join(words)}")
    return Problem("options", f"{name} = {given[name]!r}", _lowered(found["what"]))


def _words(hint: Any) -> list[str]:
    """The words that a type allows."""
    if get_origin(hint) is Literal:
        return [str(word) for word in get_args(hint)]
    return [word for part in get_args(hint) for word in _words(part)]


def _lowered(said: str) -> str:
    return said[:1].lower() + said[1:]
