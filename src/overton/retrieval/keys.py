"""API keys, which show themselves to nobody but the wire."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from urllib.parse import quote

from overton.errors import InputError, Problem

__all__ = ["Key", "key_from"]

_HIDDEN = "[hidden]"


@dataclass(frozen=True)
class Key:
    """A key and the environment variable that it came from; empty where none is needed yet. Its repr has no value."""

    variable: str
    _value: str = field(repr=False)

    def reveal(self) -> str:
        """The key itself, for a request and nothing else."""
        return self._value

    def hide(self, text: str) -> str:
        """The text without the key, in whichever way it may be written there."""
        forms = {self._value, quote(self._value, safe=""), json.dumps(self._value)[1:-1]} - {""}
        for form in sorted(forms, key=len, reverse=True):
            text = text.replace(form, _HIDDEN)
        return text


def key_from(variable: str, place: str, *, needed: bool = True) -> Key:
    """The key in an environment variable; `place` is the spec that wants it, for errors.

    Raises:
        InputError: it is needed and not there, or cannot be one.
    """
    value = os.environ.get(variable, "").strip()
    if not value and needed:
        raise InputError([Problem("--search", place, f"no API key: set {variable} in the environment")])
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise InputError([Problem("environment", variable, "not a key: it holds spaces or characters no key has")])
    return Key(variable, value)
