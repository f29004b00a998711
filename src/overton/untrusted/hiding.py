"""Texts of others without our keys: a server may echo the key that it was sent, in whatever way it writes texts."""

from __future__ import annotations

import re

__all__ = ["HIDDEN", "Hiding"]

HIDDEN = "[hidden]"
_TELLING = 8  # characters of a key that give it away
_LONG = 16  # a shorter "key" ('EMPTY', 'token-abc') may well be an honest part of a reply
_MOST_SLASHES = 8  # of texts within texts, each escaped anew


class Hiding:
    """Takes one key out of texts, however it is written there: as it is, with JSON's escapes, also of a text within a
    text ('\\\\u0041', '\\\\\\\\/'), or as in an address ('%41')."""

    __slots__ = ("_begun", "_key", "_whole")

    def __init__(self, key: str) -> None:
        self._key = key
        self._whole = re.compile("".join(map(_spelled, key)))
        begun = "".join(map(_spelled, key[:_TELLING])) + r"[^\s\"']*"
        self._begun = re.compile(begun) if len(key) > _TELLING else self._whole

    def in_reply(self, text: str) -> str:
        """The text of a reply without the whole key; unchanged where the key is so short that it may be an honest
        part of it."""
        return self._whole.sub(HIDDEN, text) if self.may_be_in(text) else text

    def may_be_in(self, text: str) -> bool:
        """Whether `in_reply` has to look at the text, which is quickly told."""
        return len(self._key) >= _LONG and (self._key in text or _may_be_escaped(text))

    def in_message(self, text: str) -> str:
        """The text of an error without the key: whole, or cut short after its first eight characters."""
        return self._begun.sub(HIDDEN, self._whole.sub(HIDDEN, text)) if self._key else text


_IN_ADDRESSES = re.compile("%[2-7][0-9A-Fa-f]")


def _may_be_escaped(text: str) -> bool:
    if "\\" in text and ("\\u00" in text or "\\/" in text):
        return True
    return "%" in text and _IN_ADDRESSES.search(text) is not None


def _spelled(character: str) -> str:
    r"""A pattern for one character of a key: 'A', '\u0041', '%41', each with what escapes it once more."""
    code = ord(character)
    number = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in f"{code:02x}")
    return rf"(?:\\{{0,{_MOST_SLASHES}}}(?:{re.escape(character)}|(?<=\\)u00{number})|%{number})"
