"""A key that shows itself to nobody but the wire."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

__all__ = ["HIDDEN", "Secret"]

HIDDEN = "[hidden]"
_TELLING = 8  # characters of a key that give it away
_LONG = 16  # a shorter "key" ('EMPTY', 'token-abc') may well be an honest part of a reply


class Secret:
    """An API key, or none (falsy). Its repr, str and pickle do not give it away."""

    __slots__ = ("_value",)

    def __init__(self, value: str | None) -> None:
        self._value = value or ""

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN if self._value else 'none'})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    def reveal(self) -> str:
        """The key itself, for a request's header and nothing else."""
        return self._value

    def hide(self, text: str) -> str:
        """The text of an error without the key: whole, cut short after its first eight characters, or escaped."""
        if not self._value:
            return text
        for form in {self._value, quote(self._value, safe=""), json.dumps(self._value)[1:-1]}:
            text = text.replace(form, HIDDEN)
        if len(self._value) > _TELLING:
            text = re.sub(re.escape(self._value[:_TELLING]) + r"[^\s\"']*", HIDDEN, text)
        return text

    def hide_in_body(self, body: bytes) -> bytes:
        """The body of any reply without the key, lest a server that echoes it put it into the journal."""
        if len(self._value) < _LONG:
            return body
        key = self._value.encode()
        return body.replace(key, HIDDEN.encode()) if key in body else body
