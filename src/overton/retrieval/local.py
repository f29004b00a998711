"""A local collection as a search engine and as a source of pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import sha256

from overton.calls import Hit, Page
from overton.retrieval.archive import Archive
from overton.retrieval.index import CollectionIndex

__all__ = ["LocalPages", "LocalSearch"]


class LocalSearch:
    """Searches a collection; at most `top` hits a query. `load` opens it when it is first searched."""

    def __init__(self, load: Callable[[], CollectionIndex], identity: str, top: int) -> None:
        self.identity = f"{identity}+top{top}"
        self._load = load
        self._top = top

    @cached_property
    def _collection(self) -> CollectionIndex:
        return self._load()

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first."""
        return self._collection.find(query, self._top)

    async def close(self) -> None:
        """Nothing to give back."""


class LocalPages:
    """Reads the pages of a collection, which are text already."""

    def __init__(self, load: Callable[[], CollectionIndex], identity: str) -> None:
        self.identity = identity
        self._load = load

    @cached_property
    def _collection(self) -> CollectionIndex:
        return self._load()

    async def read(self, url: str, archive: Archive | None) -> Page:
        """The page at `url`; what the collection does not hold is a page that was skipped."""
        stored = self._collection.page(url)
        if stored is None:
            return Page(url, skipped="not in the collection")
        if archive is not None:
            archive.text(url, stored.body)
        return Page(url, stored.title, stored.date, stored.text, sha256(stored.body).hexdigest())

    async def close(self) -> None:
        """Nothing to give back."""
