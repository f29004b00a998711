"""One HTTP/1.1 connection on httptools.

Every call of a run passes through this code, so Overton has its own client with httptools' parser. A general client
takes six times as long per request (`benchmarks/engine.py`). This is longer than all other parts of the engine take
together.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import struct
import sys
from base64 import b64encode
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, Protocol, cast
from urllib.parse import SplitResult, unquote

import aiohappyeyeballs
import httptools

from overton.errors import Unreadable
from overton.untrusted import Limit, inflated

if sys.platform == "linux":
    import fcntl
    import termios


class Socket(Protocol):
    """A connection's socket, as event loops expose it."""

    def fileno(self) -> int:
        """The socket's file descriptor, -1 once the socket is closed."""
        ...


def watched(sock: Socket | None) -> Callable[[], bool]:
    """Return a function that says whether an idle connection has received anything that the event loop has not read
    yet. This is either the connection's end or unsolicited data. On Windows, or if the loop exposes no socket, the
    function always returns False."""
    if sock is None or not hasattr(select, "poll"):
        return lambda: False
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    return lambda: bool(poll.poll(0))


def unacknowledged(sock: Socket | None) -> int:
    """The number of written bytes that the other machine has not acknowledged. It is 0 if the operating system does not
    report this number."""
    if sock is None or sys.platform != "linux" or sock.fileno() < 0:
        return 0
    try:
        (count,) = struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))
    except OSError:
        return 0
    return int(count)


_BODY_LIMIT = 16 * 2**20
"""The default limit on a reply's body in bytes. It applies before and after decompression."""
_HEAD_LIMIT = 2**20
_WINDOW_BITS = {"gzip": 47, "x-gzip": 47, "deflate": 47}  # zlib's window bits; 47 accepts gzip and zlib headers


class WireError(Exception):
    """The error of an exchange without a complete reply."""


class Dropped(WireError):
    """The connection ended before the reply began. `untaken` is True if the server certainly never received the
    request."""

    def __init__(self, reason: str, *, untaken: bool = False) -> None:
        self.untaken = untaken
        super().__init__(reason)


class Garbled(WireError):
    """The bytes that arrived are not HTTP, or ended within the reply."""


class TooLarge(WireError):
    """The reply is larger than allowed."""


class TimedOut(WireError):
    """No complete reply in time."""


class HttpReply(NamedTuple):
    """A complete reply: its status, headers (names in lower case) and decompressed body."""

    status: int
    headers: dict[str, str]
    body: bytes


