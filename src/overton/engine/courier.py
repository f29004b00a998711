"""A batch's way to its provider and back: uploaded, made, found again, polled, read, with retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import time
from typing import TYPE_CHECKING, TypeVar

from overton.calls import Batching, Looked, Request
from overton.engine.batch import Batch, Found, identity_of
from overton.engine.identity import Identity
from overton.errors import AccessError, UnavailableError

if TYPE_CHECKING:
    from overton.engine.desk import Desk

__all__ = ["Box", "Courier", "Queued"]

T = TypeVar("T")

SETTLES = 30.0
"""Seconds after which a batch that the provider does not list is taken not to exist."""
FIRST_LOOK, LAST_LOOK = 1.0, 60.0
"""Seconds between polls of a batch: at first, and once it has run for a while."""
_BLIND = 24
"""Polls in a row that may fail before the run stops."""
_SKEW = 3600.0
"""Seconds by which a provider's clock may differ from ours."""


@dataclass
class Queued:
    """A call that waits to be sent."""

    identity: Identity
    request: Request
    worst: float
    size: int
    future: asyncio.Future[Found]


@dataclass
class Box:
    """The calls that wait for one answerer, and the largest batch allowed."""

    answerer: str
    name: str
    batching: Batching
    most_bytes: int
    queue: list[Queued] = field(default_factory=list)
    size: int = 0
    since: float = 0.0
    eased: asyncio.Event = field(default_factory=asyncio.Event)


class Courier:
    """Carries batches for a desk. `ids` are those of the run's batches; `report` is called after each poll."""

    def __init__(self, desk: Desk, ids: Callable[[], set[str]], report: Callable[[], None]) -> None:
        self._desk = desk
        self._ids = ids
        self._report = report

    async def send(self, box: Box, batch: Batch, lines: Sequence[bytes]) -> None:
        """Upload the calls and make a batch of them, unless either is already done."""
        journal = self._desk.journal
        if not batch.others:
            if not batch.upload:
                batch.upload = await self._tried(box, lambda: box.batching.upload(batch.name, lines))
                await journal.keep(batch.state())
            batch.others = await self._made(box, batch, lines)
        batch.id = batch.others.pop(0)
        await journal.keep(batch.state())

    async def _made(self, box: Box, batch: Batch, lines: Sequence[bytes]) -> list[str]:
        """The id of the batch, made if need be. If it is unclear whether it was made, it is looked for first."""
        attempt = 0
        while True:
            try:
                return [await box.batching.create(batch.name, batch.upload, lines)]
            except UnavailableError as error:
                batch.at = time()
                if error.maybe_billed and (found := await self.listed(box, batch)):
                    return found
                attempt += 1
                await self._wait_to_try(box, attempt, error)

    async def listed(self, box: Box, batch: Batch) -> list[str]:
        """The ids that a batch may have been given, none if it was not made."""
        known = self._ids()
        while True:
            found = await self._tried(box, lambda: box.batching.find(batch.name, batch.calls, batch.at - _SKEW))
            new = [one for one in found if one not in known]
            rest = batch.at + SETTLES - time()
            if new or rest <= 0 or self._desk.stopped is not None:
                return new
            await self._desk.pause(min(rest, FIRST_LOOK))

    async def ended(self, box: Box, batch: Batch) -> Looked | None:
        """Poll a batch until it is over; None if the run stops before."""
        desk, wait, blind = self._desk, FIRST_LOOK, 0
        while desk.stopped is None:
            try:
                looked = await box.batching.look(batch.id)
            except UnavailableError as error:
                desk.tally.last_trouble, blind = f"{box.name}: {error}", blind + 1
                if blind >= _BLIND:
                    raise
            else:
                batch.looked, blind = looked, 0
                self._report()
                if looked.over:
                    return looked
            await desk.pause(wait)
            wait = min(wait * 1.5, LAST_LOOK)
        return None

    async def results(self, box: Box, batch: Batch, looked: Looked) -> dict[bytes, Found] | None:
        """The outcomes of the calls of a finished batch, by slot; None if it turns out to be another batch, and the
        next candidate is to be polled."""
        try:
            found = await self._tried(box, lambda: box.batching.results(looked, batch.calls))
        except AccessError as error:
            if error.kind != "unknown model":  # 404: the provider no longer has it
                raise
            return {}
        own = {id_: identity for id_ in found if (identity := identity_of(id_, batch.name)) is not None}
        if found and not own and batch.others:
            batch.id = batch.others.pop(0)
            await self._desk.journal.keep(batch.state())
            return None
        return {
            identity.slot: (identity.content, found[id_])
            for id_, identity in own.items()
            if identity.slot in batch.open
        }

    async def _tried(self, box: Box, attempt: Callable[[], Awaitable[T]]) -> T:
        """The outcome of a request, retried while that is worthwhile."""
        tries = 0
        while True:
            try:
                return await attempt()
            except UnavailableError as error:
                tries += 1
                await self._wait_to_try(box, tries, error)

    async def _wait_to_try(self, box: Box, attempt: int, error: UnavailableError) -> None:
        desk = self._desk
        desk.tally.last_trouble = f"{box.name}: {error}"
        wait = None if desk.patience.refuses(error) else desk.patience.wait(attempt, error)
        if wait is None or desk.stopped is not None:
            raise error
        desk.tally.retried += 1
        await desk.pause(wait)
