"""Connections to public addresses only: checked on the connection itself, whatever name or literal led to it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.abc import AbstractResolver

from overton.retrieval.addresses import refusal

if TYPE_CHECKING:
    from aiohttp.client import ClientTimeout
    from aiohttp.client_reqrep import ClientRequest
    from aiohttp.connector import AddrInfoType, Connection
    from aiohttp.tracing import Trace

__all__ = ["GuardedConnector", "PrivateAddressError"]


class PrivateAddressError(OSError):
    """A connection would have gone to an address that is not the public internet's."""

    def __init__(self) -> None:
        super().__init__("private address")  # always the same: connecting keeps the type of errors that read alike


class GuardedConnector(aiohttp.TCPConnector):
    """Opens connections to public addresses only.

    A name is looked up once for each new connection, and the very address that came back is checked and connected to:
    the check stands where the socket is made (literals never pass a resolver), so a name that gives another answer the
    next time gains nothing. Before a connection is used, new or kept alive, its other end is looked at once more.
    """

    def __init__(self, *, connections: int, resolver: AbstractResolver | None = None) -> None:
        super().__init__(limit=connections, resolver=resolver, use_dns_cache=False, socket_factory=_guarded_socket)

    async def connect(
        self,
        req: ClientRequest,
        traces: Sequence[Trace],
        timeout: ClientTimeout,  # noqa: ASYNC109 (the signature of what it overrides)
    ) -> Connection:
        """A connection whose other end is public.

        Raises:
            PrivateAddressError: it is not; nothing was sent.
        """
        connection = await super().connect(req, list(traces), timeout)
        peer = connection.transport.get_extra_info("peername") if connection.transport else None
        if not peer or refusal(str(peer[0])):
            connection.close()
            raise PrivateAddressError
        return connection


def _guarded_socket(info: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, address = info
    if refusal(str(address[0])):
        raise PrivateAddressError
    return socket.socket(family=family, type=kind, proto=protocol)