class HttpConnection(asyncio.Protocol):
    """A connection for one exchange at a time. `usable` is False once the connection cannot be used again."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._waiting: asyncio.Future[HttpReply] | None = None
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []
        self._socket: Socket | None = None
        self._has_news: Callable[[], bool] = bool
        self._sent = 0
        self._max_bytes = _BODY_LIMIT
        self._reset()
        self.usable = True

    async def exchange(self, request: bytes, seconds: float, most: int = _BODY_LIMIT) -> HttpReply:
        """Send a request and return its complete reply. The reply must arrive within `seconds` and have at most `most`
        bytes.

        Cancelling this closes the connection, because a late reply would otherwise be taken for the reply to the next
        request.

        Raises:
            WireError: there is no complete reply. The connection is closed.
        """
        if self._transport is None or not self.usable:
            raise Dropped("the connection is closed", untaken=True)
        self._reset()
        self._max_bytes = most
        self._sent = len(request)
        self._waiting = self._loop.create_future()
        self._transport.write(request)
        alarm = self._loop.call_later(seconds, self._fail, TimedOut())
        try:
            return await self._waiting
        except asyncio.CancelledError:
            self.abort()
            raise
        finally:
            alarm.cancel()

    def ended_unseen(self) -> bool:
        """Whether the idle connection has ended and the event loop has not noticed yet."""
        return self._has_news()

    def abort(self) -> None:
        """Close at once."""
        self.usable = False
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport (also called by hand when a connection becomes secure)."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transports do not derive from asyncio's class
        self._socket = cast("Socket", transport.get_extra_info("socket"))
        self._has_news = watched(self._socket)

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived."""
        if self._waiting is None or self._waiting.done():
            self.abort()  # unsolicited data; it is unknown to which request they reply
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:  # no other protocol was requested
            self._fail(self._refusal or Garbled(str(error)))
            return
        if not self._waiting.done() and self._received > (
            2 * self._max_bytes if self._has_head else _HEAD_LIMIT
        ):  # including the sizes of chunks
            self._fail(TooLarge())

    def eof_received(self) -> bool:
        """Let the connection close."""
        self._untaken = self._is_untaken()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """End the current exchange; a body of undeclared length is now complete."""
        self.usable = False
        if self._has_head and self._is_open_ended and error is None:
            self.on_message_complete()
        elif self._received:
            self._fail(Garbled("it ended early"))
        else:
            self._fail(Dropped("it was closed", untaken=self._untaken))

    # Called by the parser

    def on_message_begin(self) -> None:
        """Refuse a second reply to the same request. Otherwise the end of the second reply would be taken for the reply
        to the next request."""
        if self._waiting is not None and self._waiting.done():
            self.abort()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header."""
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Refuse a reply whose declared length is too large; note whether the body's length is known."""
        self._has_head = self._parser.get_status_code() >= 200
        for name, value in self._headers:
            key = name.lower()
            if key == b"content-length":
                self._is_open_ended = False
                if int(value) > self._max_bytes:
                    self._refuse()
            elif key == b"transfer-encoding":
                self._is_open_ended = False

    def on_body(self, data: bytes) -> None:
        """Keep a part of the body."""
        self._size += len(data)
        if self._size > self._max_bytes:
            self._refuse()
        self._parts.append(data)

    def on_message_complete(self) -> None:
        """Pass on the reply. Responses before it ('100 Continue', '103 Early Hints') do not count as replies."""
        if not self._has_head:
            self._headers = []
            return
        self._has_head = False
        if not self._parser.should_keep_alive():
            self.usable = False
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._headers}
        try:
            body = _decompress(b"".join(self._parts), headers, self._max_bytes)
        except WireError as error:
            self._fail(error)
            return
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(HttpReply(self._parser.get_status_code(), headers, body))
        if not self.usable and self._transport is not None:
            self._transport.close()

    def _reset(self) -> None:
        self._headers, self._parts = [], []
        self._size = self._received = 0
        self._has_head = False
        self._is_open_ended = True
        self._untaken = False
        self._refusal: TooLarge | None = None

    def _is_untaken(self) -> bool:
        """Whether the connection ended before any byte of the request was acknowledged. The request was then not
        carried out.

        A server that closes an idle connection just as it is reused has sent the end before the request arrived. A
        server that receives the request and then closes acknowledges the request together with the end. A reset proves
        neither case, because a server may have read the whole request and sent the reset before any acknowledgement.
        """
        if self._socket is None or self._transport is None:
            return False
        waiting = self._transport.get_write_buffer_size()
        return 0 < self._sent <= unacknowledged(self._socket) + waiting

    def _refuse(self) -> None:
        """Stop reading, from within the parser. The parser then raises an error of its own, which does not give the
        reason."""
        self._refusal = TooLarge()
        raise self._refusal

    def _fail(self, error: WireError) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(error)
        self.abort()


def _decompress(body: bytes, headers: dict[str, str], most: int) -> bytes:
    """The body without compression. Overton requests none, but some servers compress anyway."""
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding == "identity" or not body:
        return body
    if coding not in _WINDOW_BITS:
        raise Garbled(f"its compression, {coding!r}, was not requested")
    try:
        return b"".join(inflated([body], _WINDOW_BITS[coding], Limit(most)))
    except Unreadable as error:
        raise (TooLarge() if error.too_large else Garbled(f"its body: {error.reason}")) from None


