"""Google's Custom Search JSON API (https://developers.google.com/custom-search/v1/reference/rest/v1/cse/list).

It ends on 1 January 2027. Runs that began with it go on with it; new ones search Google through `serper`.
"""

from __future__ import annotations

import re
from typing import Any

from overton.calls import Hit
from overton.errors import AnswerError
from overton.retrieval.engines.service import Answer, Key, Service
from overton.retrieval.extraction import one_line
from overton.untrusted import retry_after

__all__ = ["BASE_URL", "Google"]

BASE_URL = "https://customsearch.googleapis.com/customsearch/v1"

_ENDS = "; Google ends this API on 1 January 2027"
_PAGE = 10  # most results per request
_PER_DAY = re.compile(r"per ?day|daily ?limit", re.IGNORECASE)
_LOOKED_AT = 20_000
_BAD_KEY = re.compile(
    r"api[ _]?key.{0,20}(not valid|invalid|expired)|keyInvalid|keyExpired|API_KEY_INVALID", re.IGNORECASE
)


class Google:
    """Searches with Google; `engine` is the search engine's id (cx). One request is billed per ten results."""

    def __init__(self, service: Service, key: Key, engine: Key, top: int) -> None:
        self.identity = f"google+top{top}"
        self._service = service
        self._key = key
        self._engine = engine
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises."""
        hits: list[Hit] = []
        while len(hits) < self._top:
            wanted = min(_PAGE, self._top - len(hits))
            found = await self._page(query, len(hits) + 1, wanted)
            hits += found
            if len(found) < wanted:
                break
        return tuple(hits)

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _page(self, query: str, start: int, count: int) -> list[Hit]:
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
        said, everything = one_line(error.get("message")), _written(error)
        if answer.status in {403, 429} and _PER_DAY.search(everything):
            advice = f"the day's queries of the project of {self._key.variable} are used up: resume tomorrow (they are"
            return self._service.refused("quota", f"{advice} renewed at midnight Pacific time) or raise it: {said}")
        if answer.status == 403 and re.search(r"rateLimitExceeded|userRateLimit", everything, re.IGNORECASE):
            return self._service.unavailable("rate limit", f"too many requests: {said}", retry_after(answer.headers))
        if _BAD_KEY.search(everything) or answer.status == 401:
            return self._service.refused("bad key", f"the key in {self._key.variable} is not accepted: {said}")
        if answer.status == 403:
            advice = f"the key in {self._key.variable} may not use the Custom Search API (is it enabled there?{_ENDS})"
            return self._service.refused("no permission", f"{advice}: {said}")
        if answer.status == 404:
            variable = self._engine.variable
            return self._service.refused(
                "unknown engine", f"there is no search engine with the id in {variable}{_ENDS}: {said}"
            )
        return self._service.other(answer, said)


def _written(error: dict[str, Any]) -> str:
    """The whole error as text to search; '' if it is nested too deeply."""
    try:
        return str(error)[:_LOOKED_AT]
    except RecursionError:
        return ""
