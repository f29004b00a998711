"""The way to an HTTP endpoint: one session a model, bodies of bounded size, and every fault under its name."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping

import aiohttp

from overton import __version__
from overton.errors import AccessError, AnswerError, RejectedError, UnavailableError
from overton.models.addresses import Address, addresses_of, least_loaded
from overton.models.endpoints import Endpoint
from overton.models.status import Target, error_for

__all__ = ["Transport", "malformed"]

_BODY_LIMIT = 16 * 2**20
_CONNECT_TIMEOUT = 30.0
_STREAMED_FROM = 2**20  # aiohttp warns of larger bodies given as bytes


class Transport:
    """Posts bodies to one model's endpoint and gives back the bodies of its replies: one attempt each.

    Several base URLs share the load (see `overton.models.addresses`). The session is made at the
    first request, inside the running loop. Redirects are not followed, cookies not kept, and the key is in no repr.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        path: str,
        *,
        key_header: tuple[str, str] = ("Authorization", "Bearer "),
        headers: Mapping[str, str] | None = None,
        connections: int = 64,
        timeout: float = 600.0,
    ) -> None:
        self._addresses = addresses_of(endpoint, path)
        self._secret = endpoint.secret
        self._key_header = key_header
        self._headers = {"Content-Type": "application/json", "User-Agent": f"overton/{__version__}", **(headers or {})}
        self._connections = connections
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Transport({', '.join(str(address.url) for address in self._addresses)})"

    async def post(self, body: bytes) -> tuple[bytes, Target]:
        """Send one request and return the body of its reply, which had status 200, and who replied.

        Raises:
            UnavailableError, RejectedError, AccessError: as `overton.models.status` and the faults below name them.
        """
        addresses = self._addresses
        outcome = await (self._exchange(addresses[0], body) if len(addresses) == 1 else self._exchange_shared(body))
        if isinstance(outcome, tuple):
            return outcome
        # Raised here, where no client error is being handled: those hold the request's headers, and so the key.
        raise outcome

    async def _exchange_shared(self, body: bytes) -> tuple[bytes, Target] | AnswerError:
        clock = asyncio.get_running_loop().time
        address = least_loaded(self._addresses, clock())
        address.in_flight += 1
        try:
            outcome = await self._exchange(address, body)
        finally:
            address.in_flight -= 1
        address.note(outcome, clock())
        return outcome

    async def _exchange(self, address: Address, body: bytes) -> tuple[bytes, Target] | AnswerError:
        data = body if len(body) < _STREAMED_FROM else io.BytesIO(body)
        session = self._session or self._open()
        try:
            async with session.post(address.url, data=data, proxy=address.proxy, allow_redirects=False) as response:
                content = await _read(response)
                if content is None:
                    return _too_large(address.target)
                content = self._secret.hide_in_body(content)
                if response.status == 200:
                    return content, address.target
                return error_for(response.status, response.headers, content, address.target)
        except (aiohttp.ClientError, OSError) as error:  # time-outs are OSErrors
            return _fault(error, address.target, self._timeout)

    def _open(self) -> aiohttp.ClientSession:
        headers = dict(self._headers)
        if self._secret:
            name, prefix = self._key_header
            headers[name] = prefix + self._secret.reveal()
        self._session = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=self._connections, ttl_dns_cache=300),
            timeout=aiohttp.ClientTimeout(total=self._timeout, sock_connect=min(_CONNECT_TIMEOUT, self._timeout)),
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self._session

    async def close(self) -> None:
        """Close all connections; the next request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()


async def _read(response: aiohttp.ClientResponse) -> bytes | None:
    """The reply's body; None if it is larger than 16 MiB once decompressed."""
    declared = response.content_length
    if declared is not None and "Content-Encoding" not in response.headers:
        return await response.read() if declared <= _BODY_LIMIT else None
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > _BODY_LIMIT:
            return None
    return bytes(content)


def _too_large(target: Target) -> RejectedError:
    return RejectedError("too large", f"{target.name}: {target.host} replied with more than 16 MiB")


def malformed(target: Target, reason: str) -> UnavailableError:
    """A reply that cannot be read, although its status was 200."""
    message = f"{target.name}: the reply from {target.host} cannot be read: {reason}"
    return UnavailableError("malformed", message, maybe_billed=True)


def _fault(error: aiohttp.ClientError | OSError, target: Target, timeout: float) -> AnswerError:
    """The error for a request that got no whole reply. Client errors' own texts may hold headers and are left out."""
    name, host = target.name, target.host
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return AccessError("certificate", f"{name}: no secure connection to {host}: check its certificate and base_url")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return _proxy_fault(error.status, target)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return UnavailableError("timeout", f"{name}: no connection to {host} in time")
    if isinstance(error, asyncio.TimeoutError):
        message = f"{name}: no whole reply from {host} in {timeout:g} seconds (timeout=SECONDS allows more)"
        return UnavailableError("timeout", message, maybe_billed=True)
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = error.os_error.strerror or type(error.os_error).__name__
        return UnavailableError("connection", f"{name}: cannot connect to {host}: {reason}")
    if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
        return malformed(target, "it ended early or is not HTTP")
    message = f"{name}: {host} dropped the connection before it replied ({type(error).__name__})"
    return UnavailableError("connection", message, maybe_billed=True)


def _proxy_fault(status: int, target: Target) -> AnswerError:
    if status == 407:
        return AccessError("proxy", f"{target.name}: the proxy wants credentials: check HTTPS_PROXY and HTTP_PROXY")
    return UnavailableError("connection", f"{target.name}: the proxy made no connection to {target.host} ({status})")