_DEFAULT_PORTS = {"http": 80, "https": 443}
_STAGGER_S = 0.25  # seconds until the next of a name's addresses is tried in parallel (RFC 8305)
_PROXY_REPLY_LIMIT = 64 * 2**10


class ProxyRefusal(Exception):
    """The error of a proxy that refused to make a tunnel. `status` is the status of the proxy's response, 0 if there
    was no response."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(str(status))


class UnfitProxy(Exception):
    """The error for a proxy that does not use plain HTTP."""


async def connect(url: SplitResult, proxy: SplitResult | None, peer: str = "") -> HttpConnection:
    """Open a connection for requests to `url`. `peer` is the IP address to use if the host has several.

    Raises:
        ssl.SSLCertVerificationError: the endpoint's certificate is not trusted.
        ProxyRefusal, UnfitProxy: the proxy cannot be used.
        OSError: no connection.
    """
    loop = asyncio.get_running_loop()
    if proxy is not None and proxy.scheme != "http":
        raise UnfitProxy
    sock = await _open_socket(proxy or url, peer)
    secured = _ssl_context() if url.scheme == "https" else None
    if proxy is None or secured is None:
        name = url.hostname if secured else None
        _, wire = await loop.create_connection(HttpConnection, sock=sock, ssl=secured, server_hostname=name)
        return wire
    transport, tunnel = await loop.create_connection(lambda: _Tunnel(url, proxy), sock=sock)
    await tunnel.opened
    wire = HttpConnection()
    upgraded = await loop.start_tls(transport, wire, secured, server_hostname=url.hostname)
    if upgraded is None:
        raise ConnectionResetError("closed during the TLS handshake")
    wire.connection_made(upgraded)
    return wire


@cache
def _ssl_context() -> ssl.SSLContext:
    """A context with the system's trusted certificates, or those in SSL_CERT_FILE and SSL_CERT_DIR."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def proxy_credentials(proxy: SplitResult) -> str:
    """The value of a Proxy-Authorization header; '' if the proxy's URL has no user."""
    if proxy.username is None:
        return ""
    pair = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return f"Basic {b64encode(pair.encode()).decode()}"


async def _open_socket(url: SplitResult, peer: str) -> socket.socket:
    loop = asyncio.get_running_loop()
    port = url.port or _DEFAULT_PORTS[url.scheme]
    found = await loop.getaddrinfo(peer or url.hostname, port, type=socket.SOCK_STREAM)
    return await aiohappyeyeballs.start_connection(found, happy_eyeballs_delay=_STAGGER_S, interleave=1, loop=loop)


class _Tunnel(asyncio.Protocol):
    """A request to a proxy for a tunnel. `opened` completes when the tunnel is open."""

    def __init__(self, url: SplitResult, proxy: SplitResult) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._target = f"{url.netloc.rpartition('@')[2].rpartition(':')[0] or url.hostname}:{url.port or 443}"
        self._credentials = proxy_credentials(proxy)
        self._response = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        lines = [f"CONNECT {self._target} HTTP/1.1", f"Host: {self._target}"]
        if self._credentials:
            lines.append(f"Proxy-Authorization: {self._credentials}")
        cast("asyncio.Transport", transport).write("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def data_received(self, data: bytes) -> None:
        """Read the response's first line once its head is complete."""
        self._response += data
        if self.opened.done() or (b"\r\n\r\n" not in self._response and len(self._response) < _PROXY_REPLY_LIMIT):
            return
        status = self._response.split(b" ", 2)[1:2]
        if status and status[0][:3] == b"200":
            self.opened.set_result(None)
        else:
            self.opened.set_exception(ProxyRefusal(int(status[0][:3]) if status and status[0][:3].isdigit() else 0))

    def connection_lost(self, error: Exception | None) -> None:
        """No tunnel."""
        if not self.opened.done():
            self.opened.set_exception(ProxyRefusal(0))
