"""A client for an HTTP endpoint. It sends and receives bodies, and raises a specific error for every fault."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import SplitResult, quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError, Unreadable
from overton.key_values import authority
from overton.models.endpoint import Endpoint
from overton.models.http_connection import (
    Dropped,
    HttpConnection,
    HttpReply,
    ProxyRefusal,
    TimedOut,
    TooLarge,
    UnfitProxy,
    WireError,
    connect,
    proxy_credentials,
)
from overton.models.http_errors import ErrorContext, error_for
from overton.untrusted import decode_json
from overton.version import __version__

MOST_REPLY_BYTES = 2**24
_CONNECT_TIMEOUT_S = 30.0

T = TypeVar("T")


class HttpClient:
    """A client that posts bodies to one model's endpoint and returns the bodies of its replies, without retries.

    Connections are made as needed, inside the running loop, and kept for later requests. The caller limits the number
    of requests in flight. Redirects are not followed, cookies are not kept, and no repr shows the key.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        path: str,
        *,
        key_header: tuple[str, str] = ("Authorization", "Bearer "),
        headers: Mapping[str, str] | None = None,
        timeout: float = 600.0,
    ) -> None:
        self._key = endpoint.key
        self._timeout = timeout
        named = {"Content-Type": "application/json", "User-Agent": f"overton/{__version__}", **(headers or {})}
        if self._key:
            name, prefix = key_header
            named[name] = prefix + self._key.reveal()
        self._address = _make_address(endpoint, endpoint.base_url + path, named)
        self._under_way: set[HttpConnection] = set()

    def __repr__(self) -> str:
        return f"Transport({self._address.url.geturl()})"

    async def post(self, body: bytes) -> tuple[bytes, ErrorContext]:
        """Send one request. Return the reply's body and the server that replied. The reply's status must be 200.

        Raises:
            UnavailableError, RejectedError, AccessError: see `error_for`, `malformed` and `_transport_error`.
        """
        outcome = await self._exchange(self._address, body)
        if isinstance(outcome, tuple):
            return outcome
        # Raise here, outside any handler of connection errors, because the frames of those errors contain the request
        # and therefore the key.
        raise outcome

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        while self._address.idle:
            self._address.idle.pop().abort()

    def abandon(self) -> None:
        """Make all requests in flight fail. The error says that they may have been processed."""
        for wire in tuple(self._under_way):
            wire.abort()

    async def _exchange(self, address: Address, body: bytes) -> tuple[bytes, ErrorContext] | AnswerError:
        try:
            wire, reply = await self._send(address, b"%b%d\r\n\r\n%b" % (address.head, len(body), body))
        except (WireError, ProxyRefusal, UnfitProxy, OSError) as error:  # time-outs are OSErrors
            return _transport_error(error, address.target, self._timeout)
        address.keep(wire)
        if reply.status == 200:
            return reply.body, address.target
        return error_for(reply.status, reply.headers, reply.body, address.target)

    async def _send(self, address: Address, request: bytes) -> tuple[HttpConnection, HttpReply]:
        """Send over a kept connection, or a new one.

        A kept connection may have been closed without notice. If the request certainly did not arrive (see `Dropped`),
        it is sent again over a new connection, and still counts as one request. If it is unknown whether the request
        arrived, it is not sent again, because a client may not repeat paid requests by itself (RFC 9112, section
        9.3.1).
        """
        wire = _take_idle(address)
        if wire is not None:
            self._under_way.add(wire)
            try:
                reply = await wire.exchange(request, self._timeout)
            except Dropped as dropped:
                address.note_gone()
                if not dropped.untaken:
                    raise
            else:
                address.gone = 0
                return wire, reply
            finally:
                self._under_way.discard(wire)
        wire = await self._connect(address)
        self._under_way.add(wire)
        try:
            return wire, await wire.exchange(request, self._timeout)
        finally:
            self._under_way.discard(wire)

    async def _connect(self, address: Address) -> HttpConnection:
        async with asyncio.timeout(min(_CONNECT_TIMEOUT_S, self._timeout)):
            return await connect(address.url, address.proxy, address.peer)


