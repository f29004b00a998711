"""A writer of TOML. The standard library can only read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDEST = 100
"""The most characters of a list that is written on one line."""


def toml_text(values: Mapping[str, Any]) -> str:
    """A table as TOML text. Values may be strings, numbers, truth values, and lists and tables of such values."""
    return "\n".join(_lines(values, ())) + "\n"


def _lines(values: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    """The lines of a table: first its own values, then the tables in it."""
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    plain = {key: value for key, value in values.items() if key not in tables}
    if above and (plain or not tables):
        yield ""
        yield f"[{'.'.join(map(_key, above))}]"
    for key, value in plain.items():
        yield f"{_key(key)} = {_value(value)}"
    for key, table in tables.items():
        yield from _lines(table, (*above, key))


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        inner = [_value(member) for member in value]
        line = f"[{', '.join(inner)}]"
        return (
            line
            if len(line) <= _WIDEST or len(inner) == 1
            else "[\n" + "".join(f"  {member},\n" for member in inner) + "]"
        )
    return _string(value) if isinstance(value, str) else repr(value)


def _string(text: str) -> str:
    """A value as a TOML basic string. JSON's escapes are valid in TOML. One further character has to be escaped in
    TOML."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
