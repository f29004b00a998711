"""Search engines and page sources as answerers. They take a query or an address, return JSON, and store everything in
the run's archive."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Protocol

import msgspec

from overton.calls import Hit, Hits, Page, Reply, Request
from overton.errors import RejectedError
from overton.retrieval.archive import Archive, ArchivedHits

_MAX_QUERY_CHARS = 2_000
_HALF_SURROGATE = re.compile("[\ud800-\udfff]")

_encode = msgspec.json.Encoder().encode


class Searcher(Protocol):
    """A search engine: finds pages for a query."""

    @property
    def identity(self) -> str:
        """The name of the search provider, or the digest of the collection; never an address or a key."""
        ...

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first.

        Raises:
            UnavailableError, RejectedError, AccessError: see `overton.calls.Answerer`.
        """
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...


class PageSource(Protocol):
    """A source of pages, read by address."""

    @property
    def identity(self) -> str:
        """The name of the source of pages; never an address."""
        ...

    async def read(self, url: str, archive: Archive | None) -> Page:
        """Read the page at an address, or the reason why it cannot be read. Everything received is stored in the
        archive.

        Raises:
            UnavailableError: no page at any address can be read at the moment.
        """
        ...

    async def close(self) -> None:
        """Release all resources."""
        ...


class _ArchivingAnswerer:
    """The common part of both answerers: name, identity and the run's archive."""

    holds_form = False

    def __init__(self, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self._folder: Path | None = None
        self._archive: Archive | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def keep_in(self, folder: str | Path) -> None:
        """From the next call on, store all hits and pages in the archive in this folder.

        Raises:
            RunError: the archive cannot be written to.
        """
        self._folder = Path(folder)
        self._archive = Archive(self._folder)

    def _open_archive(self) -> Archive | None:
        """The archive, reopened if an earlier session of this answerer closed it."""
        if self._archive is None and self._folder is not None:
            self._archive = Archive(self._folder)
        return self._archive

    def _close_archive(self) -> None:
        archive, self._archive = self._archive, None
        if archive is not None:
            archive.close()


class SearchAnswerer(_ArchivingAnswerer):
    """A search engine as an answerer; its replies contain `overton.calls.Hits`."""

    def __init__(self, searcher: Searcher, *, name: str) -> None:
        super().__init__(name, searcher.identity)
        self._searcher = searcher

    async def answer(self, request: Request) -> Reply:
        """Search once; raises as `overton.calls.Answerer` says."""
        query = " ".join(_read_request(request, "query").split())
        if len(query) > _MAX_QUERY_CHARS:
            raise RejectedError("too long", f"{self.name}: a query of {len(query):,} characters; the limit is 2,000")
        hits = await self._searcher.find(query) if query else ()
        archive = self._open_archive()
        if archive is not None:
            archive.hits(ArchivedHits(query, self.identity, hits))
        return Reply(_encode(Hits(hits)).decode())

    async def close(self) -> None:
        """Close connections and archive."""
        self._close_archive()
        await self._searcher.close()


class PageAnswerer(_ArchivingAnswerer):
    """A reader of pages as an answerer; its replies contain `overton.calls.Page`."""

    def __init__(self, source: PageSource, *, name: str) -> None:
        super().__init__(name, source.identity)
        self._source = source

    async def answer(self, request: Request) -> Reply:
        """Read one page. If the page cannot be read, the reply gives the reason.

        Raises:
            UnavailableError: no page can be read at the moment.
            RejectedError: the request does not consist of one address.
        """
        archive = self._open_archive()
        page = await self._source.read(_read_request(request, "address").strip(), archive)
        if archive is not None:
            await asyncio.to_thread(archive.page, page)
        return Reply(_encode(page).decode())

    async def close(self) -> None:
        """Close connections and archive."""
        self._close_archive()
        await self._source.close()


def _read_request(request: Request, what: str) -> str:
    if len(request.messages) != 1 or request.messages[0].role != "user":
        raise RejectedError("malformed", f"expected one user message, the {what}")
    content = request.messages[0].content
    if not content.isascii() and _HALF_SURROGATE.search(content):
        raise RejectedError("malformed", f"the {what} contains half a surrogate pair, which is not a character")
    return content