class ApiClient:
    """A client for the rest of a provider's API, such as batches. It sends few requests, some of them large, each over
    a connection of its own."""

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        key_header: tuple[str, str] = ("Authorization", "Bearer "),
        headers: Mapping[str, str] | None = None,
        timeout: float = 600.0,
    ) -> None:
        self._base = endpoint.base_url
        self._endpoint = endpoint
        self._timeout = timeout
        self._headers = {"User-Agent": f"overton/{__version__}", "Connection": "close", **(headers or {})}
        if endpoint.key:
            name, prefix = key_header
            self._headers[name] = prefix + endpoint.key.reveal()
        self.target = _make_address(endpoint, self._base, {}).target

    def __repr__(self) -> str:
        return f"Service({self._base})"

    async def exchange(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        content: str = "application/json",
        most: int = MOST_REPLY_BYTES,
    ) -> bytes:
        """Send one request to `path` below the base URL. Return the reply's body, of at most `most` bytes.

        Raises:
            UnavailableError, RejectedError, AccessError: as `HttpClient.post`.
        """
        headers = self._headers | ({"Content-Type": content} if body else {})
        url = urlsplit(self._base + path)
        proxy = None if self._endpoint.peer else _proxy_for(url)
        request = b"%b%d\r\n\r\n%b" % (_request_head(url, proxy, headers, method), len(body), body)
        outcome = await self._outcome(url, proxy, request, most)
        if isinstance(outcome, bytes):
            return outcome
        raise outcome

    async def _outcome(
        self, url: SplitResult, proxy: SplitResult | None, request: bytes, most: int
    ) -> bytes | AnswerError:
        try:
            async with asyncio.timeout(min(_CONNECT_TIMEOUT_S, self._timeout)):
                wire = await connect(url, proxy, self._endpoint.peer)
            try:
                reply = await wire.exchange(request, self._timeout, most)
            finally:
                wire.abort()
        except (WireError, ProxyRefusal, UnfitProxy, OSError) as error:  # time-outs are OSErrors
            return _transport_error(error, self.target, self._timeout, most)
        if 200 <= reply.status < 300:
            return reply.body
        return error_for(reply.status, reply.headers, reply.body, self.target)


def _take_idle(address: Address) -> HttpConnection | None:
    """An idle connection that is still open. The one used last is tried first, because it is the likeliest to be
    open."""
    while address.idle:
        wire = address.idle.pop()
        if wire.usable and not wire.ended_unseen():
            return wire
        wire.abort()
    return None


def malformed(target: ErrorContext, reason: str) -> UnavailableError:
    """The error for a reply that cannot be read although its status was 200."""
    message = f"{target.name}: the reply from {target.host} cannot be read: {reason}"
    return UnavailableError("malformed", message, maybe_billed=True)


def _transport_error(
    error: Exception, target: ErrorContext, timeout: float, most: int = MOST_REPLY_BYTES
) -> AnswerError:
    """The error for a request without a complete reply. The message leaves out the text of the connection's own
    error."""
    name, host = target.name, target.host
    match error:
        case TooLarge():
            return RejectedError(
                "too large", f"{name}: {host} replied with more than {most // 2**20} MiB", maybe_billed=True
            )
        case TimedOut():
            message = f"{name}: no complete reply from {host} in {timeout:g} seconds (timeout=SECONDS allows more)"
            return UnavailableError("timeout", message, maybe_billed=True)
        case Dropped():
            message = f"{name}: {host} dropped the connection before it replied"
            return UnavailableError("connection", message, maybe_billed=not error.untaken)
        case WireError():
            return malformed(target, "it ended early or is not HTTP")
        case ssl.SSLCertVerificationError():
            return AccessError(
                "certificate", f"{name}: no secure connection to {host}: check its certificate and base_url"
            )
        case ProxyRefusal():
            return _proxy_error(error.status, target)
        case UnfitProxy():
            return AccessError("proxy", f"{name}: only http:// proxies are supported: check HTTPS_PROXY and HTTP_PROXY")
        case TimeoutError():
            return UnavailableError("timeout", f"{name}: no connection to {host} in time")
    reason = getattr(error, "strerror", None) or type(error).__name__
    return UnavailableError("connection", f"{name}: cannot connect to {host}: {reason}")


def _proxy_error(status: int, target: ErrorContext) -> AnswerError:
    if status == 407:
        return AccessError("proxy", f"{target.name}: the proxy requires credentials: check HTTPS_PROXY and HTTP_PROXY")
    return UnavailableError("connection", f"{target.name}: the proxy made no connection to {target.host} ({status})")


