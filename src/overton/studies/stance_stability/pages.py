"""What the model under test is shown of the web: the pages that a search ranks first, read and cut to a budget."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from overton.calls import Ask, Hit, Page, hits_of, page_of, user
from overton.errors import CallFailed
from overton.studies.readable import side_by_side
from overton.studies.stance_stability.cutting import allotted, shortened

__all__ = ["NOTHING_FOUND", "Found", "Source", "read", "search"]

_LONGEST_TITLE = 300


class Source(msgspec.Struct, frozen=True):
    """A page as it is shown: numbered from 1, its text cut to the budget."""

    number: int
    url: str
    title: str
    date: str
    text: str
    shortened: bool


class Found(msgspec.Struct, frozen=True):
    """The pages of one turn, and the addresses of those that could not be read, with the reason: 'URL (reason)'."""

    sources: tuple[Source, ...]
    skipped: tuple[str, ...]


NOTHING_FOUND = Found((), ())


async def search(ask: Ask, query: str) -> tuple[Hit, ...]:
    """The hits for a query; all trials share the search.

    Raises:
        CallFailed: the search failed for good.
    """
    return hits_of(await ask("search", (user(query),), shared=True))


async def read(ask: Ask, hits: Sequence[Hit], pages: int, page_characters: int, context_characters: int) -> Found:
    """The first `pages` of the hits, each address once, fetched side by side; see `Options` for the budgets.

    As published, hits beyond those are not read in the place of pages that cannot be.
    """
    by_address: dict[str, Hit] = {}
    for hit in hits:
        by_address.setdefault(hit.url, hit)
    first = list(by_address.values())[:pages]
    fetched = await side_by_side(_fetched(ask, hit.url) for hit in first)
    shown = [(hit, page) for hit, page in zip(first, fetched, strict=True) if not page.skipped]
    shares = allotted([min(len(page.text), page_characters) for _, page in shown], context_characters)
    sources = [
        _source(number, hit, page, share)
        for number, ((hit, page), share) in enumerate(zip(shown, shares, strict=True), 1)
    ]
    skipped = [f"{hit.url} ({page.skipped})" for hit, page in zip(first, fetched, strict=True) if page.skipped]
    return Found(tuple(sources), tuple(skipped))


async def _fetched(ask: Ask, url: str) -> Page:
    """The page, or why it was not read: one that fails for good is skipped like any other."""
    try:
        page = page_of(await ask("pages", (user(url),), shared=True))
    except CallFailed as failed:
        return Page(url, skipped=failed.kind)
    return page if page.skipped or page.text.strip() else Page(url, skipped="no text")


def _source(number: int, hit: Hit, page: Page, characters: int) -> Source:
    text = page.text.strip()
    cut = shortened(text, characters)
    title = " ".join((page.title or hit.title).split())
    return Source(number, hit.url, shortened(title, _LONGEST_TITLE), page.date, cut, cut != text)
