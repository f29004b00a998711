"""New connections to an endpoint: by name, directly or through a proxy, secure where its URL says so."""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from functools import cache
from typing import cast
from urllib.parse import SplitResult, unquote

import aiohappyeyeballs

from overton.models.wire import Wire

__all__ = ["ProxyRefusal", "UnfitProxy", "connect", "proxy_credentials"]

_PORTS = {"http": 80, "https": 443}
_STAGGER = 0.25  # seconds until the next of a name's addresses is tried beside the first (RFC 8305)
_REPLY_LIMIT = 64 * 2**10


class ProxyRefusal(Exception):
    """A proxy that made no tunnel; `status` is its answer's, 0 where it gave none."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(str(status))


class UnfitProxy(Exception):
    """A proxy that is not spoken to by plain HTTP."""


async def connect(url: SplitResult, proxy: SplitResult | None) -> Wire:
    """Open a connection on which requests for `url` can be sent.

    Raises:
        ssl.SSLCertVerificationError: the endpoint's certificate is not to be trusted.
        ProxyRefusal, UnfitProxy: the proxy is in the way.
        OSError: no connection.
    """
    loop = asyncio.get_running_loop()
    if proxy is not None and proxy.scheme != "http":
        raise UnfitProxy
    sock = await _socket(proxy or url)
    secured = secure() if url.scheme == "https" else None
    if proxy is None or secured is None:
        name = url.hostname if secured else None
        _, wire = await loop.create_connection(Wire, sock=sock, ssl=secured, server_hostname=name)
        return wire
    transport, tunnel = await loop.create_connection(lambda: _Tunnel(url, proxy), sock=sock)
    await tunnel.opened
    wire = Wire()
    upgraded = await loop.start_tls(transport, wire, secured, server_hostname=url.hostname)
    if upgraded is None:
        raise ConnectionResetError("closed while it became secure")
    wire.connection_made(upgraded)
    return wire


@cache
def secure() -> ssl.SSLContext:
    """The system's own trust, as SSL_CERT_FILE and SSL_CERT_DIR may change it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def proxy_credentials(proxy: SplitResult) -> str:
    """The value of a Proxy-Authorization header; '' where the proxy's URL names nobody."""
    if proxy.username is None:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


async def _socket(url: SplitResult) -> socket.socket:
    loop = asyncio.get_running_loop()
    port = url.port or _PORTS[url.scheme]
    found = await loop.getaddrinfo(url.hostname, port, type=socket.SOCK_STREAM)
    return await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=_STAGGER, interleave=1, loop=loop)


class _Tunnel(asyncio.Protocol):
    """Asks a proxy for a tunnel; `opened` ends when there is one."""

    def __init__(self, url: SplitResult, proxy: SplitResult) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._target = f"{url.netloc.rpartition('@')[2].rpartition(':')[0] or url.hostname}:{url.port or 443}"
        self._credentials = proxy_credentials(proxy)
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        lines = [f"CONNECT {self._target} HTTP/1.1", f"Host: {self._target}"]
        if self._credentials:
            lines.append(f"Proxy-Authorization: {self._credentials}")
        cast("asyncio.Transport", transport).write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def data_received(self, data: bytes) -> None:
        """Read the answer's first line once its head is whole."""
        self._read += data
        if self.opened.done() or (b"\r\n\r\n" not in self._read and len(self._read) < _REPLY_LIMIT):
            return
        status = self._read.split(b" ", 2)[1:2]
        if status and status[0][:3] == b"200":
            self.opened.set_result(None)
        else:
            self.opened.set_exception(ProxyRefusal(int(status[0][:3]) if status and status[0][:3].isdigit() else 0))

    def connection_lost(self, error: Exception | None) -> None:
        """No tunnel."""
        if not self.opened.done():
            self.opened.set_exception(ProxyRefusal(0))
