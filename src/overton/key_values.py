"""KEY=VALUE: the syntax of all settings that users write, parsed and checked in one place."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from overton.errors import InputError, Problem, quoted, suggestion

__all__ = [
    "Given",
    "Reader",
    "address_of",
    "authority",
    "by_key",
    "checked_base_url",
    "number",
    "pair_of",
    "pairs_of",
    "path_of",
    "values_of",
    "whole",
    "without_credentials",
]

Pairs = Sequence[tuple[str, str]]
"""Keys and values in the order given; a key may occur several times."""
Given = Mapping[str, str | Sequence[str]]
"""Values by key; a list of values repeats the key."""
Reader = Callable[[str], Any]
"""A function that converts a word to a value. It raises `ValueError` with the reason if the word cannot be
converted."""


def pair_of(word: str, place: str, form: str = "KEY=VALUE") -> tuple[str, str]:
    """Split one word into key and value.

    Raises:
        InputError: the text is not KEY=VALUE. The message names `place`, where the text was given, and `form`, the
            right syntax.
    """
    key, equals, value = word.partition("=")
    if not key or not equals:
        raise InputError([Problem(place, word, f"must be {form}")])
    return key, value


def by_key(words: Iterable[str], place: str, form: str = "KEY=VALUE") -> dict[str, list[str]]:
    """Values by key, in the order given. Raises `InputError` as `pair_of` does."""
    found: dict[str, list[str]] = {}
    for key, value in (pair_of(word, place, form) for word in words):
        found.setdefault(key, []).append(value)
    return found


def pairs_of(given: Given) -> list[tuple[str, str]]:
    """Pairs of values by key."""
    return [
        (key, str(value))
        for key, values in given.items()
        for value in ([values] if isinstance(values, str | int | float) else values)
    ]


def values_of(
    pairs: Pairs,
    known: Mapping[str, Reader],
    place: str,
    *,
    fields: Mapping[str, Callable[[str], Reader]] | None = None,
    repeatable: Collection[str] = (),
    whose: str = "",
) -> tuple[dict[str, Any], list[Problem]]:
    """Convert pairs to values by key. Return the values, and all problems found.

    `known` maps each key to the function that reads its value. `fields` is for keys of the form PREFIX.FIELD. It maps a
    PREFIX to a function that takes FIELD and returns the function that reads the value. A `repeatable` key has a list
    of values. Any other key may occur once. The error about an unknown key includes `whose`, the name of the settings'
    owner ('openai models').
    """
    values: dict[str, Any] = {}
    problems = []
    for key, text in pairs:
        try:
            value = _find_reader(key, known, fields or {}, whose)(text)
            if key in repeatable:
                values.setdefault(key, []).append(value)
            elif key in values:
                raise ValueError("given twice")
            else:
                values[key] = value
        except ValueError as error:
            problems.append(Problem(place, key, str(error)))
    return values, problems


def _find_reader(
    key: str, known: Mapping[str, Reader], fields: Mapping[str, Callable[[str], Reader]], whose: str
) -> Reader:
    if key in known:
        return known[key]
    prefix, dot, field = key.partition(".")
    if dot and prefix in fields:
        return fields[prefix](field)
    names = ", ".join([*known, *(f"{prefix}.FIELD" for prefix in fields)])
    raise ValueError(f"unknown{f' for {whose}' if whose else ''}{suggestion(key, known)} (known: {names})")


def number(low: float, high: float, *, above: bool = False, of: str = "") -> Callable[[str], float]:
    """Return a reader for numbers from `low` to `high`. With `above`, `low` itself is excluded. `of` is the
    numbers' unit, for error messages ('seconds')."""

    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (low < value if above else low <= value) or not value <= high:
            unit = f" of {of}" if of else ""
            limits = f"above {low:g} and at most {high:g}" if above else f"from {low:g} to {high:g}"
            raise ValueError(f"'{text[:40]}' is not a number{unit} {limits}")
        return value

    return read


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a reader for whole numbers from `low` to `high`."""

    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,20}", text) else -1
        if not low <= value <= high:
            raise ValueError(f"'{text[:40]}' is not a whole number from {low:,} to {high:,}")
        return value

    return read


_MAX_PATH_CHARACTERS = 32_767
"""The longest path that Windows allows, in characters; other systems allow fewer."""


def path_of(word: str, place: str) -> Path:
    """The path that a word names, with `~` and `~USER` expanded.

    Raises:
        InputError: no file can have that name. `place` is the option or setting with the path.
    """
    try:
        if len(word) > _MAX_PATH_CHARACTERS:
            raise ValueError("no system allows paths this long")
        path = Path(word).expanduser()
        path.resolve().exists()
    except (RuntimeError, ValueError, OSError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise InputError([Problem(place, quoted(word), f"is not a path: {reason}")]) from None
    return path


def address_of(url: str) -> str:
    """The normalised form of a base URL, for comparison and display: SCHEME://HOST[:PORT]/PATH. The host is in
    lower-case ASCII, so that a host with look-alike letters is recognisable ('xn--...'). The scheme's default port is
    omitted."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{authority(parts, usual=usual)}{parts.path.rstrip('/')}"


def authority(parts: SplitResult, *, usual: int | None = None) -> str:
    """HOST[:PORT] of a URL, as in a Host header. The host is in ASCII, and an IPv6 address is in brackets. The port is
    omitted if it is the `usual` one."""
    host = (parts.hostname or "").encode("ascii", "xmlcharrefreplace").decode()
    with suppress(UnicodeError):  # no such name could be looked up
        host = (parts.hostname or "").encode("idna").decode()
    port = "" if parts.port in (None, usual) else f":{parts.port}"
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"


_QUERY = re.compile(r"(?<=\?)[^#]+")


def without_credentials(text: str) -> str:
    """`text` without credentials, for a message. If `text` contains an address, the parts before an '@' and after a '?'
    are omitted."""
    before, slashes, address = text.partition("//")
    if not slashes:
        return text
    credentials, at, host = address.rpartition("@")
    return _QUERY.sub("...", f"{before}//{'...' if at else credentials}{at}{host}")


_HOST = re.compile(r"""\[[^\[\]v]*:[^\[\]]*\](:\d*)?|[^\[\]\\%<>^`{|}"]+""")
"""A host with or without a port, without characters that URL parsers interpret in different ways (RFC 3986, 3.2.2)."""


def checked_base_url(url: str) -> str:
    """The URL without a trailing slash, if it can be a base URL.

    Raises:
        ValueError: the URL cannot be used. The reason quotes no part of the URL, because it may contain credentials.
    """
    if "@" in url:
        raise ValueError("credentials do not belong in a URL: put the key in an environment variable")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        usable = usable and _HOST.fullmatch(parts.netloc) is not None
        (parts.hostname or "").encode("idna")
    except ValueError:  # also raised if the host is not a possible name
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise ValueError("not a base URL: write it like http://host:port/v1")
    if parts.query or parts.fragment:
        raise ValueError("a base URL has no '?' or '#': write it like http://host:port/v1")
    return url.rstrip("/")