_MAX_GONE = 3
_CONNECTIONS_NOT_KEPT = 100
_SAFE_PATH_CHARS = "/%:@!$&'()*+,;=~"


@dataclass(slots=True)
class Address:
    """A target of requests: its URL, its name in errors, the proxy that leads to it, and its open connections.

    `head` is the start of a request, up to the value of the last header (Content-Length). It contains the key. `idle`
    are open connections that are not in use. `gone` counts how often in a row a kept connection turned out to be
    closed by the server. Each of the next `unkept` connections is closed after its reply. `peer` is the
    IP address to connect to, '' for any address of the URL's host.
    """

    url: SplitResult
    target: ErrorContext
    proxy: SplitResult | None = field(repr=False)
    head: bytes = field(repr=False)
    idle: list[HttpConnection] = field(default_factory=list, repr=False)
    peer: str = ""
    gone: int = 0
    unkept: int = 0

    def keep(self, wire: HttpConnection) -> None:
        """After a reply has arrived, keep the connection for the next request, or close it."""
        if self.unkept:
            self.unkept -= 1
            wire.abort()
        elif wire.usable:
            self.idle.append(wire)

    def note_gone(self) -> None:
        """Handle a kept connection that the server had closed. Some servers close every connection without notice. A
        request sent over such a connection may be billed without a reply. So after a few closures in a row, each of
        the next hundred requests gets a connection of its own."""
        self.gone += 1
        if self.gone >= _MAX_GONE:
            self.unkept = _CONNECTIONS_NOT_KEPT
            while self.idle:
                self.idle.pop().abort()


def _make_address(endpoint: Endpoint, url: str, headers: Mapping[str, str]) -> Address:
    split = urlsplit(url)
    host = f"{split.hostname}:{split.port}" if split.port else str(split.hostname)
    host += f" at {endpoint.peer}" if endpoint.peer else ""
    target = ErrorContext(endpoint.name, endpoint.model, host, endpoint.key)
    proxy = None if endpoint.peer else _proxy_for(split)
    return Address(split, target, proxy, _request_head(split, proxy, headers), peer=endpoint.peer)


def _request_head(
    url: SplitResult, proxy: SplitResult | None, headers: Mapping[str, str], method: str = "POST"
) -> bytes:
    host = authority(url)
    target = quote(url.path, safe=_SAFE_PATH_CHARS) + (f"?{url.query}" if url.query else "")
    named = {"Host": host, "Accept": "*/*", "Accept-Encoding": "identity", **headers}
    if proxy is not None and url.scheme == "http":  # a proxy forwards http:// requests, and tunnels https:// ones
        target = f"http://{host}{target}"
        if credentials := proxy_credentials(proxy):
            named["Proxy-Authorization"] = credentials
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "Content-Length: "]
    return "\r\n".join(lines).encode("latin-1")


def _proxy_for(url: SplitResult) -> SplitResult | None:
    """The proxy that the environment sets for this URL."""
    proxy = getproxies().get(url.scheme)
    return None if proxy is None or proxy_bypass(url.hostname or "") else urlsplit(proxy)


_encode = msgspec.json.Encoder().encode


def encoded(texts: Any) -> bytes:
    """Encode messages, or one text, as JSON.

    Raises:
        RejectedError: a text contains half a surrogate pair, which JSON cannot encode.
    """
    try:
        return _encode(texts)
    except UnicodeEncodeError:
        raise RejectedError("rejected", "a message contains half a surrogate pair: correct the item's text") from None


def decode_body(
    body: bytes, target: ErrorContext, decode: Callable[[bytes | str], T], without_usage: Callable[[bytes | str], T]
) -> T:
    """Decode a reply's body. If only the token counts are invalid, ignore them, because the answer is still valid and
    may be billed.

    Raises:
        UnavailableError: the body does not have the expected form.
    """
    try:
        return decode_json(body, decode)
    except Unreadable as error:
        if not error.wrong_form:
            raise malformed(target, _why_unreadable(body, error)) from None
    try:
        return decode_json(body, without_usage)
    except Unreadable as error:
        raise malformed(target, _why_unreadable(body, error)) from None


def _why_unreadable(body: bytes, error: Unreadable) -> str:
    if not body.strip():
        return "it is empty"
    if body.lstrip().startswith(b"<"):
        return "it is HTML, not JSON (is the base URL right?)"
    return error.reason if error.wrong_form else f"it {error.reason}"
