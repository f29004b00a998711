"""Brave's Web Search API (https://api-dashboard.search.brave.com/app/documentation/web-search)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from overton.calls import Hit
from overton.errors import AnswerError
from overton.retrieval.engines.service import Answer, Key, Service
from overton.retrieval.extraction import one_line
from overton.untrusted import retry_after

__all__ = ["BASE_URL", "Brave"]

BASE_URL = "https://api.search.brave.com/res/v1/web/search"

_PAGE = 20  # most results per request
_PAGES = 10
_CHARACTERS = 400
_WORDS = 50
_COUNT = re.compile(r"[0-9]{1,9}")
_SHORT = 120.0  # seconds; a longer window is a quota, not a rate


class Brave:
    """Searches with Brave."""

    def __init__(self, service: Service, key: Key, top: int) -> None:
        self.identity = f"brave+top{top}"
        self._service = service
        self._key = key
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises."""
        if len(query) > _CHARACTERS or len(query.split()) > _WORDS:
            raise self._service.rejected("too long", f"the limit is {_CHARACTERS} characters and {_WORDS} words")
        hits: list[Hit] = []
        for page in range(_PAGES):
            found, more = await self._page(query, page, min(_PAGE, self._top))
            hits += found
            if len(hits) >= self._top or not more or not found:
                break
        return tuple(hits[: self._top])

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _page(self, query: str, page: int, count: int) -> tuple[list[Hit], bool]:
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
        web, asked_for = _object(answer.content.get("web")), _object(answer.content.get("query"))
        results = web.get("results", [])
        if not isinstance(results, list):
            raise self._service.malformed("it is not a list of results")
        found = [hit for result in results if (hit := self._hit(result)) is not None]
        return found, bool(asked_for.get("more_results_available"))

    def _hit(self, result: Any) -> Hit | None:
        parts = _object(result)
        return self._service.hit(parts.get("url"), parts.get("title"), parts.get("description"))

    def _error(self, answer: Answer) -> AnswerError:
        error = _object(_object(answer.content).get("error"))
        said, code = one_line(error.get("detail")), one_line(error.get("code"))
        if answer.status == 401 or "TOKEN" in code:
            return self._service.refused("bad key", f"the key in {self._key.variable} is not accepted: {said}")
        if answer.status == 402 or code == "QUOTA_LIMITED" or (answer.status == 429 and _quota_is_used(answer.headers)):
            advice = f"the plan's queries of {self._key.variable} are used up: resume when they renew, or upgrade"
            return self._service.refused("quota", f"{advice}: {said}")
        if answer.status == 403:
            return self._service.refused("no permission", f"the plan of {self._key.variable} excludes it: {said}")
        if answer.status == 429:
            wait = retry_after(answer.headers)
            wait = _reset(answer.headers) if wait is None else wait
            return self._service.unavailable("rate limit", f"too many requests: {said}", wait)
        return self._service.other(answer, f"{code} {said}".strip())


def _quota_is_used(headers: Mapping[str, str]) -> bool:
    """Whether a quota's window (the month) has nothing left: '0, 0' remaining, '1, 1419704' to its reset."""
    left, resets = _numbers(headers, "X-RateLimit-Remaining"), _numbers(headers, "X-RateLimit-Reset")
    limits = _numbers(headers, "X-RateLimit-Limit") or [1.0] * len(left)
    # A limit of 0 means a plan without one.
    return any(n <= 0 and most > 0 and s > _SHORT for n, s, most in zip(left, resets, limits, strict=False))


def _reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the shortest used-up window is reset."""
    left, resets = _numbers(headers, "X-RateLimit-Remaining"), _numbers(headers, "X-RateLimit-Reset")
    return min((seconds for n, seconds in zip(left, resets, strict=False) if n <= 0), default=None)


def _numbers(headers: Mapping[str, str], name: str) -> list[float]:
    parts = [part.strip() for part in headers.get(name, "").split(",")]
    return [float(part) for part in parts] if all(_COUNT.fullmatch(part) for part in parts) else []


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
