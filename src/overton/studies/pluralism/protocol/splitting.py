"""Splitting one reply into the responses that it contains."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from textwrap import dedent
from typing import Literal, NamedTuple

from overton.judging import parse_json
from overton.studies.pluralism.protocol.trials import THOUGHT

SplitBy = Literal["numbers", "json", "bullets", "rules", "paragraphs", "whole"]


class SplitResponses(NamedTuple):
    """The responses in their order, and the kind of separator between them.

    With 'numbers', each response starts a line with its number. With 'json', the reply is a list of texts. With
    'bullets', each response starts a line with the same sign. With 'rules', lines of dashes, stars or underscores
    separate responses. With 'paragraphs', blank lines separate them. With 'whole', the reply is one response.
    """

    responses: tuple[str, ...]
    by: SplitBy


# The start of a numbered line: heading signs, signs of emphasis, a word, the number, a mark.
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
    """Split a reply to a request for `asked` responses. Text before the first response is left out.

    Separators are tried in this order: numbers, a list in JSON, bullets, rules, paragraphs. If lines are numbered in
    several ways, the numbering that starts at 1 and counts furthest is used. Paragraphs are used if their number is at
    least half the number of responses requested. A first paragraph that ends in a colon is left out. If no separator
    fits, the reply is one response. An empty reply contains no response.
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
    """The texts after the numbers 1, 2, 3, ... at the starts of lines that are numbered in the same way."""
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
    """The sign of emphasis that starts before a number and ends after it. For example, '**1. Kind:** Go.' becomes
    '**Kind:** Go.'"""
    signs = _EMPHASISED.search(mark["before"])
    return signs[0] if signs and signs[0] not in mark["mark"] else ""


def _by_bullets(text: str) -> list[str]:
    """The texts after bullets with the same sign as the first bullet."""
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
    """The parts without quotation marks or emphasis around them. Empty parts are left out."""
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
