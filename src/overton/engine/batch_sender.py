"""The exchange with a provider about a batch: uploading, making, finding, polling and reading it, with retries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, time
from typing import TYPE_CHECKING, TypeVar

from overton.calls import BatchApi, BatchStatus, Request
from overton.engine.batch_notes import Batch, Found, identity_of
from overton.engine.identity import Identity
from overton.engine.rate_limit import OVERLOAD, Backoff, RateLimiter
from overton.engine.retry import retried
from overton.errors import AccessError, AnswerError, BatchRefused, RejectedError, Stopped, UnavailableError

if TYPE_CHECKING:
    from overton.engine.dispatcher import Dispatcher


T = TypeVar("T")

SETTLES = 30.0
"""Seconds within which a provider should list a new batch. After that, Overton assumes that an unlisted batch does not
exist."""
FIRST_LOOK, LAST_LOOK = 1.0, 60.0
"""Seconds between polls of a batch: at first, and once it has run for a while."""
_MAX_FAILED_POLLS = 24
"""The number of polls in a row that may fail before the run stops."""
_MAX_CLOCK_SKEW_S = 3600.0
"""Seconds by which a provider's clock may differ from ours."""
_MAX_REQUESTS_AT_ONCE = 8
"""The maximum number of parallel requests about batches to a provider."""
_BATCH_REFUSAL_KINDS = {"no permission", "unknown model", "wrong address"}
"""Kinds of `AccessError` with which a provider refuses the batch itself, rather than the key or the account."""


@dataclass
class QueuedCall:
    """A call that waits to be sent."""

    identity: Identity
    request: Request
    worst: float
    size: int
    future: asyncio.Future[Found]


@dataclass
class BatchQueue:
    """The calls that wait to be sent to one model, and the largest batch allowed.

    `batched` says whether new calls go into batches. Once the provider's queue has been full, `most_bytes` is less than
    `full_bytes`, and batches are sent one at a time. Each batch then waits until the provider has accepted the batch
    before it (`trial`). Nothing is sent while `held` is True. `limiter` admits the requests about these batches.
    """

    answerer: str
    name: str
    batching: BatchApi
    full_bytes: int
    batched: bool = False
    most_bytes: int = 0
    queue: list[QueuedCall] = field(default_factory=list)
    size: int = 0
    since: float = 0.0
    eased: asyncio.Event = field(default_factory=asyncio.Event)
    held: bool = False
    trial: Batch | None = None
    backoff: Backoff = field(default_factory=Backoff)
    limiter: RateLimiter = field(default_factory=lambda: RateLimiter(_MAX_REQUESTS_AT_ONCE))

    def __post_init__(self) -> None:
        self.most_bytes = self.full_bytes

    @property
    def cautious(self) -> bool:
        """Whether the provider's queue has been full. Overton then does not know how much fits into the queue."""
        return self.most_bytes < self.full_bytes


