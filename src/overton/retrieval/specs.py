"""What a search engine or a source of pages is called, and what its arguments may say."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any

from overton.errors import InputError, Problem
from overton.pairs import Reader, checked_base_url, number, values_of, whole

__all__ = ["PAGE_FORMS", "SEARCH_FORMS", "Spec", "parse_spec", "published", "read_arguments"]

SEARCH_FORMS = ("starter", "index/DIR", "archive/RUN", "google", "brave", "searxng/http://HOST:PORT")
PAGE_FORMS = ("starter", "index/DIR", "archive/RUN", "web")
_ALONE = {"starter", "google", "brave", "web"}
_FOLDERS = {"index", "archive"}


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


def published(spec: str) -> str:
    """The spec as others may read it: of a folder only its name, 'index/pages'."""
    kind, slash, rest = spec.partition("/")
    return f"{kind}/{PurePath(rest).name}" if slash and kind in _FOLDERS else spec


def _shown(text: str) -> str:
    """The spec for a message: without what may be credentials in an address."""
    shown = re.sub(r"(?<=//).*@", "...@", text, flags=re.DOTALL)
    return "".join(character if character.isprintable() else "?" for character in shown)[:200]


def _agent(text: str) -> str:
    if not (re.fullmatch(r"[A-Za-z][A-Za-z_-]*(/[!-~]+)?( [ -~]+)?", text) and len(text) <= 256):
        raise ValueError("not an agent's name: write it like StudyBot/1.0 (+https://example.org/study)")
    return text


def _host(text: str) -> str:
    host = text.strip().lower().removeprefix("[").removesuffix("]").rstrip(".")
    if not host or re.search(r"[\s/@?#\\]", host) or (":" in host and host.count(":") < 2):
        raise ValueError(f"'{text[:60]}' is not a host: give its name or IP address, without scheme or port")
    return host


Readers = Mapping[str, Reader]

_COMMON: Readers = {"connections": whole(1, 1_000)}
_SERVICE: Readers = {"base_url": checked_base_url, "timeout": number(0.01, 600, of="seconds")}
_LIMITS: Readers = {
    "allow": _host,
    "max_bytes": whole(1, 2**30),
    "timeout": number(0.01, 600, of="seconds"),
    "per_host": whole(1, 64),
    "delay": number(0, 60, of="seconds"),
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
    known = {**_COMMON, **({"top": whole(1, 100)} if searches else {}), **own}
    values, problems = values_of(args, known, f"arguments of {_shown(spec.text)}", repeatable=_REPEATABLE)
    if problems:
        raise InputError(problems)
    return values
