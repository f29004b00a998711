"""Serper's API for Google's results (https://serper.dev): a POST with a JSON object, a reply with `organic` results."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from overton.calls import Hit
from overton.errors import AnswerError
from overton.retrieval.engines.service import Answer, Key, Service, distinct_hits
from overton.retrieval.extraction import one_line
from overton.untrusted import retry_after

__all__ = ["BASE_URL", "Serper"]

BASE_URL = "https://google.serper.dev/search"

_PAGE = 10  # results on a page of Google's
_SPARE = 2
"""Pages asked for beyond those that would be enough: a page of Google's often has fewer than ten results."""
_PLACE = {"gl": "us", "hl": "en"}
"""The country and the language of the results, so that they do not depend on the service's defaults."""
_NO_CREDITS = re.compile(r"credit", re.IGNORECASE)


class Serper:
    """Searches Google through Serper. One request is billed per page of results."""

    def __init__(self, service: Service, key: Key, top: int) -> None:
        self.identity = f"serper+top{top}"
        self._service = service
        self._key = key
        self._top = top

    async def find(self, query: str) -> tuple[Hit, ...]:
        """The hits of a query, best first; see `overton.calls.Answerer` for what it raises."""
        return await distinct_hits(partial(self._page, query), -(-self._top // _PAGE) + _SPARE, self._top)

    async def close(self) -> None:
        """Close all connections."""
        await self._service.close()

    async def _page(self, query: str, page: int) -> list[Hit]:
        asked = {"q": query, "num": _PAGE, "page": page, **_PLACE}
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
        # A refusal that is not JSON comes from something in between, and says nothing about the key.
        if answer.status == 401 or (answer.status == 403 and own):
            return self._service.refused("bad key", f"the key in {self._key.variable} is not accepted: {said}")
        if answer.status == 429:
            return self._service.unavailable("rate limit", f"too many requests: {said}", retry_after(answer.headers))
        return self._service.other(answer, said)
