"""Pages of a search and earlier turns, shortened to the number of characters that a prompt may have."""

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
    """A page in a prompt, numbered from 1, with its text shortened to the limit."""

    number: int
    url: str
    title: str
    date: str
    text: str
    shortened: bool


class TurnPages(msgspec.Struct, frozen=True):
    """The pages of one turn, and the addresses of unreadable pages with the reasons: 'URL (reason)'."""

    sources: tuple[ShownPage, ...]
    skipped: tuple[str, ...]


NOTHING_FOUND = TurnPages((), ())


async def read(ask: Ask, query: str, options: Options) -> TurnPages:
    """Search, and fetch the pages of the first hits in parallel. Each address is fetched once. See `Options` for the
    limits.

    All trials share the search. As in the paper, a page that cannot be read is not replaced by a further hit.

    Raises:
        CallFailed: the search failed permanently.
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
    """The page, or the reason why it was not read. A page whose call fails permanently is skipped like any other."""
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
"""The fewest characters that a turn must get. If the limit is too small for all turns, the oldest turns are left
out."""


class EarlierTurn(msgspec.Struct, frozen=True):
    """A question and its answer."""

    question: str
    answer: str


def bounded(turns: Sequence[EarlierTurn], characters: int | None) -> list[EarlierTurn]:
    """The newest of the turns, shortened to at most `characters` in total. If `characters` is None, all turns are
    returned unchanged.

    At most one turn is kept for every `_FEWEST` characters of the limit, so that no turn becomes too short to
    understand. Then only long texts are shortened, all to the same length, so short questions stay whole.
    """
    if characters is None:
        return list(turns)
    kept = list(turns[-max(1, characters // _FEWEST) :])
    texts = [text for turn in kept for text in (turn.question, turn.answer)]
    shares = allotted([len(text) for text in texts], characters)
    cut = [shortened(text, share) for text, share in zip(texts, shares, strict=True)]
    return [EarlierTurn(question, answer) for question, answer in zip(cut[::2], cut[1::2], strict=True)]


MARK = "[shortened]"
"""The end of a text that was shortened."""

_CLOSING = "\"'”’)]"
# A sentence ends at a punctuation mark, with the closing quotation marks or brackets after it, or with its paragraph.
_SENTENCE_END = re.compile(rf"[.!?…][{re.escape(_CLOSING)}]*(?=\s)|[。！？]|(?=\n)")
_SPACE = re.compile(r"\s")


@lru_cache(maxsize=128)
def shortened(text: str, characters: int) -> str:
    """`text` if it has at most `characters` characters; otherwise its beginning, followed by `MARK`.

    The text is cut after the last sentence that ends in the second half of the allowed length. If no sentence ends
    there, it is cut after the last word that ends there. If no word ends there either, it is cut inside a word. The
    result has at most `characters` characters, unless `MARK` alone is longer.
    """
    if len(text) <= characters:
        return text
    room = characters - len(MARK) - 1
    if room <= 0:
        return MARK
    beginning = text[: room + 1]  # with the next character, which shows whether a sentence ends here
    half = ceil(room / 2)
    # Include the mark of a sentence whose closing quotation mark is at the half or later.
    begin = len(beginning[:half].rstrip(_CLOSING)) - 1
    sentences = (match.end() for match in _SENTENCE_END.finditer(beginning, max(begin, 0)))
    words = (match.start() for match in _SPACE.finditer(beginning, half))
    late = (max((end for end in ends if half <= end <= room), default=0) for ends in (sentences, words))
    return f"{beginning[: next(filter(None, late), room)].rstrip()} {MARK}"


def allotted(lengths: Sequence[int], budget: int) -> list[int]:
    """The number of characters that each text gets if all texts together may have at most `budget`.

    Short texts stay whole, and all other texts get the same length.
    """
    shares, left = [0] * len(lengths), budget
    by_length = sorted(range(len(lengths)), key=lambda index: lengths[index])
    for place, index in enumerate(by_length):
        shares[index] = min(lengths[index], left // (len(lengths) - place))
        left -= shares[index]
    return shares
