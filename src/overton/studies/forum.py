"""The contents of a forum: posts and the comments below them, with the field names of Reddit's dumps and API."""

from __future__ import annotations

import re
from math import isfinite
from typing import Literal

import msgspec

_BOT = re.compile(r"(?i:automoderator|judge?ment_bot.*|aita_?mod.*|.*-modteam|.*[_-]bot)|.*[a-z]Bot")
_GONE = re.compile(r"\W*(?P<how>deleted|removed)(?:\s+by\s+[\w\s]{1,30})?\W*", re.IGNORECASE)


class Post(msgspec.Struct, frozen=True, gc=False):
    """A submission. Texts are as received, with escapes; `plain` makes them readable.

    `created_utc` is in seconds since 1970, as a number or, in old dumps, as text. `flair` is the label that authors or
    moderators gave the post. `removed_by_category` names who removed the post, None if it was not removed.
    """

    id: str
    title: str
    created_utc: int | float | str
    text: str | None = msgspec.field(name="selftext", default=None)
    author: str | None = None
    flair: str | None = msgspec.field(name="link_flair_text", default=None)
    score: int | float | None = None
    distinguished: str | None = None
    stickied: bool | None = None
    removed_by_category: str | None = None
    subreddit: str | None = None


class Comment(msgspec.Struct, frozen=True, gc=False):
    """A comment. `link_id` names its post. `parent_id` names what the comment answers: 't3_' and a post's id, or 't1_'
    and a comment's id.

    In some archives `parent_id` is a number if the parent is a comment, and null if it is the post.
    """

    id: str
    link_id: str
    parent_id: str | int | None
    body: str | None
    created_utc: int | float | str
    author: str | None = None
    score: int | float | None = None
    distinguished: str | None = None
    stickied: bool | None = None
    is_submitter: bool | None = None
    subreddit: str | None = None

    @property
    def post(self) -> str:
        """The id of the comment's post."""
        return self.link_id.removeprefix("t3_")

    @property
    def top_level(self) -> bool:
        """Whether the comment answers the post itself, not another comment."""
        parent = self.parent_id
        return parent is None or (isinstance(parent, str) and (parent.startswith("t3_") or parent == self.link_id))


_ESCAPES = {"&lt;": "<", "&gt;": ">", "&amp;": "&"}
_ESCAPED = re.compile("|".join(_ESCAPES))
_BLANK = re.compile(r"&(?:#x200B|#8203|ZeroWidthSpace);|[\u200b\ufeff]", re.IGNORECASE)
_NO_BREAK = re.compile(r"&(?:nbsp|#160|#xA0);|\xa0", re.IGNORECASE)
_LINE_BREAK = re.compile(r"\r\n?|\u2028|\u2029")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ODD = re.compile("[&\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xa0\u200b\u2028\u2029\ufeff]")  # missing in most texts


def plain(text: str | None) -> str:
    """A text as its readers saw it. Dumps and the API escape texts, so `&lt;`, `&gt;` and `&amp;` are unescaped once.
    Spaces that were written as entities become spaces or are left out. Control characters are left out, line breaks are
    `\\n`, and surrounding space is stripped. Markdown stays.
    """
    if not text or not _ODD.search(text):
        return (text or "").strip()
    shown = _ESCAPED.sub(lambda escape: _ESCAPES[escape[0]], text)
    shown = _NO_BREAK.sub(" ", _BLANK.sub("", shown))
    return _CONTROL.sub("", _LINE_BREAK.sub("\n", shown)).strip()


def seconds(created_utc: int | float | str) -> float | None:
    """Seconds since 1970; None if the text is not a finite number."""
    try:
        value = float(created_utc)
    except (ValueError, OverflowError):
        return None
    return value if isfinite(value) else None


def is_gone(text: str) -> Literal["deleted", "removed"] | None:
    """Return how a text was deleted, if only a notice remains ('[deleted]', '[ Removed by Reddit ]'); otherwise
    None."""
    match = _GONE.fullmatch(text) if len(text) < 60 else None
    if match is None:
        return None
    return "deleted" if match["how"].lower() == "deleted" else "removed"


def is_bot(author: str | None) -> bool:
    """Whether the name of an account shows that the account is a bot or belongs to the community's moderators."""
    return author is not None and _BOT.fullmatch(author) is not None
