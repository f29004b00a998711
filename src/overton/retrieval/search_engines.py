"""Search engines on the web, which share one client.

Google's own search API ends on 1 January 2027. Runs that began with this API can still be continued, but new runs
search Google through `serper`.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from overton.calls import Hit
from overton.errors import AccessError, AnswerError, InputError, Problem, RejectedError, UnavailableError, Unreadable
from overton.retrieval.limits import PageSkipped, inflate
from overton.retrieval.page_text import one_line
from overton.untrusted import ApiKey, decode_json, retry_after
from overton.version import __version__

_BODY_LIMIT = 8 * 2**20
_MESSAGE_LIMIT = 300
_MAX_READ_CHARS = 32 * _MESSAGE_LIMIT
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True)
class Answer:
    """A service's response: its status, headers and JSON (None if it is not JSON)."""

    status: int
    headers: Mapping[str, str]
    content: Any


class SearchClient:
    """A client of a search service. Errors refer to the service by `name`, its spec. No error, log or repr contains a
    key.

    Redirects are not followed, cookies are not kept, and no proxy or credentials are taken from the environment.
    """

    def __init__(self, name: str, url: str, *, keys: Sequence[ApiKey] = (), timeout: float = 30.0) -> None:
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
        # Raise outside the `except` block, so that the client error, with its address and headers, is not attached.
        raise outcome

    async def _exchange(
        self, method: str, headers: Mapping[str, str], query: Mapping[str, Any]
    ) -> Answer | AnswerError:
        session = self._session or self._open()
        try:
            async with session.request(method, self._url, headers=headers, allow_redirects=False, **query) as response:
                body = inflate(await _read_body(response), response.headers.get("Content-Encoding", ""), _BODY_LIMIT)
                return Answer(response.status, response.headers, _decode_or_none(body))
        except PageSkipped as unread:
            return self.malformed(unread.reason)
        except (aiohttp.ClientError, OSError, ValueError, RuntimeError) as error:
            # Time-outs are OSErrors, unreadable headers are ValueErrors, and uvloop raises RuntimeErrors.
            return self._error_for(error)

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
        """The error for a failure that a retry may avoid."""
        return UnavailableError(kind, f"{self.name}: {self.hidden(reason)}", retry_after=wait)

    def refused(self, kind: str, reason: str) -> AccessError:
        """The error for a service that refuses every query."""
        return AccessError(kind, f"{self.name}: {self.hidden(reason)}")

    def rejected(self, kind: str, reason: str) -> RejectedError:
        """The error for a query that the service will never answer."""
        return RejectedError(kind, f"{self.name}: {self.hidden(reason)}")

    def other(self, answer: Answer, said: str) -> AnswerError:
        """The error for a status that has the same meaning for every service."""
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
        """Make a hit for the journal. Its texts are on one line each, without API keys. None if the result has no
        address."""
        parts = [one_line(part) for part in (url, title, snippet)]
        for key in self._keys:
            parts = [key.hide_in_reply(part) for part in parts]
        return Hit(*parts) if parts[0] else None

    def hidden(self, text: str) -> str:
        """The service's text, as used in messages: short, without API keys and control characters."""
        text = text[:_MAX_READ_CHARS]
        for key in self._keys:
            text = key.hide(text)
        shown = one_line(text)
        return shown if len(shown) <= _MESSAGE_LIMIT else shown[: _MESSAGE_LIMIT - 3] + "..."

    def _error_for(self, error: Exception) -> AnswerError:
        """The error for a failed request. The client error's own text is left out, because its address may contain a
        key."""
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
    """Collect the first `top` hits with different addresses, and number them from 1. The number of result pages is
    limited.

    Result pages are fetched until there are enough hits or a page has no new hits.
    """
    hits: dict[str, Hit] = {}
    for page in range(1, pages + 1):
        known = len(hits)
        for hit in await page_of(page):
            hits.setdefault(hit.url, hit)
        if len(hits) >= top or len(hits) == known:
            break
    return tuple(hits.values())[:top]


