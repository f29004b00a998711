"""One reply with several responses in it, taken apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import Literal, NamedTuple

from overton.judging import parse_json
from overton.studies.pluralism.protocol.trials import THOUGHT

SplitBy = Literal["numbers", "json", "bullets", "rules", "paragraphs", "whole"]


class SplitResponses(NamedTuple):
    """The responses in their order, and what separated them.

    'numbers': each starts a line with its number; 'json': the reply is a list of texts; 'bullets': each starts a line
    with the same sign; 'rules': lines of dashes, stars or underscores are between them; 'paragraphs': blank lines are;
    'whole': the reply is one response.
    """

    responses: tuple[str, ...]
    by: SplitBy


# The start of a line with a number: heading signs, signs of emphasis, a word, the number, a mark.
_MARK = re.compile(
    r"^(?P<indent>[ \t]{0,8})(?P<before>[#>]{0,6} ?[*_(\[\"]{0,4})"
    r"(?P<word>(?:response|reply|comment|answer|option|opinion|redditor|user)? ?)[#]?"
    r"(?P<number>\d{1,3})(?P<mark> ?[.):\]*_\-–—]{1,4}(?!\d)|(?=[ \t]*$))",
    re.IGNORECASE | re.MULTILINE,
)
_BULLET = re.compile(r"^[ \t]{0,3}(?P<sign>[-*•–—])[ \t]+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*$", re.MULTILINE)
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_EMPHASISED = re.compile(r"[*_]+\Z")
_EMPHASIS = re.compile(r"\A[*_]{1,3}[ \t]*\n|\A[*_]{1,3}[ \t]*(?=\Z)")


def split_responses(reply: str, asked: int) -> SplitResponses:
    """The responses in a reply to a request for `asked` of them; anything before the first is left out.

    Numbers are tried first: of the ways in which lines are numbered, the one that counts furthest from 1. Then lists in
    JSON, bullets, and rules; then, if there are at least half as many as requested, paragraphs, without a first one
    that ends in a colon. Otherwise the reply is one response. An empty reply contains none.
    """
    said = dedent(reply.rpartition(THOUGHT)[2]).strip("\n")
    if not said.strip():
        return SplitResponses((), "whole")
    ways: tuple[tuple[SplitBy, Callable[[str], Sequence[str]]], ...] = (
        ("numbers", _by_numbers),
        ("json", lambda text: parse_json(text, list[str]).value or []),
        ("bullets", _by_bullets),
        ("rules", _RULE.split),
    )
    for by, way in ways:
        parts = _cleaned(way(said))
        if len(parts) > 1:
            return SplitResponses(parts, by)
    paragraphs = _paragraphs(said)
    if len(paragraphs) > 1 and 2 * len(paragraphs) >= asked:
        return SplitResponses(paragraphs, "paragraphs")
    return SplitResponses(_cleaned([said]), "whole")


def _by_numbers(text: str) -> list[str]:
    """What follows 1, 2, 3, ... at the starts of lines that are numbered in one way."""
    ways: dict[tuple[object, ...], list[re.Match[str]]] = {}
    for match in _MARK.finditer(text):
        word, before, mark = match["word"].strip().casefold(), match["before"].strip(), match["mark"]
        way = (bool(match["indent"]), before, word, mark)
        marks = ways.setdefault(way, [])
        if int(match["number"]) == len(marks) + 1:
            marks.append(match)
    marks = max(ways.values(), key=len, default=[])
    return [_opened(match) + part.lstrip() for match, part in zip(marks, _after(marks, text), strict=True)]


def _opened(mark: re.Match[str]) -> str:
    """The emphasis that starts before a number and ends after it: '**1. Kind:** Go.' is '**Kind:** Go.'"""
    signs = _EMPHASISED.search(mark["before"])
    return signs[0] if signs and signs[0] not in mark["mark"] else ""


def _by_bullets(text: str) -> list[str]:
    """What follows the sign that the first bullet has."""
    bullets = list(_BULLET.finditer(text))
    return _after([match for match in bullets if match["sign"] == bullets[0]["sign"]], text)


def _after(marks: Sequence[re.Match[str]], text: str) -> list[str]:
    """The text after each mark, up to the next one."""
    ends = [*(match.start() for match in marks), len(text)][1:]
    return [text[match.end() : end] for match, end in zip(marks, ends, strict=False)]


def _paragraphs(text: str) -> tuple[str, ...]:
    paragraphs = _cleaned(_BLANK.split(text))
    return paragraphs[1:] if paragraphs and paragraphs[0].endswith(":") else paragraphs


def _cleaned(parts: Sequence[str]) -> tuple[str, ...]:
    """The parts without what encloses them, leaving out empty ones."""
    return tuple(part for part in map(_bare, parts) if part)


def _bare(part: str) -> str:
    text = _EMPHASIS.sub("", part.strip()).strip()
    text = _RULE.sub("", text).strip() if _RULE.search(text) else text
    for opening, closing in _QUOTES:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == opening and text[-1] == closing and opening not in inner:
            return inner.strip()
    return text


_QUOTES = (('"', '"'), ("“", "”"))