class BatchSender:
    """A client that sends and polls batches for a dispatcher. `ids` are the ids of the run's batches; `report` is
    called after each poll."""

    def __init__(
        self, dispatcher: Dispatcher, ids: Callable[[], set[str]], report: Callable[[BatchQueue, Batch], None]
    ) -> None:
        self._dispatcher = dispatcher
        self._batch_ids = ids
        self._report = report

    async def send(self, box: BatchQueue, batch: Batch, lines: Sequence[bytes]) -> None:
        """Upload the calls and create a batch from them. Steps that are already done are not repeated."""
        journal = self._dispatcher.journal
        if not batch.others:
            if not batch.upload:
                batch.upload = await self._upload(box, batch, lines)
                await journal.keep(batch.state())
            batch.others = await self._create(box, batch, lines)
        batch.id = batch.others.pop(0)
        await journal.keep(batch.state())

    async def _upload(self, box: BatchQueue, batch: Batch, lines: Sequence[bytes]) -> str:
        """Upload the calls and return the upload's id. If it is unclear whether the upload arrived, search for it
        before sending it again."""
        found, unsure = "", False

        async def look(attempt: int, error: AnswerError) -> str | None:
            nonlocal found, unsure
            if _is_perhaps_done(error):
                unsure = True
                found = await self.found_upload(box, batch)
            if not found:
                await self._wait_before_retry(box, attempt, error)
            return found or None

        made = await retried(lambda: self._send_once(box, lambda: box.batching.upload(batch.name, lines)), look)
        return await self.found_upload(box, batch, made) if unsure and made and not found else made

    async def found_upload(self, box: BatchQueue, batch: Batch, made: str = "") -> str:
        """Find the upload of a batch's calls, '' if the provider lists none. If several uploads have the batch's name,
        keep `made` (by default the first upload) and delete the others."""
        found = await self._send_with_retries(
            box, lambda: box.batching.find_uploads(batch.name, batch.at - _MAX_CLOCK_SKEW_S)
        )
        kept = made or (found[0] if found else "")
        for extra in found:
            if extra != kept:
                await self._try_to_clean_up(box, partial(box.batching.discard, extra))
        return kept

    async def _create(self, box: BatchQueue, batch: Batch, lines: Sequence[bytes]) -> list[str]:
        """Create the batch and return the ids that it may have, usually a single id. If it is unclear whether the batch
        was created, search for it before trying again."""
        before = time()

        async def create() -> list[str]:
            nonlocal before
            before = time()
            try:
                return [await self._send_once(box, lambda: box.batching.create(batch.name, batch.upload, lines))]
            except Stopped as stopped:  # the last reply may not say whether the batch was created
                batch.unsure |= isinstance(stopped.__cause__, AnswerError) and _is_perhaps_done(stopped.__cause__)
                raise

        async def look(attempt: int, error: AnswerError) -> list[str] | None:
            batch.at = time()
            batch.since = min(before, batch.at)  # the clock may have been set back in between
            if _is_perhaps_done(error):
                batch.unsure = True
                if found := await self.listed(box, batch, SETTLES):
                    return found
            await self._wait_before_retry(box, attempt, error)
            return None

        return await retried(create, look)

    async def listed(self, box: BatchQueue, batch: Batch, seconds: float | None = None) -> list[str]:
        """Find the ids that the provider may have given a batch. Return an empty list if the provider does not list the
        batch within `seconds`. The batch was then not created. By default, `seconds` is the time in which a new batch
        may still appear in the provider's list."""
        known, wait = self._batch_ids() | batch.disproved, FIRST_LOOK
        until = monotonic() + (_seconds_left(batch, SETTLES) if seconds is None else seconds)
        while True:
            found = await self._send_with_retries(
                box,
                lambda: self._dispatcher.unless_stopped(
                    box.batching.find(batch.name, batch.calls, _earliest_creation(batch))
                ),
            )
            new = [batch_id for batch_id in found or () if batch_id not in known]
            rest = until - monotonic()
            if new or rest <= 0 or self._dispatcher.stopped is not None:
                return new
            await self._dispatcher.pause(min(rest, wait))
            wait *= 2

    async def _cancel_extras(self, box: BatchQueue, batch: Batch) -> None:
        """Cancel other batches with this batch's name, because the batch may have been created more than once."""
        batch.others += [
            batch_id
            for batch_id in await self._send_with_retries(
                box, lambda: box.batching.find(batch.name, batch.calls, _earliest_creation(batch))
            )
            if batch_id != batch.id and batch_id not in batch.others
        ]
        for extra in batch.others:
            if extra not in batch.disproved and await self._try_to_clean_up(box, partial(box.batching.cancel, extra)):
                batch.disproved.add(extra)
        batch.others = [batch_id for batch_id in batch.others if batch_id not in batch.disproved]

    async def ended(self, box: BatchQueue, batch: Batch) -> BatchStatus | None:
        """Poll a batch until it has ended, and return its status. Return None if the run stops first."""
        dispatcher, wait, blind = self._dispatcher, FIRST_LOOK, 0
        until = monotonic() + _seconds_left(batch, 2 * SETTLES)
        while dispatcher.stopped is None:
            try:
                if batch.unsure and box.batching.named and monotonic() < until:
                    await self._cancel_extras(box, batch)
                looked = await self._send_once(box, lambda: box.batching.look(batch.id))
            except UnavailableError as error:
                dispatcher.tally.last_trouble, blind = f"{box.name}: {error}", blind + 1
                if blind >= _MAX_FAILED_POLLS or dispatcher.patience.refuses(error):
                    raise
            else:
                batch.looked, blind = looked, 0
                self._report(box, batch)
                if looked.over:
                    return looked
            await dispatcher.pause(wait)
            wait = min(wait * 1.5, LAST_LOOK)
        return None

    async def results(self, box: BatchQueue, batch: Batch, looked: BatchStatus) -> dict[bytes, Found] | None:
        """Read the outcomes of a finished batch's calls, by slot. Return None if the id turns out to belong to another
        batch. `batch.id` is then the next candidate, or '' if no candidate is left."""
        try:
            found = await self._send_with_retries(box, lambda: box.batching.results(looked, batch.calls))
        except AccessError as error:
            if error.kind != "unknown model":  # 404: the provider no longer has it
                raise
            return {}
        own = {id_: identity for id_ in found if (identity := identity_of(id_, batch.name)) is not None}
        if found and not own and (batch.others or (batch.unsure and not box.batching.named)):
            batch.disproved.add(batch.id)
            batch.id = ""
            batch.others = batch.others or await self.listed(box, batch)
            if batch.others:
                batch.id = batch.others.pop(0)
                await self._dispatcher.journal.keep(batch.state())
            return None
        return {
            identity.slot: (identity.content, found[id_])
            for id_, identity in own.items()
            if identity.slot in batch.open
        }

    async def _send_once(self, box: BatchQueue, attempt: Callable[[], Awaitable[T]]) -> T:
        """Send a request as soon as the provider's pace allows, and return its outcome.

        Raises:
            Stopped: the run is stopping, or the provider has had no capacity for long.
        """
        ticket = await box.limiter.enter()
        try:
            self._dispatcher.raise_if_stopped()
            found = await attempt()
        except UnavailableError as error:
            if error.kind in OVERLOAD:
                box.limiter.overloaded(ticket, error.retry_after, busy=error.busy, patience=self._dispatcher.patience)
                if box.limiter.exhausted:
                    raise self._dispatcher.stop_exhausted(box.limiter, error) from error
            raise
        except AnswerError:
            box.limiter.responded()
            raise
        finally:
            box.limiter.leave()
        box.limiter.answered()
        return found

    async def _send_with_retries(self, box: BatchQueue, attempt: Callable[[], Awaitable[T]]) -> T:
        async def wait(number: int, error: AnswerError) -> None:
            if not isinstance(error, UnavailableError):
                raise error
            await self._wait_before_retry(box, number, error)

        return await retried(lambda: self._send_once(box, attempt), wait)

    async def _try_to_clean_up(self, box: BatchQueue, attempt: Callable[[], Awaitable[None]]) -> bool:
        """Try to clean up, and return whether the request succeeded. The run continues even if it failed."""
        try:
            await self._send_once(box, attempt)
        except AnswerError as error:
            self._dispatcher.tally.last_trouble = f"{box.name}: {error}"
            return False
        return True

    async def _wait_before_retry(self, box: BatchQueue, attempt: int, error: AnswerError) -> None:
        dispatcher, wait = self._dispatcher, None
        dispatcher.tally.last_trouble = f"{box.name}: {error}"
        if isinstance(error, UnavailableError) and not dispatcher.patience.refuses(error):
            wait = dispatcher.patience.wait(attempt, error, refusing=box.limiter.refusing)
        if wait is None or dispatcher.stopped is not None:
            raise error
        dispatcher.tally.retried += 1
        await dispatcher.pause(wait)