async def _read_body(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > _BODY_LIMIT:
            raise PageSkipped("too large")
    return bytes(content)


def _decode_or_none(body: bytes) -> Any:
    try:
        return decode_json(body, _decode)
    except Unreadable:
        return None


def key_from(variable: str, place: str, *, needed: bool = True) -> ApiKey:
    """The key in an environment variable. `place` is the spec that needs the key, for messages.

    Raises:
        InputError: the key is needed but missing, or cannot be a key.
    """
    value = os.environ.get(variable, "").strip()
    if not value and needed:
        raise InputError([Problem("--search", place, f"no API key: set {variable} in the environment")])
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise InputError([Problem("environment", variable, "not a key: it contains spaces or impossible characters")])
    return ApiKey(value, variable)


BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"

_BRAVE_PAGE = 20  # most results per request
_MAX_PAGES = 10
_MAX_QUERY_CHARS = 400
_MAX_QUERY_WORDS = 50
_COUNT = re.compile(r"[0-9]{1,9}")
_MAX_RATE_WINDOW_S = 120.0  # a longer window is a quota, not a rate


class Brave:
    """A search engine: Brave."""

    def __init__(self, service: SearchClient, key: ApiKey, top: int) -> None:
        self.identity = f"brave+top{top}"
        self._service = service
        self._key = key
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises."""
        if len(query) > _MAX_QUERY_CHARS or len(query.split()) > _MAX_QUERY_WORDS:
            raise self._service.rejected(
                "too long", f"the limit is {_MAX_QUERY_CHARS} characters and {_MAX_QUERY_WORDS} words"
            )
        hits: list[Hit] = []
        for page in range(_MAX_PAGES):
            found, more = await self._fetch_page(query, page, min(_BRAVE_PAGE, self._top))
            hits += found
            if len(hits) >= self._top or not more or not found:
                break
        return tuple(hits[: self._top])

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _fetch_page(self, query: str, page: int, count: int) -> tuple[list[Hit], bool]:
        asked = {
            "q": query,
            "count": str(count),
            "offset": str(page),
            "result_filter": "web",
            "text_decorations": "false",
        }
        answer = await self._service.get(asked, {"X-Subscription-Token": self._key.reveal()})
        if answer.status != 200:
            raise self._error(answer)
        if not isinstance(answer.content, dict):
            raise self._service.malformed("it is not a list of results")
        web, asked_for = _dict_or_empty(answer.content.get("web")), _dict_or_empty(answer.content.get("query"))
        results = web.get("results", [])
        if not isinstance(results, list):
            raise self._service.malformed("it is not a list of results")
        found = [hit for result in results if (hit := self._hit(result)) is not None]
        return found, bool(asked_for.get("more_results_available"))

    def _hit(self, result: Any) -> Hit | None:
        parts = _dict_or_empty(result)
        return self._service.hit(parts.get("url"), parts.get("title"), parts.get("description"))

    def _error(self, answer: Answer) -> AnswerError:
        error = _dict_or_empty(_dict_or_empty(answer.content).get("error"))
        said, code = one_line(error.get("detail")), one_line(error.get("code"))
        if answer.status == 401 or "TOKEN" in code:
            return self._service.refused("bad key", f"the key in {self._key.variable} is not accepted: {said}")
        if answer.status == 402 or code == "QUOTA_LIMITED" or (answer.status == 429 and _is_quota_used(answer.headers)):
            advice = f"the plan's queries of {self._key.variable} are used up: resume when they renew, or upgrade"
            return self._service.refused("quota", f"{advice}: {said}")
        if answer.status == 403:
            return self._service.refused("no permission", f"the plan of {self._key.variable} excludes it: {said}")
        if answer.status == 429:
            wait = retry_after(answer.headers)
            wait = _seconds_to_reset(answer.headers) if wait is None else wait
            return self._service.unavailable("rate limit", f"too many requests: {said}", wait)
        return self._service.other(answer, f"{code} {said}".strip())


def _is_quota_used(headers: Mapping[str, str]) -> bool:
    """Whether a quota for a long time, such as a month, is used up. The headers have one number per time window, such
    as '0, 0' queries remaining and '1, 1419704' seconds to the reset."""
    left, resets = _read_numbers(headers, "X-RateLimit-Remaining"), _read_numbers(headers, "X-RateLimit-Reset")
    limits = _read_numbers(headers, "X-RateLimit-Limit") or [1.0] * len(left)
    # A limit of 0 means that the plan has no limit.
    return any(n <= 0 and most > 0 and s > _MAX_RATE_WINDOW_S for n, s, most in zip(left, resets, limits, strict=False))


def _seconds_to_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the shortest used-up window is reset."""
    left, resets = _read_numbers(headers, "X-RateLimit-Remaining"), _read_numbers(headers, "X-RateLimit-Reset")
    return min((seconds for n, seconds in zip(left, resets, strict=False) if n <= 0), default=None)


def _read_numbers(headers: Mapping[str, str], name: str) -> list[float]:
    parts = [part.strip() for part in headers.get(name, "").split(",")]
    return [float(part) for part in parts] if all(_COUNT.fullmatch(part) for part in parts) else []


def _dict_or_empty(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


GOOGLE_URL = "https://customsearch.googleapis.com/customsearch/v1"

_END_NOTICE = "; Google ends this API on 1 January 2027"
_GOOGLE_PAGE = 10  # most results per request
_PER_DAY = re.compile(r"per ?day|daily ?limit", re.IGNORECASE)
_GOOGLE_MAX_READ_CHARS = 20_000
_BAD_KEY = re.compile(
    r"api[ _]?key.{0,20}(not valid|invalid|expired)|keyInvalid|keyExpired|API_KEY_INVALID", re.IGNORECASE
)


class Google:
    """A search engine: Google. `engine` is the search engine's id (cx). Google bills one request per ten results."""

    def __init__(self, service: SearchClient, key: ApiKey, engine: ApiKey, top: int) -> None:
        self.identity = f"google+top{top}"
        self._service = service
        self._key = key
        self._engine = engine
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises."""
        hits: list[Hit] = []
        while len(hits) < self._top:
            wanted = min(_GOOGLE_PAGE, self._top - len(hits))
            found = await self._fetch_page(query, len(hits) + 1, wanted)
            hits += found
            if len(found) < wanted:
                break
        return tuple(hits)

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _fetch_page(self, query: str, start: int, count: int) -> list[Hit]:
        asked = {"q": query, "start": str(start), "num": str(count)}
        keys = {"key": self._key.reveal(), "cx": self._engine.reveal()}
        answer = await self._service.get(asked | keys)
        if answer.status != 200:
            raise self._error(answer)
        items = answer.content.get("items", []) if isinstance(answer.content, dict) else None
        if not isinstance(items, list):
            raise self._service.malformed("it is not a list of results")
        return [hit for item in items if (hit := self._hit(item)) is not None]

    def _hit(self, item: Any) -> Hit | None:
        parts = item if isinstance(item, dict) else {}
        return self._service.hit(parts.get("link"), parts.get("title"), parts.get("snippet"))

    def _error(self, answer: Answer) -> AnswerError:
        error = answer.content.get("error") if isinstance(answer.content, dict) else None
        error = error if isinstance(error, dict) else {}
        said, everything = one_line(error.get("message")), _error_text(error)
        if answer.status in {403, 429} and _PER_DAY.search(everything):
            advice = f"the day's queries of the project of {self._key.variable} are used up: resume tomorrow (they are"
            return self._service.refused(
                "quota", f"{advice} renewed at midnight Pacific time) or raise the limit: {said}"
            )
        if answer.status == 403 and re.search(r"rateLimitExceeded|userRateLimit", everything, re.IGNORECASE):
            return self._service.unavailable("rate limit", f"too many requests: {said}", retry_after(answer.headers))
        if _BAD_KEY.search(everything) or answer.status == 401:
            return self._service.refused("bad key", f"the key in {self._key.variable} is not accepted: {said}")
        if answer.status == 403:
            advice = (
                f"the key in {self._key.variable} may not use the Custom Search API (is it enabled there?{_END_NOTICE})"
            )
            return self._service.refused("no permission", f"{advice}: {said}")
        if answer.status == 404:
            variable = self._engine.variable
            return self._service.refused(
                "unknown engine", f"there is no search engine with the id in {variable}{_END_NOTICE}: {said}"
            )
        return self._service.other(answer, said)


def _error_text(error: dict[str, Any]) -> str:
    """The whole error as text, in which to look for reasons; '' if it is nested too deeply."""
    try:
        return str(error)[:_GOOGLE_MAX_READ_CHARS]
    except RecursionError:
        return ""


class SearXNG:
    """A search engine: one instance of SearXNG on `host`."""

    def __init__(self, service: SearchClient, host: str, top: int) -> None:
        self.identity = f"searxng/{host}+top{top}"
        self._service = service
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises.

        An instance decides how many results a page has.
        """
        return await distinct_hits(partial(self._fetch_page, query), _MAX_PAGES, self._top)

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _fetch_page(self, query: str, page: int) -> list[Hit]:
        answer = await self._service.get({"q": query, "format": "json", "pageno": str(page)})
        if answer.status != 200:
            raise self._error(answer)
        content = answer.content if isinstance(answer.content, dict) else {}
        results = content.get("results")
        if not isinstance(results, list):
            raise self._service.malformed("it is not a list of results; is this a SearXNG instance?")
        silent = content.get("unresponsive_engines")
        if not results and silent and page == 1:
            raise self._service.unavailable("server error", f"none of its engines answered: {_silent_engines(silent)}")
        return [hit for result in results if (hit := self._hit(result)) is not None]

    def _hit(self, result: Any) -> Hit | None:
        parts = result if isinstance(result, dict) else {}
        return self._service.hit(parts.get("url"), parts.get("title"), parts.get("content"))

    def _error(self, answer: Answer) -> AnswerError:
        if answer.status == 403:
            advice = "it does not return JSON: add 'json' to search.formats in the instance's settings.yml"
            return self._service.refused("no permission", advice)
        if answer.status == 429:
            advice = "too many requests; this address may have to be exempted from the instance's limiter"
            return self._service.unavailable("rate limit", advice, retry_after(answer.headers))
        return self._service.other(answer, "")


def _silent_engines(silent: Any) -> str:
    """Text on the engines that did not answer, from the instance's report such as [["brave", "timeout"], ...]."""
    entries = silent if isinstance(silent, list) else []
    return ", ".join(" ".join(map(one_line, entry)) for entry in entries if isinstance(entry, list))


SERPER_URL = "https://google.serper.dev/search"

_SERPER_PAGE = 10  # results on one of Google's pages
_SPARE_PAGES = 2
"""The number of additional result pages that may be requested, because Google's pages often have fewer than ten
results."""
_LOCALE = {"gl": "us", "hl": "en"}
"""The country and the language of the results, so that they do not depend on the service's defaults."""
_NO_CREDITS = re.compile(r"credit", re.IGNORECASE)


class Serper:
    """A search engine: Google through Serper. Serper bills one request per page of results."""

    def __init__(self, service: SearchClient, key: ApiKey, top: int) -> None:
        self.identity = f"serper+top{top}"
        self._service = service
        self._key = key
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises."""
        return await distinct_hits(
            partial(self._fetch_page, query), -(-self._top // _SERPER_PAGE) + _SPARE_PAGES, self._top
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _fetch_page(self, query: str, page: int) -> list[Hit]:
        asked = {"q": query, "num": _SERPER_PAGE, "page": page, **_LOCALE}
        answer = await self._service.post(asked, {"X-API-KEY": self._key.reveal()})
        if answer.status != 200:
            raise self._error(answer)
        content = answer.content if isinstance(answer.content, dict) else {}
        results = content.get("organic", [] if "searchParameters" in content else None)
        if not isinstance(results, list):
            raise self._service.malformed("it is not a list of results")
        return [hit for result in results if (hit := self._hit(result)) is not None]

    def _hit(self, result: Any) -> Hit | None:
        parts = result if isinstance(result, dict) else {}
        return self._service.hit(parts.get("link"), parts.get("title"), parts.get("snippet"))

    def _error(self, answer: Answer) -> AnswerError:
        own = isinstance(answer.content, dict)
        said = one_line(answer.content.get("message")) if own else ""
        if 400 <= answer.status < 500 and _NO_CREDITS.search(said):
            advice = f"the credits of {self._key.variable} are used up: buy more, then resume"
            return self._service.refused("quota", f"{advice}: {said}")
        # A refusal that is not JSON does not come from Serper itself but from a proxy, so the key may be valid.
        if answer.status == 401 or (answer.status == 403 and own):
            return self._service.refused("bad key", f"the key in {self._key.variable} is not accepted: {said}")
        if answer.status == 429:
            return self._service.unavailable("rate limit", f"too many requests: {said}", retry_after(answer.headers))
        return self._service.other(answer, said)
