"""SearXNG's JSON API (https://docs.searxng.org/dev/search_api.html)."""

from __future__ import annotations

from functools import partial
from typing import Any

from overton.calls import Hit
from overton.errors import AnswerError
from overton.retrieval.engines.service import Answer, Service, distinct_hits
from overton.retrieval.extraction import one_line
from overton.untrusted import retry_after

__all__ = ["SearXNG"]

_PAGES = 10


class SearXNG:
    """Searches with one instance of SearXNG; `host` is its name."""

    def __init__(self, service: Service, host: str, top: int) -> None:
        self.identity = f"searxng/{host}+top{top}"
        self._service = service
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises.

        An instance decides how many results a page has.
        """
        return await distinct_hits(partial(self._page, query), _PAGES, self._top)

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _page(self, query: str, page: int) -> list[Hit]:
        answer = await self._service.get({"q": query, "format": "json", "pageno": str(page)})
        if answer.status != 200:
            raise self._error(answer)
        content = answer.content if isinstance(answer.content, dict) else {}
        results = content.get("results")
        if not isinstance(results, list):
            raise self._service.malformed("it is not a list of results; is this a SearXNG instance?")
        silent = content.get("unresponsive_engines")
        if not results and silent and page == 1:
            raise self._service.unavailable("server error", f"none of its engines answered: {_engines(silent)}")
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


def _engines(silent: Any) -> str:
    """What the instance reports of engines without an answer, as in [["brave", "timeout"], ...]."""
    entries = silent if isinstance(silent, list) else []
    return ", ".join(" ".join(map(one_line, entry)) for entry in entries if isinstance(entry, list))
