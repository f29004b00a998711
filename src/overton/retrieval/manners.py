"""Good manners towards a host: few connections at a time, and a pause between them."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

__all__ = ["Manners"]

_HOSTS = 4_096


@dataclass
class _Host:
    places: asyncio.Semaphore
    free_at: float = 0.0
    users: int = field(default=0)


class Manners:
    """Admits requests to each host in turn: at most `per_host` at a time, begun at least `delay` seconds apart."""

    def __init__(self, per_host: int, delay: float) -> None:
        self._per_host = per_host
        self._delay = delay
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, host: str, delay: float = 0.0) -> AsyncIterator[None]:
        """Wait for this host's turn and hold a place; `delay` is the host's own wish, in seconds."""
        state = self._state(host)
        state.users += 1
        try:
            async with state.places:
                clock = asyncio.get_running_loop().time
                begins = max(clock(), state.free_at)
                state.free_at = begins + max(self._delay, delay)
                await asyncio.sleep(begins - clock())
                yield
        finally:
            state.users -= 1

    def _state(self, host: str) -> _Host:
        state = self._hosts.setdefault(host, _Host(asyncio.Semaphore(self._per_host)))
        self._hosts.move_to_end(host)
        while len(self._hosts) > _HOSTS and not next(iter(self._hosts.values())).users:
            self._hosts.popitem(last=False)
        return state