def is_refusal(error: AnswerError) -> bool:
    """Whether the error is a refusal of the batch itself, and not of the key or the account."""
    return isinstance(error, RejectedError) or error.kind in _BATCH_REFUSAL_KINDS


def refusal(box: BatchQueue, batch: Batch) -> BatchRefused:
    """The error that ends a run because a batch was refused. The message says what to do."""
    return BatchRefused(
        f"{box.name}: {batch.refused}; 'overton resume --retry-failed' creates the batch again, and"
        " 'overton resume --no-batch' sends the batch's calls one by one"
    )


def _earliest_creation(batch: Batch) -> float:
    """The earliest Unix time at which the provider may have made the batch, even if our clock was ahead when the time
    was noted."""
    return min(batch.since, batch.at, time()) - _MAX_CLOCK_SKEW_S


def _seconds_left(batch: Batch, seconds: float) -> float:
    """The rest of a period of `seconds` that began when the batch was sent. The rest is never longer than the period,
    so that the run does not wait for days if the clock was set back."""
    return min(max(0.0, batch.at + seconds - time()), seconds)


def _is_perhaps_done(error: AnswerError) -> bool:
    """Whether a request to create something may have succeeded despite this error: the provider's server failed, the
    connection was lost, or the reply cannot be read."""
    return error.maybe_billed or error.kind == "server error"
