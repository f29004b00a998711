"""Search engines and page readers in an eval: answerers of our own, which need asyncio."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from overton.calls import Failure, Reply, Request
from overton.engine import RetryPolicy
from overton.errors import InputError, Problem, RejectedError, UnavailableError
from overton.hosts.inspect.privates import runs_on_trio
from overton.retrieval import Source

__all__ = ["Sources", "check_backend"]


@dataclass
class Sources:
    """Sources by role, called in parallel as far as each allows, and open while any sample runs."""

    by_role: Mapping[str, Source] = field(default_factory=dict)
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    _limits: dict[str, Any] = field(default_factory=dict)
    _samples: int = 0

    async def __aenter__(self) -> None:
        self._samples += 1

    async def __aexit__(self, *_: object) -> None:
        self._samples -= 1
        if not self._samples:
            self._limits.clear()
            for source in self.by_role.values():
                await source.answerer.close()

    async def outcome(self, role: str, request: Request) -> Reply | Failure:
        """A source's outcome, tried as often as in a run of ours.

        Raises:
            AccessError: no request can succeed.
        """
        import anyio

        attempt = 0
        async with self._limit(role):
            while True:
                attempt += 1
                try:
                    found = await self.by_role[role].answerer.answer(request)
                except UnavailableError as error:
                    wait = None if self.patience.refuses(error) else self.patience.wait(attempt, error)
                    if wait is None:
                        return Failure(error.kind, str(error), attempt)
                    await anyio.sleep(wait)
                except RejectedError as error:
                    return Failure(error.kind, str(error), attempt)
                else:
                    _show(role, request, found)
                    return found

    def _limit(self, role: str) -> Any:
        import anyio

        if role not in self._limits:
            self._limits[role] = anyio.Semaphore(self.by_role[role].connections)
        return self._limits[role]


def check_backend(what: str) -> None:
    """Refuse what needs asyncio if Inspect runs on trio.

    Raises:
        InputError: it does.
    """
    if runs_on_trio():
        reason = f"{what} runs on asyncio only: leave INSPECT_ASYNC_BACKEND unset"
        raise InputError([Problem("INSPECT_ASYNC_BACKEND", "trio", reason)])


def _show(role: str, request: Request, found: Reply) -> None:
    """Show a search or a page in the sample's transcript."""
    from inspect_ai.log import transcript

    transcript().info({"asked": request.messages[0].content, "found": found.text}, source=role)
