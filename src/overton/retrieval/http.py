"""A client that sends single requests over guarded connections, within limits, and returns the response as received."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from overton.retrieval.address_guard import GuardedConnector, PrivateAddressError
from overton.retrieval.limits import FetchLimits, PageSkipped, declared_type, is_text

_ACCEPT = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"
_HEADER_BYTES = 16_384


@dataclass(frozen=True)
class Exchange:
    """A request and its response as sent and received.

    `body` is the body as received: without chunk framing, but still with its content encodings. `truncated` is the
    reason why the body is incomplete, in WARC's words ('length', 'time', 'disconnect', or 'unspecified' if the body was
    not needed). It is '' if the body is complete.
    """

    url: URL
    request: tuple[tuple[str, str], ...]
    version: str
    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    truncated: str = ""

    def header(self, name: str) -> str:
        """The first header of this name, '' if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


class GuardedHttp:
    """A client that requests one address at a time. It follows no redirects, keeps no cookies, and uses no proxy or
    credentials.

    Hosts that the user allowed by name are reached through a separate connector, and all other hosts through the
    guarded connector. Sessions are made at the first request, inside the running loop.
    """

    def __init__(self, limits: FetchLimits, resolver: AbstractResolver | None = None) -> None:
        self._limits = limits
        self._resolver = resolver
        self._sessions: dict[bool, aiohttp.ClientSession] = {}

    async def get(self, url: URL, *, seconds: float, most: int, any_type: bool = False) -> Exchange:
        """Send one request. The body is read only if the request succeeded and the body contains text. With `any_type`,
        bodies of all types are read.

        A body of more than `most` bytes is truncated to `most` bytes, and marked as truncated.

        Raises:
            PageSkipped: no answer came in time, or the address is not public.
        """
        session = self._session(allowed=self._limits.allows(url.host or ""))
        timeout = aiohttp.ClientTimeout(total=max(seconds, 0.001), sock_connect=min(10.0, max(seconds, 0.001)))
        try:
            async with session.get(url, timeout=timeout, allow_redirects=False) as response:
                return await _read_exchange(response, most, any_type)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
            # A URL that cannot be sent raises a ValueError; uvloop raises RuntimeErrors for sockets.
            raise _why_skipped(error) from None

    def _session(self, *, allowed: bool) -> aiohttp.ClientSession:
        if allowed not in self._sessions:
            most = self._limits.connections
            connector = (
                aiohttp.TCPConnector(limit=most, resolver=self._resolver, use_dns_cache=False)
                if allowed
                else GuardedConnector(connections=most, resolver=self._resolver)
            )
            self._sessions[allowed] = aiohttp.ClientSession(
                connector=connector,
                headers={"User-Agent": self._limits.agent, "Accept": _ACCEPT, "Accept-Encoding": "gzip, deflate"},
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                max_line_size=_HEADER_BYTES,
                max_field_size=_HEADER_BYTES,
            )
        return self._sessions[allowed]

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()


async def _read_exchange(response: aiohttp.ClientResponse, most: int, any_type: bool) -> Exchange:
    headers = tuple((_decode_latin1(name), _decode_latin1(value)) for name, value in response.raw_headers)
    wanted = response.status == HTTPStatus.OK and (any_type or is_text(declared_type(response.headers)))
    body, truncated = await _read_body(response, most) if wanted else (b"", _skip_body(response))
    version = response.version
    return Exchange(
        url=response.url,
        request=tuple((name, value) for name, value in response.request_info.headers.items()),
        version=f"HTTP/{version.major}.{version.minor}" if version else "HTTP/1.1",
        status=response.status,
        reason=response.reason or "",
        headers=headers,
        body=body,
        truncated=truncated,
    )


async def _read_body(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, str]:
    content = bytearray()
    try:
        async for chunk in response.content.iter_any():
            content += chunk
            if len(content) > most:
                response.close()
                return bytes(content[:most]), "length"
    except TimeoutError:
        return bytes(content), "time"
    except aiohttp.ClientError:
        return bytes(content), "disconnect"
    return bytes(content), ""


def _skip_body(response: aiohttp.ClientResponse) -> str:
    empty = response.headers.get("Content-Length") == "0" or response.status in {204, 304}
    if not empty:
        response.close()  # do not wait for an unwanted body
    return "" if empty else "unspecified"


def _decode_latin1(raw: bytes) -> str:
    return raw.decode("latin-1")


def _why_skipped(error: BaseException) -> PageSkipped:
    """The reason why a request got no response. The texts of errors are left out, because they may contain
    addresses."""
    if _is_private(error):
        return PageSkipped("private address")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        again = getattr(error.os_error, "errno", None) == socket.EAI_AGAIN
        return PageSkipped("no such host", again=again, network=True)
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return PageSkipped("TLS")
    if isinstance(error, asyncio.TimeoutError):
        return PageSkipped("timeout", again=True, network=isinstance(error, aiohttp.ConnectionTimeoutError))
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return PageSkipped("invalid address")
    if isinstance(error, aiohttp.ClientConnectorError | RuntimeError):
        return PageSkipped("no connection", again=True, network=True)
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
        return PageSkipped("disconnected", again=True)
    return PageSkipped("not HTTP")


def _is_private(error: BaseException | None) -> bool:
    """Whether the guard blocked at least one of a name's addresses, and no other address answered."""
    while error is not None:
        inner = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else None
        if isinstance(error, PrivateAddressError) or "private address" in str(inner):
            return True
        error = inner or error.__cause__
    return False
