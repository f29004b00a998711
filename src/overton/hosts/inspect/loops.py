"""Studies run on asyncio. Where Inspect runs on trio, a trial is conducted in a thread of its own with a loop of its
own, and only what it asks crosses over, so that studies need to know of neither."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from overton.calls import Ask, Conduct, Question, Reply, Trial

__all__ = ["conduct_here"]


async def conduct_here(conduct: Conduct, trial: Trial, ask: Ask, limiter: Any) -> list[Any]:
    """The records of a trial, under whichever backend Inspect runs on; `limiter` bounds the threads under trio."""
    import sniffio

    if sniffio.current_async_library() == "asyncio":
        return await conduct(trial, ask)
    from anyio.from_thread import BlockingPortal
    from anyio.to_thread import run_sync

    records: list[Any] = []
    errors: list[Exception] = []

    async def there(portal: Any) -> None:
        records.extend(await conduct(trial, _Across(ask, portal)))

    async with BlockingPortal() as portal:
        try:
            await run_sync(lambda: asyncio.run(there(portal)), limiter=limiter)
        except Exception as error:  # noqa: BLE001 - raised below: the portal would wrap it in a group
            errors.append(error)
    if errors:
        raise errors[0]
    return records


@dataclass
class _Across:
    """Asks on the other side of a portal."""

    ask: Ask
    portal: Any

    async def __call__(self, role: str, messages: Any, **how: Any) -> Reply:
        reply: Reply = await self._there(lambda: self.ask(role, messages, **how))
        return reply

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        replies: list[Reply] = await self._there(lambda: self.ask.all(questions))
        return replies

    async def _there(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return await asyncio.wrap_future(self.portal.start_task_soon(make))
