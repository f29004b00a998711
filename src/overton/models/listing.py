"""Where a model's servers are: named, in a file, or all addresses of a name; reread as they change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol
from urllib.parse import urlsplit

from overton.errors import InputError, Problem, UnavailableError, Unreadable, reason_of
from overton.key_values import checked_base_url, path_of
from overton.untrusted import decode_text, read_bytes

__all__ = ["Listed", "Listing", "Place", "listing_of"]

_MOST = 10_000
"""Most servers in a list."""
_LARGEST = 2**21
_EVERY = 10.0
"""Seconds after which a name is looked up again."""
_COMMENT = "#"


class Place(NamedTuple):
    """Where a server is: its base URL, and its IP address if the URL's host has several, otherwise ''."""

    base_url: str
    peer: str = ""


Listed = tuple[Place, ...]


class Listing(Protocol):
    """A source of the places of servers."""

    async def places(self) -> Listed:
        """Where they are now.

        Raises:
            UnavailableError: this is unknown at the moment.
        """
        ...


def listing_of(place: str, versioned: Callable[[str], str]) -> Listing:
    """The listing of servers at a file's path or a URL; `versioned` completes base URLs.

    Raises:
        InputError: the file does not exist, or is not a list.
    """
    return _Addresses(versioned(place)) if urlsplit(place).scheme in ("http", "https") else _File(place, versioned)


class _File:
    """One base URL per line; '#' starts a comment."""

    def __init__(self, place: str, versioned: Callable[[str], str]) -> None:
        self._versioned = versioned
        self._path = path_of(place, "base_url").resolve()
        self._seen: object = None
        self._held: Listed = ()
        try:
            self._read()
        except (OSError, Unreadable) as error:
            reason = f"{reason_of(error)}; it may be empty now, and servers added later"
            raise InputError([Problem("base_url", str(self._path), reason)]) from None

    async def places(self) -> Listed:
        """See `Listing`. Its content in the middle of a write is ignored if it is not a list."""
        try:
            await asyncio.to_thread(self._read)
        except (OSError, Unreadable) as error:
            raise UnavailableError("list", f"{self._path} cannot be read: {reason_of(error)}") from None
        return self._held

    def _read(self) -> None:
        known = self._path.stat()
        seen = known.st_mtime_ns, known.st_size, known.st_ino
        if seen != self._seen:
            self._held = _places(decode_text(read_bytes(self._path, _LARGEST)), self._versioned)
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
    """All addresses of a URL's host, as with a cluster's name for a service."""

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
