"""What models are shown, within budgets of characters: pages that a search ranks first, earlier turns, cut texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import TYPE_CHECKING

import msgspec

from overton.calls import Ask, Hit, Page, hits_of, page_of, user
from overton.errors import CallFailed
from overton.studies.asking import side_by_side

if TYPE_CHECKING:
    from overton.studies.stance_stability.options import Options

_LONGEST_TITLE = 300


class ShownPage(msgspec.Struct, frozen=True):
    """A page as it is shown: numbered from 1, its text cut to the budget."""

    number: int
    url: str
    title: str
    date: str
    text: str
    shortened: bool


class TurnPages(msgspec.Struct, frozen=True):
    """The pages of one turn, and the addresses of those that could not be read, with their reasons: 'URL (reason)'."""

    sources: tuple[ShownPage, ...]
    skipped: tuple[str, ...]


NOTHING_FOUND = TurnPages((), ())


async def read(ask: Ask, query: str, options: Options) -> TurnPages:
    """The first pages that a search finds, each address once, fetched side by side; see `Options` for the budgets.

    All trials share the search. As published, no further hits are read in place of pages that cannot be.

    Raises:
        CallFailed: the search failed for good.
    """
    hits = hits_of(await ask("search", (user(query),), shared=True))
    by_address: dict[str, Hit] = {}
    for hit in hits:
        if len(by_address) == options.pages_per_turn:
            break
        by_address.setdefault(hit.url, hit)
    first = list(by_address.values())
    fetched = await side_by_side(_fetched(ask, hit.url) for hit in first)
    shown = [(hit, page) for hit, page in zip(first, fetched, strict=True) if not page.skipped]
    lengths = [min(len(page.text), options.page_characters) for _, page in shown]
    shares = allotted(lengths, options.context_characters)
    sources = [
        _source(number, hit, page, share)
        for number, ((hit, page), share) in enumerate(zip(shown, shares, strict=True), 1)
    ]
    skipped = [f"{hit.url} ({page.skipped})" for hit, page in zip(first, fetched, strict=True) if page.skipped]
    return TurnPages(tuple(sources), tuple(skipped))


async def _fetched(ask: Ask, url: str) -> Page:
    """The page, or why it was not read: a page whose call fails for good is skipped like any other."""
    try:
        page = page_of(await ask("pages", (user(url),), shared=True))
    except CallFailed as failed:
        return Page(url, skipped=failed.kind)
    return page if page.skipped or (page.text and not page.text.isspace()) else Page(url, skipped="no text")


@lru_cache(maxsize=32)
def _source(number: int, hit: Hit, page: Page, characters: int) -> ShownPage:
    text = page.text.strip()
    cut = shortened(text, characters)
    title = " ".join((page.title or hit.title).split())
    return ShownPage(number, hit.url, shortened(title, _LONGEST_TITLE), page.date, cut, cut != text)


_FEWEST = 200
"""The fewest characters that a turn must get; otherwise the oldest turns are left out."""


class EarlierTurn(msgspec.Struct, frozen=True):
    """A question and its answer."""

    question: str
    answer: str


def bounded(turns: Sequence[EarlierTurn], characters: int | None) -> list[EarlierTurn]:
    """The turns in at most `characters`; all of them in full if that is None or they fit.

    Long texts are shortened so that all have the same room, which leaves questions whole. Only if that would leave a
    turn too short to understand are the oldest turns left out.
    """
    if characters is None:
        return list(turns)
    kept = list(turns[-max(1, characters // _FEWEST) :])
    texts = [text for turn in kept for text in (turn.question, turn.answer)]
    shares = allotted([len(text) for text in texts], characters)
    cut = [shortened(text, share) for text, share in zip(texts, shares, strict=True)]
    return [EarlierTurn(question, answer) for question, answer in zip(cut[::2], cut[1::2], strict=True)]


MARK = "[shortened]"
"""The end of a text that was cut."""

_CLOSING = "\"'”’)]"
# Where a sentence ends: its last mark and what closes after it, or the end of a paragraph.
_SENTENCE_END = re.compile(rf"[.!?…][{re.escape(_CLOSING)}]*(?=\s)|[。！？]|(?=\n)")
_SPACE = re.compile(r"\s")


@lru_cache(maxsize=128)
def shortened(text: str, characters: int) -> str:
    """`text` if it has at most `characters`; otherwise its beginning, cut at the end of a sentence, and `MARK`.

    The cut is at the last end of a sentence, or otherwise of a word, in the second half of the room, or otherwise
    anywhere. The result has at most `characters` characters, except for `MARK` alone if there is no room even for it.
    """
    if len(text) <= characters:
        return text
    room = characters - len(MARK) - 1
    if room <= 0:
        return MARK
    beginning = text[: room + 1]  # with the next character, which shows whether a sentence ends here
    half = ceil(room / 2)
    begin = len(beginning[:half].rstrip(_CLOSING)) - 1  # the mark of a sentence that closes at the half, or later
    sentences = (match.end() for match in _SENTENCE_END.finditer(beginning, max(begin, 0)))
    words = (match.start() for match in _SPACE.finditer(beginning, half))
    late = (max((end for end in ends if half <= end <= room), default=0) for ends in (sentences, words))
    return f"{beginning[: next(filter(None, late), room)].rstrip()} {MARK}"


def allotted(lengths: Sequence[int], budget: int) -> list[int]:
    """How many of each text's characters fit if all share `budget`: short texts whole, the others equally.

    The sum is at most `budget`, or the sum of `lengths` if that fits.
    """
    shares, left = [0] * len(lengths), budget
    by_length = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for place, index in enumerate(by_length):
        shares[index] = min(lengths[index], left // (len(lengths) - place))
        left -= shares[index]
    return shares
