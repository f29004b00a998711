"""Removing names and identifiers from what people wrote: documented patterns, each with the words that replace it.

Removed are e-mail addresses; links to any page of a social site (accounts, single posts), and links with credentials;
account names such as 'u/name' and '@name'; phone numbers and numbers in the form of US social security numbers; IPv4
addresses; and the names of the thread's own accounts, if they stand alone and look like account names. Links to other
pages stay, and so do people's names, which no pattern can distinguish from other words: 'my sister Anna' is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Literal

Kind = Literal["e-mail", "link", "account", "phone", "number", "computer"]

_PLACEHOLDERS: dict[Kind, str] = {
    "e-mail": "[email]",
    "link": "[link]",
    "account": "[user]",
    "phone": "[phone]",
    "number": "[number]",
    "computer": "[address]",
}
"""What replaces each kind."""

_SOCIAL = (
    r"(?:[\w-]{1,63}\.){0,5}(?:reddit|redd|twitter|x|facebook|fb|instagram|tiktok|linkedin|snapchat|tumblr|pinterest|threads"
    r"|t|discord|discordapp|twitch|patreon|onlyfans|venmo|cash|gofundme|paypal|keybase|steamcommunity|telegram)"
    r"\.(?:com|it|net|me|gg|tv|app)"
)
_END = r"[^\s<>\[\]()\"']"

_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    # A link with credentials, to a page of a social site, or to a path that starts with '@name'.
    ("link", re.compile(rf"\bhttps?://[^\s/@<>]{{1,200}}@{_END}{{1,2000}}", re.IGNORECASE)),
    ("link", re.compile(rf"(?<![\w@.-])(?:https?://)?{_SOCIAL}/{_END}{{1,2000}}", re.IGNORECASE)),
    ("link", re.compile(rf"\bhttps?://[\w.:-]{{1,255}}/@{_END}{{1,2000}}", re.IGNORECASE)),
    ("e-mail", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}(?![\w@])")),
    # '/u/name' and 'u/name' and '/user/name'; not the 'u/' of a longer path.
    ("account", re.compile(r"(?<![\w/.:])/?(?:u|user)/[A-Za-z0-9_-]{3,20}(?![\w-])", re.IGNORECASE)),
    ("account", re.compile(r"(?<![\w@./+-])@[A-Za-z_][\w]{1,29}(?!\w)")),
    ("number", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])")),
    # +49 30 1234567; (555) 123-4567, 555-123-4567, 1-800-555-0199; 07700 900123.
    ("phone", re.compile(r"(?<![\w+])\+\d(?:[ .()-]{0,2}\d){7,14}(?!\d)")),
    ("phone", re.compile(r"(?<![\w.-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-])")),
    ("phone", re.compile(r"(?<![\w.,-])0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}(?![\w-])")),
    (
        "computer",
        re.compile(r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.]*\d)"),
    ),
)

_COMMON_NAME = re.compile(r"[A-Za-z]?[a-z]*")
_SHORTEST = 5


class Remover:
    """Removes identifiers from one text after another; `removed` counts them by kind."""

    def __init__(self) -> None:
        self.removed: Counter[Kind] = Counter()

    def clean(self, text: str, accounts: Iterable[str] = ()) -> str:
        """The text without them. `accounts` are the names of the thread's accounts.

        An account's name alone is removed if it cannot be a plain word: five characters or more, including a digit, an
        underscore, a hyphen, or a capital after the first letter.
        """
        for kind, pattern in _PATTERNS:
            text, count = pattern.subn(_PLACEHOLDERS[kind], text)
            self.removed[kind] += count
        names = sorted({name for name in accounts if _is_distinctive(name)}, key=len, reverse=True)
        if names:
            alone = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
            text, count = alone.subn(_PLACEHOLDERS["account"], text)
            self.removed["account"] += count
        return text


def _is_distinctive(name: str) -> bool:
    return len(name) >= _SHORTEST and not _COMMON_NAME.fullmatch(name)
