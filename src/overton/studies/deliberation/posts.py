"""Which posts are told as dilemmas: in range, not about the community itself, still there, and long enough."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

from overton.studies.deliberation.edits import without_edits
from overton.studies.deliberation.steps import SelectionOptions
from overton.studies.forum import Post, is_bot, is_gone, plain, seconds

__all__ = ["Filter", "Reason", "why_left_out"]

Reason = Literal["meta", "deleted", "removed", "too short", "without a usable id"]

_META_FLAIR = re.compile(r"\b(?:meta|update|announcement|open forum|megathread|mod(?:erator)? post)\b", re.IGNORECASE)
_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")


class Filter:
    """Steps 1, 3 and 4 on one post after another, with counts of what they met.

    `ids` are those of the posts that are left; `read` and `in_range` count posts, `left_out` by reason; of the posts
    that step 3 keeps, `edited` had edits, `shortened` are shorter than the shortest without them, `emptied` empty.
    """

    def __init__(self, options: SelectionOptions) -> None:
        self.ids: set[str] = set()
        self.read = self.in_range = self.filtered = self.edited = self.shortened = self.emptied = 0
        self.left_out: Counter[Reason] = Counter()
        self._options = options
        self._days = _Days(options.first, options.last)

    def text(self, post: Post) -> str | None:
        """The post's text without its edits; None where it is left out, or was kept before."""
        if post.id in self.ids:
            return None
        self.read += 1
        if not self._days.hold(post):
            return None
        self.in_range += 1
        posted = plain(post.text)
        if reason := why_left_out(post, posted, self._options.shortest):
            self.left_out[reason] += 1
            return None
        self.filtered += 1
        return self._unedited(post, posted)

    def _unedited(self, post: Post, posted: str) -> str | None:
        text = without_edits(posted)
        short = len(text) < self._options.shortest
        self.edited += text != posted
        self.shortened += short and bool(text)
        self.emptied += not text
        if not text or (short and self._options.recheck):
            return None
        self.ids.add(post.id)
        return text


class _Days:
    """Days in UTC, both ends included; None is no bound."""

    def __init__(self, first: date | None, last: date | None) -> None:
        self._begin = float("-inf") if first is None else _midnight(first)
        self._end = float("inf") if last is None else _midnight(last) + timedelta(days=1).total_seconds()
        self._bounded = first is not None or last is not None

    def hold(self, post: Post) -> bool:
        """Whether the post was made on one of them; one whose time cannot be read only where there are no bounds."""
        created = seconds(post.created_utc)
        return not self._bounded if created is None else self._begin <= created < self._end


def _midnight(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()


def why_left_out(post: Post, text: str, shortest: int) -> Reason | None:
    """Why a post whose plain text is `text` is no dilemma; None where it is one (appendix A, step 3)."""
    if post.distinguished or is_bot(post.author) or _META_FLAIR.search(post.flair or ""):
        return "meta"
    gone = is_gone(text) or (is_gone(post.title) if post.title.lstrip().startswith("[") else None)
    if gone or post.removed_by_category:
        return "deleted" if gone == "deleted" or post.removed_by_category in ("deleted", "author") else "removed"
    if len(text) < shortest:
        return "too short"
    return None if _ID.fullmatch(post.id) else "without a usable id"
