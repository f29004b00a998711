"""HTTP servers of one model: lists of servers, and a model whose calls are divided among several servers."""

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

_MAX_SERVERS = 10_000
"""The maximum number of servers in a list."""
_MAX_FILE_BYTES = 2**21
_LOOKUP_INTERVAL_S = 10.0
"""Seconds after which a name is looked up again."""
_COMMENT = "#"


class ServerAddress(NamedTuple):
    """A server's base URL, and its IP address if the URL's host has several, otherwise ''."""

    base_url: str
    peer: str = ""


Listed = tuple[ServerAddress, ...]


class ServerSource(Protocol):
    """A source of server addresses."""

    async def places(self) -> Listed:
        """The servers' present addresses.

        Raises:
            UnavailableError: the addresses are unknown at the moment.
        """
        ...


def listing_of(place: str, versioned: Callable[[str], str]) -> ServerSource:
    """A source of servers, given by a file's path or a URL. `versioned` completes base URLs.

    Raises:
        InputError: the file does not exist, or is not a list.
    """
    return (
        _HostAddresses(versioned(place))
        if urlsplit(place).scheme in ("http", "https")
        else _ServerFile(place, versioned)
    )


class _ServerFile:
    """A file with one base URL per line; '#' starts a comment."""

    def __init__(self, place: str, versioned: Callable[[str], str]) -> None:
        self._versioned = versioned
        self._path = path_of(place, "base_url").resolve()
        self._seen: object = None
        self._latest: Listed = ()
        try:
            self._read()
        except (OSError, Unreadable) as error:
            reason = f"{reason_of(error)}; it may be empty now, and servers added later"
            raise InputError([Problem("base_url", str(self._path), reason)]) from None

    async def places(self) -> Listed:
        """See `ServerSource`. If the file is being written and is not a valid list at the moment, it is ignored."""
        try:
            await asyncio.to_thread(self._read)
        except (OSError, Unreadable) as error:
            raise UnavailableError("list", f"{self._path} cannot be read: {reason_of(error)}") from None
        return self._latest

    def _read(self) -> None:
        known = self._path.stat()
        seen = known.st_mtime_ns, known.st_size, known.st_ino
        if seen != self._seen:
            self._latest = _parse_places(decode_text(read_bytes(self._path, _MAX_FILE_BYTES)), self._versioned)
            self._seen = seen


def _parse_places(text: str, versioned: Callable[[str], str]) -> Listed:
    found: dict[ServerAddress, None] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if word := line.partition(_COMMENT)[0].strip():
            try:
                found[ServerAddress(versioned(checked_base_url(word)))] = None
            except ValueError as error:
                raise Unreadable(f"line {number}: {error}", line=number) from None
    if len(found) > _MAX_SERVERS:
        raise Unreadable(f"lists more than {_MAX_SERVERS:,} servers")
    return tuple(found)


