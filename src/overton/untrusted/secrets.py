"""Removal of API keys from foreign texts. A server may echo the key that it was sent, in any notation."""

from __future__ import annotations

import re

HIDDEN = "[hidden]"
_TELLING_CHARACTERS = 8  # this many characters reveal a key
_MIN_KEY_CHARACTERS = 16  # a shorter "key" ('EMPTY', 'token-abc') may be a legitimate part of a reply
_MAX_SLASHES = 8  # of nested texts, each escaped again


class ApiKey:
    """An API key, and the environment variable from which it came. The object is false if there is no key. Its repr and
    str do not show the key, and it cannot be pickled.

    The key is removed from texts in any notation. It may be written plainly, with JSON's escapes, with the escapes of a
    JSON text within a JSON text ('\\\\u0041', '\\\\\\\\/'), or as in an address ('%41').
    """

    __slots__ = ("_start", "_value", "_whole", "variable")

    def __init__(self, value: str | None, variable: str = "") -> None:
        self.variable = variable
        self._value = value or ""
        self._whole = re.compile("".join(map(_spelling_pattern, self._value)))
        start = "".join(map(_spelling_pattern, self._value[:_TELLING_CHARACTERS])) + r"[^\s\"']*"
        self._start = re.compile(start) if len(self._value) > _TELLING_CHARACTERS else self._whole

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"ApiKey({HIDDEN if self._value else 'none'})"

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    def reveal(self) -> str:
        """The key itself, for a request's header and nothing else."""
        return self._value

    def hide(self, text: str) -> str:
        """The text of an error without the key. A part of the key is also removed if it starts with the key's first
        eight characters."""
        return self._start.sub(HIDDEN, self._whole.sub(HIDDEN, text)) if self._value else text

    def hide_in_reply(self, text: str) -> str:
        """The text of a reply without the key. If the key is so short that a reply may contain it by chance, the reply
        stays unchanged."""
        return self._whole.sub(HIDDEN, text) if self.may_be_in(text) else text

    def may_be_in(self, text: str) -> bool:
        """Whether `hide_in_reply` has to process the text. This check is quick, and may be true even if the text does
        not contain the key."""
        return len(self._value) >= _MIN_KEY_CHARACTERS and (self._value in text or _may_be_escaped(text))


_PERCENT_ESCAPE = re.compile("%[2-7][0-9A-Fa-f]")


def _may_be_escaped(text: str) -> bool:
    if "\\" in text and ("\\u00" in text or "\\/" in text):
        return True
    return "%" in text and _PERCENT_ESCAPE.search(text) is not None


def _spelling_pattern(character: str) -> str:
    r"""A pattern for one character of a key: 'A', '\u0041', '%41', each possibly escaped again."""
    code = ord(character)
    number = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    return rf"(?:\\{{0,{_MAX_SLASHES}}}(?:{re.escape(character)}|(?<=\\)u00{number})|%{number})"
