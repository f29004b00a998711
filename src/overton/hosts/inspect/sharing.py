"""Calls that are the same whichever trial makes them: made once in an eval, however many samples wait for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from overton.calls import Failure, Reply

__all__ = ["Shared"]

Outcome = Reply | Failure


@dataclass
class Shared:
    """Outcomes of shared calls by slot, and those under way."""

    _known: dict[bytes, Outcome] = field(default_factory=dict)
    _under_way: dict[bytes, Any] = field(default_factory=dict)

    async def once(self, slot: bytes, make: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome of the call in a slot. Where the one that makes it is cut off, the next that waits makes it."""
        import anyio

        while (known := self._known.get(slot)) is None:
            if slot in self._under_way:
                await self._under_way[slot].wait()
                continue
            ended = self._under_way[slot] = anyio.Event()
            try:
                self._known[slot] = await make()
            finally:
                del self._under_way[slot]
                ended.set()
        return known
