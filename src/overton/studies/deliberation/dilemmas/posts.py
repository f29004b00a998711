"""Selection of the posts that become dilemmas.

The selected posts are in the date range, long enough, not deleted, and not about the community itself. Edits and
updates that authors added later are removed from the posts (appendix A, steps 1, 3 and 4).
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal

import msgspec

from overton.errors import InputError
from overton.studies.forum import Post, is_bot, is_gone, plain, seconds

_GAP = r"[ \t]{0,3}"
_MARKS = r"[ \t*_~#>\[(\"“`\\+=|-]"  # markdown, brackets, quotation marks
_END_MARKS = r"[*_~\])\"”`]{0,8}"
_WORD = r"(?:edit(?:ed|s)?|update[ds]?|eta)"
_WHICH = (
    r"(?:(?:just|an?|final|last|latest|first|second|third|another|new|quick|small|short|little|mini|minor|big|important"
    r"|one more|\d{1,3}(?:st|nd|rd|th))[ \t-]{1,3}){0,4}"
)
_NUMBER = rf"{_GAP}(?:number|no\.?|part)?{_GAP}\#?(?:\d{{1,3}}(?:/\d{{1,3}})?|i{{1,3}}|iv|v|one|two|three|four|five)\b"
_AGAIN = rf"{_GAP}(?:/|\+|&|,|and|or){_GAP}{_WORD}"
_ASIDE = rf"{_GAP}[(\[][^()\[\]\n]{{0,120}}[)\]]"
_MORE = rf"(?:{_NUMBER}|{_AGAIN}|{_ASIDE}){{0,4}}"
_WHY = r"(?:[ \t]{1,3}(?:to (?:add|clarify|say|include|answer|note)|again|also|for \w{1,20}|because|since|after))?"
_STOP = rf"(?:{_GAP}[:;=]|[ \t]{{1,3}}[-–—~]|[-–—~]{{1,3}}>?(?=\s|$)|{_GAP}\.{{1,3}}(?=\s|$)|{_GAP}$)"

_AT_LINE = re.compile(
    rf"^{_MARKS}{{0,40}}(?:"
    rf"(?i:{_WHICH}{_WORD}{_END_MARKS}{_MORE}{_END_MARKS}{_WHY}{_END_MARKS}{_STOP})"  # 'Update 2 -', '**edit**'
    rf"|(?<=[*_\[(])(?i:{_WHICH}{_WORD}{_MORE})[*_\])]"  # '**edit** she left', '[edit] she left'
    r"|(?i:edit(?:ed)? to (?:add|clarify|say|include|answer|mention|note)\b)"  # 'Edited to add that ...'
    rf"|(?:EDIT(?:ED)?|UPDATED?)(?:{_NUMBER}|(?![A-Za-z0-9]))"  # in capitals, without punctuation
    rf"|(?=[A-Z])(?i:{_WHICH}(?:edit|update))\b[^.!?:\n]{{1,60}}:"  # 'Edit after reading your comments:'
    r")",
    re.MULTILINE,
)
_AFTER_SENTENCE = re.compile(
    rf"(?<=[.!?)…])[ \t]{{1,3}}{_MARKS}{{0,4}}(?:EDIT|UPDATE)(?:{_NUMBER}|{_ASIDE}){{0,2}}{_END_MARKS}{_GAP}[:-]"
)
_IN_BRACKETS = re.compile(
    rf"[ \t]?(?:\((?={_WORD})[a-z]+{_GAP}\d{{0,2}}{_GAP}[:-][^()\n]*\)"
    rf"|\[(?={_WORD})[a-z]+{_GAP}\d{{0,2}}{_GAP}[:-][^\[\]\n]*\](?!\())",
    re.IGNORECASE,
)
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_RULES = re.compile(r"(?:\n[ \t]*[-*_=~—–]+[ \t]*)+\Z")


def without_edits(text: str) -> str:
    """The text without its edits and updates, stripped.

    An edit starts with a word such as 'Edit', 'Update' or 'ETA' at the beginning of a line. The word must be in
    capitals, or punctuation must separate it from the text that follows. The edit extends to the end of the text. If an
    edit comes before the story, it extends only to the end of its paragraph. An edit in brackets inside a line ('(edit:
    spelling)') ends with its bracket. The same words inside a sentence are not an edit.
    """
    left = _IN_BRACKETS.sub("", text).strip()
    while (begin := _first_edit(left)) is not None:
        if left[:begin].strip(" \t\n*_~#>-="):
            return _RULES.sub("", left[:begin].rstrip()).rstrip()
        left = _after_paragraph(left).strip()
    return left


def _first_edit(text: str) -> int | None:
    """The index at which the first edit starts."""
    found = [match.start() for pattern in (_AT_LINE, _AFTER_SENTENCE) if (match := pattern.search(text))]
    return min(found, default=None)


def _after_paragraph(text: str) -> str:
    """The text after the first paragraph; if there is only one, the text after its first line."""
    end = _PARAGRAPH_END.search(text)
    return text[end.end() :] if end else text.partition("\n")[2]


Reason = Literal["meta", "deleted", "removed", "too short", "without a usable id"]

_META_FLAIR = re.compile(r"\b(?:meta|update|announcement|open forum|megathread|mod(?:erator)? post)\b", re.IGNORECASE)
_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")


class SelectionOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Criteria for posts that become dilemmas.

    first, last  the range of days (UTC), both included; None for an open end
    top          the number of dilemmas to take. Dilemmas with the highest entropy are taken first
    comments     the maximum number of top-level comments used per post. Comments with the best scores are used first
    shortest     the minimum number of characters of a post, as posted
    recheck      whether a post must still have `shortest` characters after its edits are removed. The paper
                 filters before it removes edits
    fewest       the minimum number of comments with a readable verdict. The paper sets no minimum, but the entropy of
                 a few verdicts is mostly chance. So use 10 if there are enough posts

    Raises InputError for numbers below 1 and for a range whose end is before its start.
    """

    first: date | None = None
    last: date | None = None
    top: int = 1000
    comments: int = 100
    shortest: int = 1000
    recheck: bool = False
    fewest: int = 1

    def __post_init__(self) -> None:
        for name in ("top", "comments", "shortest", "fewest"):
            if getattr(self, name) < 1:
                raise InputError(f"'{name}' is {getattr(self, name)}; it must be 1 or more")
        if self.first and self.last and self.first > self.last:
            raise InputError(f"the range of dates ends ({self.last}) before it starts ({self.first})")


