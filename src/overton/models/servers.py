"""HTTP servers of one model: lists of them, and several used in turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import msgspec

from overton.calls import Answerer, Reply, Request, Server
from overton.errors import AccessError, InputError, Problem, RejectedError, UnavailableError, Unreadable, reason_of
from overton.key_values import authority, checked_base_url, path_of
from overton.models.endpoint import Endpoint
from overton.models.http_client import ApiClient, HttpClient
from overton.untrusted import decode_json, decode_text, read_bytes

_MOST = 10_000
"""Most servers in a list."""
_LARGEST = 2**21
_EVERY = 10.0
"""Seconds after which a name is looked up again."""
_COMMENT = "#"


class ServerAddress(NamedTuple):
    """Where a server is: its base URL, and its IP address if the URL's host has several, otherwise ''."""

    base_url: str
    peer: str = ""


Listed = tuple[ServerAddress, ...]


class ServerSource(Protocol):
    """A source of the places of servers."""

    async def places(self) -> Listed:
        """Where they are now.

        Raises:
            UnavailableError: this is unknown at the moment.
        """
        ...


def listing_of(place: str, versioned: Callable[[str], str]) -> ServerSource:
    """The listing of servers at a file's path or a URL; `versioned` completes base URLs.

    Raises:
        InputError: the file does not exist, or is not a list.
    """
    return (
        _Addresses(versioned(place)) if urlsplit(place).scheme in ("http", "https") else _ServerFile(place, versioned)
    )


class _ServerFile:
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
        """See `ServerSource`. Its content in the middle of a write is ignored if it is not a list."""
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
    found: dict[ServerAddress, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if word := line.partition(_COMMENT)[0].strip():
            try:
                found[ServerAddress(versioned(checked_base_url(word)))] = None
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
        """See `ServerSource`."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._until:
            self._held = tuple(ServerAddress(self._url, address) for address in await self._looked_up(loop))
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


_LOOKING = 5.0
"""Seconds that a server may take to report that it is up."""
_LARGEST_LIST = 2**20

Made = Callable[[Endpoint], tuple[Answerer, HttpClient, ApiClient]]
"""Makes the answerer of one server, with its two transports."""


class _Meta(msgspec.Struct, gc=False):
    n_params: int | None = None
    n_vocab: int | None = None
    n_embd: int | None = None
    size: int | None = None


class _Served(msgspec.Struct, gc=False):
    id: str
    root: str | None = None
    meta: _Meta | None = None


class _List(msgspec.Struct, gc=False):
    data: list[_Served] = []


_decode = msgspec.json.Decoder(_List).decode


class HttpServer:
    """One server of a model: see `overton.calls.Server`. It is polled by asking which models it has."""

    def __init__(self, endpoint: Endpoint, made: tuple[Answerer, HttpClient, ApiClient]) -> None:
        parts = urlsplit(endpoint.base_url)
        host = authority(parts)
        self.name = f"{host} at {endpoint.peer}" if endpoint.peer else host
        self._model = endpoint.model
        self._answerer, self._transport, self._service = made

    async def answer(self, request: Request) -> Reply:
        """See `Server`."""
        return await self._answerer.answer(request)

    async def look(self) -> Mapping[str, str]:
        """See `Server`: what vLLM and llama.cpp report of a model's weights. A server without such a list is up too."""
        try:
            async with asyncio.timeout(_LOOKING):
                body = await self._service.exchange("GET", "/models", most=_LARGEST_LIST)
        except (AccessError, RejectedError):
            return {}
        except TimeoutError:
            raise UnavailableError("timeout", f"{self.name} has been silent for {_LOOKING:.0f} s") from None
        try:
            return _weights(decode_json(body, _decode).data, self._model)
        except Unreadable:
            return {}

    def abandon(self) -> None:
        """See `Server`."""
        self._transport.abandon()

    async def close(self) -> None:
        """See `Server`."""
        await self._answerer.close()


def _weights(served: Sequence[_Served], model: str) -> dict[str, str]:
    """What identifies a model's weights; for a folder only its name, since nodes may have it in different places."""
    named = [one for one in served if one.id == model] or (served if len(served) == 1 else [])
    if not named:
        return {}
    found: dict[str, Any] = {"weights": named[0].root and named[0].root.rstrip("/").rpartition("/")[2]}
    if named[0].meta is not None:
        found |= msgspec.structs.asdict(named[0].meta)
    return {name: str(value) for name, value in found.items() if value is not None}


class HttpServers:
    """The servers of a model: see `overton.calls.ServerList`."""

    noun = "servers"
    patience: float | None = None

    def __init__(
        self, endpoint: Endpoint, fixed: Sequence[str], lists: Sequence[ServerSource], made: Made, *, strict: bool
    ) -> None:
        self.strict = strict
        self._endpoint = endpoint
        self._fixed: Listed = tuple(map(ServerAddress, fixed))
        self._lists = lists
        self._made = made
        self._servers: dict[ServerAddress, HttpServer] = {}

    async def listed(self) -> Sequence[Server]:
        """See `ServerList`."""
        places = [*self._fixed]
        for listing in self._lists:
            places += await listing.places()
        self._servers = {place: self._servers.get(place) or self._server(place) for place in places}
        return list(self._servers.values())

    async def close(self) -> None:
        """Close all known servers."""
        for server in self._servers.values():
            await server.close()

    def _server(self, place: ServerAddress) -> HttpServer:
        endpoint = replace(self._endpoint, base_url=place.base_url, peer=place.peer)
        return HttpServer(endpoint, self._made(endpoint))


class Asked(Protocol):
    """The servers available, for callers that use them in turn."""

    async def listed(self) -> Sequence[Server]:
        """See `ServerList`."""
        ...

    async def close(self) -> None:
        """Close them all."""
        ...


class RoundRobin:
    """The answerer whose calls several servers share.

    An engine calls them through their `ServerList`. If a call comes to this one, as from a host with its own pacing,
    they are used in turn, those that failed lately after the rest.
    """

    def __init__(self, answerer: Answerer, several: Asked, *, connections: int | None = None) -> None:
        self.connections = connections
        self.name = answerer.name
        self.identity = answerer.identity
        self.holds_form = answerer.holds_form
        self.weighs = bool(getattr(answerer, "weighs", False))
        self._several = several
        self._turn = 0
        self._rests: dict[str, float] = {}

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        servers = await self._several.listed()
        if not servers:
            raise UnavailableError("connection", f"{self.name}: its list has no servers now")
        now = asyncio.get_running_loop().time
        self._turn += 1
        turned = [servers[(self._turn + place) % len(servers)] for place in range(len(servers))]
        server = min(turned, key=lambda one: self._rests.get(one.name, 0.0) > now())
        try:
            return await server.answer(request)
        except UnavailableError:
            self._rests[server.name] = now() + _LOOKING
            raise

    async def close(self) -> None:
        """Close them all."""
        await self._several.close()
