"""The way to a search service: one request, its keys hidden, a bounded body, and a named error for every fault."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from overton.calls import Hit
from overton.errors import AccessError, AnswerError, InputError, Problem, RejectedError, UnavailableError, Unreadable
from overton.retrieval.extraction import one_line
from overton.retrieval.limits import Unread, inflated
from overton.untrusted import Hiding, decode_json, retry_after
from overton.version import __version__

__all__ = ["Answer", "Key", "Service", "distinct_hits", "key_from"]

_BODY_LIMIT = 8 * 2**20
_MESSAGE_LIMIT = 300
_LOOKED_AT = 32 * _MESSAGE_LIMIT
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Answer:
    """A service's response: its status, headers and JSON (None if it is not JSON)."""

    status: int
    headers: Mapping[str, str]
    content: Any


class Service:
    """One search service. `name` is its spec for errors; no error, log or repr contains a key.

    Redirects are not followed, cookies not kept, and no proxy or credentials are taken from the environment.
    """

    def __init__(self, name: str, url: str, *, keys: Sequence[Key] = (), timeout: float = 30.0) -> None:
        self.name = name
        self._url = URL(url)
        self._keys = tuple(keys)
        self._timeout = timeout
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Service({self.name!r})"

    async def get(self, query: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Answer:
        """Send one query in the address.

        Raises:
            UnavailableError: no complete response came.
        """
        return await self._answer("GET", headers, params=query)

    async def post(self, query: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
        """Send one query as a JSON object.

        Raises:
            UnavailableError: no complete response came.
        """
        return await self._answer("POST", headers, json=query)

    async def _answer(self, method: str, headers: Mapping[str, str] | None, **query: Any) -> Answer:
        outcome = await self._exchange(method, headers or {}, query)
        if isinstance(outcome, Answer):
            return outcome
        # Raised here, outside any handler of client errors: those contain the request's address and headers.
        raise outcome

    async def _exchange(
        self, method: str, headers: Mapping[str, str], query: Mapping[str, Any]
    ) -> Answer | AnswerError:
        session = self._session or self._open()
        try:
            async with session.request(method, self._url, headers=headers, allow_redirects=False, **query) as response:
                body = inflated(await _read(response), response.headers.get("Content-Encoding", ""), _BODY_LIMIT)
                return Answer(response.status, response.headers, _json(body))
        except Unread as unread:
            return self.malformed(unread.reason)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
            # Time-outs are OSErrors; unreadable headers are ValueErrors; uvloop has RuntimeErrors.
            return self._fault(error)

    def _open(self) -> aiohttp.ClientSession:
        self._session = aiohttp.ClientSession(
            headers={
                "User-Agent": f"overton/{__version__}",
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",
            },
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )
        return self._session

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def unavailable(self, kind: str, reason: str, wait: float | None = None) -> UnavailableError:
        """An error worth retrying."""
        return UnavailableError(kind, f"{self.name}: {self.hidden(reason)}", retry_after=wait)

    def refused(self, kind: str, reason: str) -> AccessError:
        """An error for every query."""
        return AccessError(kind, f"{self.name}: {self.hidden(reason)}")

    def rejected(self, kind: str, reason: str) -> RejectedError:
        """A permanent error for this query."""
        return RejectedError(kind, f"{self.name}: {self.hidden(reason)}")

    def other(self, answer: Answer, said: str) -> AnswerError:
        """The error for a status that means the same for every service."""
        suffix = f" ({answer.status}{': ' + said if said else ''})"
        if answer.status == 429:
            return self.unavailable("rate limit", f"too many requests{suffix}", retry_after(answer.headers))
        if answer.status >= 500 or answer.status == 408:
            return self.unavailable("server error", f"the service failed{suffix}", retry_after(answer.headers))
        if 300 <= answer.status < 400:
            return self.refused("redirect", f"it redirects elsewhere: give the final address with base_url{suffix}")
        if answer.status in {401, 403, 404, 405}:
            return self.refused("no permission", f"it does not permit this{suffix}")
        return self.rejected("rejected", f"the query was rejected{suffix}")

    def malformed(self, reason: str) -> UnavailableError:
        """The error for an unreadable response with status 200."""
        return self.unavailable("malformed", f"the answer cannot be read: {reason}")

    def hit(self, url: object, title: object, snippet: object) -> Hit | None:
        """A result as journaled, each part on one line and without keys; None if there is no address."""
        parts = [one_line(part) for part in (url, title, snippet)]
        for key in self._keys:
            parts = [key.hide_in_reply(part) for part in parts]
        return Hit(*parts) if parts[0] else None

    def hidden(self, text: str) -> str:
        """The service's text for a message: without keys or control characters, and short."""
        text = text[:_LOOKED_AT]
        for key in self._keys:
            text = key.hide(text)
        shown = one_line(text)
        return shown if len(shown) <= _MESSAGE_LIMIT else shown[: _MESSAGE_LIMIT - 3] + "..."

    def _fault(self, error: Exception) -> AnswerError:
        """Client errors' own texts contain the address, and so perhaps a key: they are left out."""
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return self.refused("certificate", "no secure connection: check its certificate and base_url")
        if isinstance(error, asyncio.TimeoutError):
            return self.unavailable("timeout", f"no answer in {self._timeout:g} seconds (timeout=SECONDS allows more)")
        if isinstance(error, aiohttp.ClientConnectorError):
            reason = error.os_error.strerror or type(error.os_error).__name__
            return self.unavailable("connection", f"cannot connect: {reason}")
        if isinstance(error, aiohttp.ClientPayloadError | aiohttp.ClientResponseError):
            return self.malformed("it ended early or is not HTTP")
        return self.unavailable("connection", f"the connection was dropped ({type(error).__name__})")


async def distinct_hits(page_of: Callable[[int], Awaitable[list[Hit]]], pages: int, top: int) -> tuple[Hit, ...]:
    """The first `top` hits with different addresses, of at most so many pages, numbered from 1.

    Pages are fetched until there are enough hits, or a page has none that is new.
    """
    hits: dict[str, Hit] = {}
    for page in range(1, pages + 1):
        known = len(hits)
        for hit in await page_of(page):
            hits.setdefault(hit.url, hit)
        if len(hits) >= top or len(hits) == known:
            break
    return tuple(hits.values())[:top]


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > _BODY_LIMIT:
            raise Unread("too large")
    return bytes(content)


def _json(body: bytes) -> Any:
    try:
        return decode_json(body, _decode)
    except Unreadable:
        return None


@dataclass(frozen=True)
class Key:
    """A key and the environment variable that it came from; empty if none is needed yet. Its repr has no value."""

    variable: str
    _value: str = field(repr=False)

    def reveal(self) -> str:
        """The key itself, for a request and nothing else."""
        return self._value

    def hide(self, text: str) -> str:
        """The text of an error without the key, however it is written there."""
        return self._hiding.in_message(text)

    def hide_in_reply(self, text: str) -> str:
        """The text of a result without the key."""
        return self._hiding.in_reply(text)

    @cached_property
    def _hiding(self) -> Hiding:
        return Hiding(self._value)


def key_from(variable: str, place: str, *, needed: bool = True) -> Key:
    """The key in an environment variable; `place` is the spec that needs it, for errors.

    Raises:
        InputError: it is needed and missing, or not a possible key.
    """
    value = os.environ.get(variable, "").strip()
    if not value and needed:
        raise InputError([Problem("--search", place, f"no API key: set {variable} in the environment")])
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise InputError([Problem("environment", variable, "not a key: it contains spaces or impossible characters")])
    return Key(variable, value)
