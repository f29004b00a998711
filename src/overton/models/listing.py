"""Where the servers of a model are: named, in a file, or all addresses of a name; read again as they change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from overton.errors import InputError, Problem, UnavailableError, Unreadable, reason_of
from overton.pairs import checked_base_url, path_of
from overton.untrusted import bytes_of, text_of

__all__ = ["Listed", "Listing", "Place", "listing_of"]

_MOST = 10_000
"""Servers that a list may hold."""
_LARGEST = 2**21
_EVERY = 10.0
"""Seconds after which a name is looked up again."""
_COMMENT = "#"


class Place(NamedTuple):
    """Where a server is: its base URL, and the IP address where the URL's host has several, else ''."""

    base_url: str
    peer: str = ""


Listed = tuple[Place, ...]


class Listing(Protocol):
    """What knows where servers are."""

    async def places(self) -> Listed:
        """Where they are now.

        Raises:
            UnavailableError: that cannot be told just now.
        """
        ...


def listing_of(place: str, versioned: Callable[[str], str]) -> Listing:
    """What lists servers at a file's path or a URL; `versioned` makes base URLs complete.

    Raises:
        InputError: the file is not there, or not a list.
    """
    return _Addresses(versioned(place)) if urlsplit(place).scheme in ("http", "https") else _File(place, versioned)


class _File:
    """A base URL a line; '#' begins a comment."""

    def __init__(self, place: str, versioned: Callable[[str], str]) -> None:
        self._versioned = versioned
        self._path = path_of(place, "base_url").resolve()
        self._seen: object = None
        self._held: Listed = ()
        try:
            self._read()
        except (OSError, Unreadable) as error:
            reason = f"{reason_of(error)}; servers that come later may be added to a file that is empty now"
            raise InputError([Problem("base_url", str(self._path), reason)]) from None

    async def places(self) -> Listed:
        """See `Listing`. What it says while somebody writes into it is passed over where it is no list."""
        try:
            await asyncio.to_thread(self._read)
        except (OSError, Unreadable) as error:
            raise UnavailableError("list", f"{self._path} cannot be read: {reason_of(error)}") from None
        return self._held

    def _read(self) -> None:
        known = self._path.stat()
        seen = known.st_mtime_ns, known.st_size, known.st_ino
        if seen != self._seen:
            self._held = _places(text_of(bytes_of(self._path, _LARGEST)), self._versioned)
            self._seen = seen


def _places(text: str, versioned: Callable[[str], str]) -> Listed:
    found: dict[Place, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if word := line.partition(_COMMENT)[0].strip():
            try:
                found[Place(versioned(checked_base_url(word)))] = None
            except ValueError as error:
                raise Unreadable(f"line {number}: {error}", line=number) from None
    if len(found) > _MOST:
        raise Unreadable(f"lists more than {_MOST:,} servers")
    return tuple(found)


class _Addresses:
    """All addresses of a URL's host, as a cluster's name for what it runs has them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._until = 0.0
        self._held: Listed = ()

    async def places(self) -> Listed:
        """See `Listing`."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._until:
            self._held = tuple(Place(self._url, address) for address in await self._looked_up(loop))
            self._until = loop.time() + _EVERY
        return self._held

    async def _looked_up(self, loop: asyncio.AbstractEventLoop) -> list[str]:
        parts = urlsplit(self._url)
        try:
            found = await loop.getaddrinfo(parts.hostname, parts.port or parts.scheme)
        except OSError as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UnavailableError("list", f"{parts.hostname} cannot be looked up: {reason}") from None
        return sorted({str(address[0]) for *_, address in found})[:_MOST]