class Filter:
    """A filter that applies steps 1, 3 and 4 to one post after another, and counts.

    `ids` are the ids of the posts that are left. `read` and `in_range` count posts, and `left_out` counts posts by the
    reason for leaving them out. `edited` counts the posts kept by step 3 that had edits. `shortened` counts the posts
    that are too short without their edits, and `emptied` the posts that consist of edits only.
    """

    def __init__(self, options: SelectionOptions) -> None:
        self.ids: set[str] = set()
        self.read = self.in_range = self.filtered = self.edited = self.shortened = self.emptied = 0
        self.left_out: Counter[Reason] = Counter()
        self._options = options
        self._begin = float("-inf") if options.first is None else _midnight(options.first)
        self._end = (
            float("inf") if options.last is None else _midnight(options.last) + timedelta(days=1).total_seconds()
        )

    def text(self, post: Post) -> str | None:
        """The post's text without its edits. The result is None if the post is left out, or repeats a post that was
        kept."""
        if post.id in self.ids:
            return None
        self.read += 1
        if not self._in_range(post):
            return None
        self.in_range += 1
        posted = plain(post.text)
        if reason := _why_left_out(post, posted, self._options.shortest):
            self.left_out[reason] += 1
            return None
        self.filtered += 1
        return self._unedited(post, posted)

    def _in_range(self, post: Post) -> bool:
        """Whether the post was made on one of the days.

        A post with an unreadable time is in range only if both ends are open.
        """
        created = seconds(post.created_utc)
        if created is None:
            return self._options.first is None and self._options.last is None
        return self._begin <= created < self._end

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


def _midnight(day: date) -> float:
    return datetime.combine(day, time(), UTC).timestamp()


def _why_left_out(post: Post, text: str, shortest: int) -> Reason | None:
    """The reason why a post whose plain text is `text` is left out; None if it is kept (appendix A, step 3).

    A post is gone if its text is '[deleted]' or '[removed]', or the forum says so. A deleted account alone does not
    count.
    """
    if post.distinguished or is_bot(post.author) or _META_FLAIR.search(post.flair or ""):
        return "meta"
    gone = is_gone(text) or (is_gone(post.title) if post.title.lstrip().startswith("[") else None)
    if gone or post.removed_by_category:
        return "deleted" if gone == "deleted" or post.removed_by_category in ("deleted", "author") else "removed"
    if len(text) < shortest:
        return "too short"
    return None if _ID.fullmatch(post.id) else "without a usable id"
