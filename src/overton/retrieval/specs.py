"""What a search engine or a source of pages is called, and what its arguments may say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from overton.errors import InputError, Problem

__all__ = ["PAGE_FORMS", "SEARCH_FORMS", "Spec", "checked_base_url", "parse_spec", "read_arguments"]

SEARCH_FORMS = ("starter", "index/DIR", "archive/RUN", "google", "brave", "searxng/http://HOST:PORT")
PAGE_FORMS = ("starter", "index/DIR", "archive/RUN", "web")
_ALONE = {"starter", "google", "brave", "web"}


@dataclass(frozen=True)
class Spec:
    """A spec, taken apart: `kind` stands before the first slash, `rest` (a folder or an address) after it."""

    text: str
    kind: str
    rest: str


def parse_spec(text: str, forms: Sequence[str], place: str) -> Spec:
    """Take a spec apart; `place` is the option that it stands in, for errors.

    Raises:
        InputError: it has none of the forms; says which there are.
    """
    kind, slash, rest = text.partition("/")
    kinds = [form.partition("/")[0] for form in forms]
    known = f"known are {', '.join(forms)}"
    if not text.isprintable() or kind not in kinds:
        near = get_close_matches(kind.lower(), kinds, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise InputError([Problem(place, _shown(text), f"there is no such thing{hint} ({known})")])
    if bool(slash and rest) == (kind in _ALONE):
        raise InputError([Problem(place, _shown(text), f"write it in full ({known})")])
    return Spec(text, kind, rest)


def _shown(text: str) -> str:
    """The spec for a message: without what may be credentials in an address."""
    shown = re.sub(r"(?<=//).*@", "...@", text, flags=re.DOTALL)
    return "".join(character if character.isprintable() else "?" for character in shown)[:200]


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        value = int(text) if re.fullmatch(r"[0-9]{1,20}", text) else -1
        if not low <= value <= high:
            raise ValueError(f"'{text[:40]}' is not a whole number from {low:,} to {high:,}")
        return value

    return read


def _seconds(low: float, high: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ValueError(f"'{text[:40]}' is not a number of seconds from {low:g} to {high:g}")
        return value

    return read


def _agent(text: str) -> str:
    if not (re.fullmatch(r"[A-Za-z][A-Za-z_-]*(/[!-~]+)?( [ -~]+)?", text) and len(text) <= 256):
        raise ValueError("not an agent's name: write it like StudyBot/1.0 (+https://example.org/study)")
    return text


def _host(text: str) -> str:
    host = text.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")
    if not host or re.search(r"[\s/@?#\\]", host) or (":" in host and host.count(":") < 2):
        raise ValueError(f"'{text[:60]}' is not a host: give its name or IP address, without scheme or port")
    return host


def checked_base_url(url: str) -> str:
    """The URL without a trailing slash, if it can be a base URL.

    Raises:
        ValueError: it cannot; the reason names no part of the URL, which may hold credentials.
    """
    if "@" in url:
        raise ValueError("credentials do not belong in an address")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url or parts.query or parts.fragment:
        raise ValueError("not a base URL: write it like http://HOST:PORT")
    return url.rstrip("/")


Readers = Mapping[str, Callable[[str], Any]]

_COMMON: Readers = {"connections": _whole(1, 1_000)}
_SERVICE: Readers = {"base_url": checked_base_url, "timeout": _seconds(0.01, 600)}
_LIMITS: Readers = {
    "allow": _host,
    "max_bytes": _whole(1, 2**30),
    "timeout": _seconds(0.01, 600),
    "per_host": _whole(1, 64),
    "delay": _seconds(0, 60),
    "agent": _agent,
}
_OF_SEARCH: dict[str, Readers] = {"google": _SERVICE, "brave": _SERVICE, "searxng": {"timeout": _SERVICE["timeout"]}}
_OF_PAGES: dict[str, Readers] = {"web": _LIMITS, "archive": {"max_bytes": _LIMITS["max_bytes"]}}
_REPEATABLE = {"allow"}


def read_arguments(spec: Spec, args: Sequence[tuple[str, str]], *, searches: bool) -> dict[str, Any]:
    """Turn `(key, value)` pairs into checked values; a key that may be repeated gives a list.

    Raises:
        InputError: unknown keys, values out of range, keys given twice; all of them at once.
    """
    own = (_OF_SEARCH if searches else _OF_PAGES).get(spec.kind, {})
    known = {**_COMMON, **({"top": _whole(1, 100)} if searches else {}), **own}
    values: dict[str, Any] = {}
    problems = []
    for key, text in args:
        try:
            _take(values, known, key, text)
        except ValueError as error:
            problems.append(Problem(f"arguments of {_shown(spec.text)}", key, str(error)))
    if problems:
        raise InputError(problems)
    return values


def _take(values: dict[str, Any], known: Readers, key: str, text: str) -> None:
    if key not in known:
        near = get_close_matches(key, known, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ValueError(f"unknown{hint} (known: {', '.join(known)})")
    value = known[key](text)
    if key in _REPEATABLE:
        values.setdefault(key, []).append(value)
    elif key in values:
        raise ValueError("given twice")
    else:
        values[key] = value
