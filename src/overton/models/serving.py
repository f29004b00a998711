"""A model with several servers: each answers on its own; together they are one model of a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from overton.calls import Answerer, Reply, Request, Server
from overton.errors import AccessError, RejectedError, UnavailableError, Unreadable
from overton.key_values import authority
from overton.models.endpoints import Endpoint
from overton.models.http import Service, Transport
from overton.models.listing import Listed, Listing, Place
from overton.untrusted import decode_json

__all__ = ["HttpServer", "Several", "Shared"]

_LOOKING = 5.0
"""Seconds that a server may take to report that it is up."""
_LARGEST_LIST = 2**20

Made = Callable[[Endpoint], tuple[Answerer, Transport, Service]]
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

    def __init__(self, endpoint: Endpoint, made: tuple[Answerer, Transport, Service]) -> None:
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


class Several:
    """The servers of a model: see `overton.calls.ServerList`."""

    noun = "servers"
    patience: float | None = None

    def __init__(
        self, endpoint: Endpoint, fixed: Sequence[str], lists: Sequence[Listing], made: Made, *, strict: bool
    ) -> None:
        self.strict = strict
        self._endpoint = endpoint
        self._fixed: Listed = tuple(map(Place, fixed))
        self._lists = lists
        self._made = made
        self._servers: dict[Place, HttpServer] = {}

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

    def _server(self, place: Place) -> HttpServer:
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


class Shared:
    """The answerer whose calls several servers share.

    An engine calls them through their `ServerList`. If a call comes to this one, as from a host with its own pacing,
    they are used in turn, those that failed lately after the rest.
    """

    def __init__(self, one: Answerer, several: Asked, *, connections: int | None = None) -> None:
        self.connections = connections
        self.name = one.name
        self.identity = one.identity
        self.holds_form = one.holds_form
        self.weighs = bool(getattr(one, "weighs", False))
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