class _HostAddresses:
    """All IP addresses of a URL's host, such as a cluster's name for a service."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._valid_until = 0.0
        self._latest: Listed = ()

    async def places(self) -> Listed:
        """See `ServerSource`."""
        loop = asyncio.get_running_loop()
        if loop.time() >= self._valid_until:
            self._latest = tuple(ServerAddress(self._url, address) for address in await self._look_up(loop))
            self._valid_until = loop.time() + _LOOKUP_INTERVAL_S
        return self._latest

    async def _look_up(self, loop: asyncio.AbstractEventLoop) -> list[str]:
        parts = urlsplit(self._url)
        try:
            found = await loop.getaddrinfo(parts.hostname, parts.port or parts.scheme)
        except OSError as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise UnavailableError("list", f"{parts.hostname} cannot be looked up: {reason}") from None
        return sorted({str(address[0]) for *_, address in found})[:_MAX_SERVERS]


_POLL_TIMEOUT_S = 5.0
"""Seconds that a server may take to report that it is up."""
_MAX_LIST_BYTES = 2**20

ServerMaker = Callable[[Endpoint], tuple[Answerer, HttpClient, ApiClient]]
"""A function that makes the model of one server, with its two transports."""


class _ModelMeta(msgspec.Struct, gc=False):
    n_params: int | None = None
    n_vocab: int | None = None
    n_embd: int | None = None
    size: int | None = None


class _ListedModel(msgspec.Struct, gc=False):
    id: str
    root: str | None = None
    meta: _ModelMeta | None = None


class _ModelList(msgspec.Struct, gc=False):
    data: list[_ListedModel] = []


_decode = msgspec.json.Decoder(_ModelList).decode


class HttpServer:
    """One server of a model; see `overton.calls.Server`. The server is up if it answers a request for its list of
    models."""

    def __init__(self, endpoint: Endpoint, server_parts: tuple[Answerer, HttpClient, ApiClient]) -> None:
        parts = urlsplit(endpoint.base_url)
        host = authority(parts)
        self.name = f"{host} at {endpoint.peer}" if endpoint.peer else host
        self._model = endpoint.model
        self._answerer, self._transport, self._service = server_parts

    async def answer(self, request: Request) -> Reply:
        """See `Server`."""
        return await self._answerer.answer(request)

    async def look(self) -> Mapping[str, str]:
        """See `Server`. The result has the properties that vLLM and llama.cpp report about a model's weights. A server
        without a list of models also counts as up."""
        try:
            async with asyncio.timeout(_POLL_TIMEOUT_S):
                body = await self._service.exchange("GET", "/models", most=_MAX_LIST_BYTES)
        except (AccessError, RejectedError):
            return {}
        except TimeoutError:
            raise UnavailableError("timeout", f"{self.name} has been silent for {_POLL_TIMEOUT_S:.0f} s") from None
        try:
            return _weights_report(decode_json(body, _decode).data, self._model)
        except Unreadable:
            return {}

    def abandon(self) -> None:
        """See `Server`."""
        self._transport.abandon()

    async def close(self) -> None:
        """See `Server`."""
        await self._answerer.close()


def _weights_report(served: Sequence[_ListedModel], model: str) -> dict[str, str]:
    """The properties that identify a model's weights. If the weights are in a folder, only the folder's name is
    included, because its path may differ by node."""
    named = [entry for entry in served if entry.id == model] or (served if len(served) == 1 else [])
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
        self,
        endpoint: Endpoint,
        fixed: Sequence[str],
        lists: Sequence[ServerSource],
        make_server: ServerMaker,
        *,
        strict: bool,
    ) -> None:
        self.strict = strict
        self._endpoint = endpoint
        self._fixed: Listed = tuple(map(ServerAddress, fixed))
        self._lists = lists
        self._make_parts = make_server
        self._servers: dict[ServerAddress, HttpServer] = {}

    async def listed(self) -> Sequence[Server]:
        """See `ServerList`."""
        places = [*self._fixed]
        for listing in self._lists:
            places += await listing.places()
        self._servers = {place: self._servers.get(place) or self._make_server(place) for place in places}
        return list(self._servers.values())

    async def close(self) -> None:
        """Close all known servers."""
        for server in self._servers.values():
            await server.close()

    def _make_server(self, place: ServerAddress) -> HttpServer:
        endpoint = replace(self._endpoint, base_url=place.base_url, peer=place.peer)
        return HttpServer(endpoint, self._make_parts(endpoint))


class ServerSet(Protocol):
    """The available servers, for callers that use them in turn."""

    async def listed(self) -> Sequence[Server]:
        """See `ServerList`."""
        ...

    async def close(self) -> None:
        """Close them all."""
        ...


class RoundRobin:
    """A model whose calls are divided among several servers.

    The engine calls the servers through their `ServerList`. Callers that pace their own calls, such as Inspect AI, call
    this object instead. It uses the servers in turn. Servers that failed recently come last.
    """

    def __init__(self, answerer: Answerer, several: ServerSet, *, connections: int | None = None) -> None:
        self.connections = connections
        self.name = answerer.name
        self.identity = answerer.identity
        self.holds_form = answerer.holds_form
        self.weighs = bool(getattr(answerer, "weighs", False))
        self._pool = several
        self._turn = 0
        self._rested_until: dict[str, float] = {}

    async def answer(self, request: Request) -> Reply:
        """Answer once; raises as `overton.calls.Answerer` says."""
        servers = await self._pool.listed()
        if not servers:
            raise UnavailableError("connection", f"{self.name}: its list has no servers now")
        now = asyncio.get_running_loop().time
        self._turn += 1
        turned = [servers[(self._turn + place) % len(servers)] for place in range(len(servers))]
        server = min(turned, key=lambda candidate: self._rested_until.get(candidate.name, 0.0) > now())
        try:
            return await server.answer(request)
        except UnavailableError:
            self._rested_until[server.name] = now() + _POLL_TIMEOUT_S
            raise

    async def close(self) -> None:
        """Close them all."""
        await self._pool.close()
