"""Where calls are made: recalled from the journal, or paced, paid, retried and journaled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar

import msgspec

from overton.calls import Answerer, Failure, Reply, Request, Settings, Usage
from overton.calls.model import Model
from overton.engine.budget import Billing, Budget, Reservation
from overton.engine.first_calls import PROBABILITIES, FirstCalls, FirstTurn, Sender, features_of, unsupported
from overton.engine.identity import CallKey, Identity
from overton.engine.journal import Journal
from overton.engine.journal_file import JournalEntry
from overton.engine.rate_limit import OVERLOAD, RateLimiter
from overton.engine.retry import RetryPolicy, retried
from overton.engine.servers import PooledServer, ServerPool
from overton.errors import AnswerError, OvertonError, RejectedError, Stopped, UnavailableError

T = TypeVar("T")


_ENDPOINT_FAILURES = OVERLOAD | {"malformed"}
_MAX_FAILURES_IN_A_ROW = 24
"""Permanent failures in a row after which an endpoint is taken to be down."""


_RECALLS_PER_YIELD = 64
"""Calls recalled in a row before the event loop gets a turn for signals and progress."""


class NotRecalled(Stopped):
    """A call that is not in the journal, when no calls may be made."""


Rejected = Callable[[Failure], Reply | None]
"""Makes a reply of a failure, None if it is not an answer."""

_NO_CALL_YET: tuple[object, bool, frozenset[str]] = (object(), False, frozenset())


@dataclass
class Seat:
    """A model in a lane, with its settings and its rate limit.

    `limiter` admits its calls, to its only server or to the least busy of several. `batched` says that its calls are
    sent in batches, `judges` that it serves as a judge. `needed` are the features that its last call needed, after that
    call's form and whether it had a seed.
    """

    model: Model
    settings: Settings
    limiter: RateLimiter | ServerPool
    judges: bool = False
    batched: bool = False
    failed_in_a_row: int = 0
    has_answered: bool = False
    billing: Billing = field(default_factory=Billing)
    needed: tuple[object, bool, frozenset[str]] = _NO_CALL_YET

    def worst(self, request: Request) -> float:
        """The most that a request is expected to cost, in dollars."""
        return self.billing.worst(self.model.price, request)


@dataclass
class Counters:
    """A run's progress, for display; `notes` are remarks on answerers, by name."""

    asked: int = 0
    recalled: int = 0
    failed: int = 0
    retried: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    last_trouble: str = ""
    batches: str = ""
    notes: dict[str, str] = field(default_factory=dict)


class BatchCalls(Protocol):
    """Calls that go in batches, as the dispatcher sees them (`overton.engine.batches`); false if there are none."""

    def __bool__(self) -> bool: ...

    def open(self, seats: Iterable[Seat], *, retry_failed: bool = False) -> None:
        """Resume what earlier sessions left."""
        ...

    async def outcome(self, seat: Seat, identity: Identity, request: Request) -> Reply | None:
        """The reply to a call that is in a batch or goes into one; None if it has to be sent alone."""
        ...

    def contains(self, slot: bytes) -> bool:
        """Whether a call is in a batch."""
        ...

    def recalled(self, slot: bytes, cost: float) -> None:
        """The journal has the outcome of a call that may also be in a batch."""
        ...

    def journaled(self, slot: bytes) -> None:
        """A call's outcome was handed to the journal."""
        ...

    def raise_reserved(self, seat: Seat, times: float) -> float:
        """Set aside `times` as much for calls in flight; returns the additional dollars."""
        ...

    def stopping(self, reason: OvertonError) -> None:
        """Send nothing more and release all waiters."""
        ...

    async def settle(self, *, cut_off: bool = False) -> None:
        """Wait until what is being sent has been sent and noted; with `cut_off`, cancel it instead."""
        ...

    @property
    def out(self) -> int:
        """How many calls are in batches that continue at the provider."""
        ...


@dataclass
class Dispatcher:
    """Answers asks on behalf of a run: from its journal if possible, otherwise by calling and journaling."""

    journal: Journal
    budget: Budget
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    tally: Counters = field(default_factory=Counters)
    stopped: OvertonError | None = None
    recall_only: bool = False
    batches: BatchCalls | None = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _limiters: dict[int, RateLimiter | ServerPool] = field(default_factory=dict)
    _first_calls: FirstCalls = field(default_factory=FirstCalls)
    _shielded: set[asyncio.Task[Reply | Failure]] = field(default_factory=set)
    _shared: dict[bytes, asyncio.Task[Reply | Failure]] = field(default_factory=dict)
    _prune_shared_at: int = 0

    def stop(self, reason: OvertonError) -> None:
        """Send nothing more; calls in flight finish and are journaled. The first reason counts."""
        self.stopped = self.stopped or reason
        self._stopping.set()
        for limiter in self._limiters.values():
            limiter.close()
        self._first_calls.release()
        if self.batches is not None:
            self.batches.stopping(self.stopped)

    def resume_batches(self, batches: BatchCalls, seats: Iterable[Seat], *, retry_failed: bool = False) -> None:
        """Send in `batches` the calls that `seats` want batched, and resume the batches of earlier sessions; with
        `retry_failed` create again those that were refused.

        Raises:
            JournalError: the journal is damaged.
        """
        batches.open(seats, retry_failed=retry_failed)
        self.batches = batches or None

    async def outcome(
        self, seat: Seat, identity: Identity, place: CallKey, request: Request, *, rejected: Rejected | None = None
    ) -> Reply | Failure:
        """The outcome of a call: the journal's, or a new one, journaled before it is returned. `rejected` makes a reply
        of a failure that is an answer.

        Raises:
            Stopped: the run is stopping and it is not in the journal.
        """
        known = self.journal.recall(identity)
        if known is not None:
            self.tally.recalled += 1
            if self.budget.limits.cost is not None and isinstance(known, Reply):
                self.learn(seat, request, _reply_cost(seat, known, 0.0), is_new=False)
            if self.batches is not None:
                self.batches.recalled(identity.slot, _reply_cost(seat, known, 0.0) if isinstance(known, Reply) else 0.0)
            if self.tally.recalled % _RECALLS_PER_YIELD == 0:
                await asyncio.sleep(0)
            return known
        if self.recall_only:
            raise NotRecalled(f"trial {place.trial}: ask {place.number} of {place.speaker} is not in the journal")
        self.raise_if_stopped()
        found = _make_storable(await self._make_call(seat, identity, request))
        if rejected is not None and isinstance(found, Failure):
            found = rejected(found) or found
        self._count(seat, found)
        await self.journal.append(JournalEntry(identity, place, found))
        self._stop_if_full()
        if self.batches is not None:
            self.batches.journaled(identity.slot)
        return found

    async def shared_outcome(self, seat: Seat, identity: Identity, place: CallKey, request: Request) -> Reply | Failure:
        """The outcome of a call that any trial may make, made once however many wait for it.

        Raises:
            Stopped: see `outcome`.
        """
        if self.recall_only or self.journal.has(identity.slot):
            return await self.outcome(seat, identity, place, request)
        if identity.slot not in self._shared:
            if len(self._shared) >= self._prune_shared_at:
                # Outcomes already in the journal need not be kept here. Looked through whenever the number doubles,
                # since many may wait at once for a batch.
                self._shared = {slot: task for slot, task in self._shared.items() if not self.journal.has(slot)}
                self._prune_shared_at = 2 * len(self._shared)
            self._shared[identity.slot] = self._start_shielded(self.outcome(seat, identity, place, request))
        return await asyncio.shield(self._shared[identity.slot])

    async def shielded(self, asking: Coroutine[None, None, Reply | Failure]) -> Reply | Failure:
        """The outcome of a call that runs to its end even if the task that waits for it is cancelled."""
        return await asyncio.shield(self._start_shielded(asking))

    async def settle(self, *, cut_off: bool = False) -> None:
        """Wait for calls that no task waits for any more; with `cut_off`, cancel them instead."""
        while self._shielded:
            if cut_off:
                for task in self._shielded:
                    task.cancel()
            await asyncio.wait(self._shielded)
        if self.batches is not None:
            await self.batches.settle(cut_off=cut_off)

    def _start_shielded(self, asking: Coroutine[None, None, Reply | Failure]) -> asyncio.Task[Reply | Failure]:
        task = asyncio.ensure_future(asking)
        self._shielded.add(task)
        task.add_done_callback(self._end_shielded)
        return task

    def _end_shielded(self, task: asyncio.Task[Reply | Failure]) -> None:
        self._shielded.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, OvertonError) and not isinstance(error, Stopped):
            self.stop(error)  # perhaps no task waits for this call any more

    async def _make_call(self, seat: Seat, identity: Identity, request: Request) -> Reply | Failure:
        """The outcome of a call: in a batch if it goes into one; otherwise, or if that gives none, on its own."""
        if self.batches is not None:
            if seat.batched and not self.batches.contains(identity.slot):
                # A batch whose replies lack token probabilities is paid for in full: one call goes ahead of it, alone.
                needed = self._features(seat, request) & {PROBABILITIES}
                if not self._first_calls.are_known(seat.model.answerer.identity, needed):
                    turn = await self._first_calls.turn(seat.model.answerer.identity, needed, is_patient=True)
                    if turn.features:
                        return await self._make_first_call(seat, request, turn)
            if (reply := await self.batches.outcome(seat, identity, request)) is not None:
                return _drop_impossible_counts(reply)
        model, needed = seat.model.answerer.identity, self._features(seat, request)
        if self._first_calls.are_known(model, needed):
            return await self._send_with_retries(seat, request)
        return await self._make_first_call(seat, request, await self._first_calls.turn(model, needed))

    async def _make_first_call(self, seat: Seat, request: Request, turn: FirstTurn) -> Reply | Failure:
        found = None
        try:
            found = await self._send_with_retries(seat, request, turn)
            return found
        finally:
            self._first_calls.end(turn, found)

    def _features(self, seat: Seat, request: Request) -> frozenset[str]:
        """The features that a call needs: mostly those of the answerer's last call, which had the same form.

        None if several servers share the calls: one that alone replied first would decide which model the others must
        serve.
        """
        if seat.model.serving is not None:
            return frozenset()
        form, has_seed, features = seat.needed
        if form is not request.form or has_seed != (request.seed is not None):
            has_cost_limit = self.budget.limits.cost is not None and seat.model.price is not None
            features = features_of(Sender(seat.model.answerer.holds_form, seat.judges, has_cost_limit), request)
            seat.needed = request.form, request.seed is not None, features
        return features

    def _send_with_retries(
        self, seat: Seat, request: Request, turn: FirstTurn | None = None
    ) -> Awaitable[Reply | Failure]:
        """Send until there is an outcome. A call whose `turn` it is to go first stops the run if it is rejected for
        what its endpoint lacks."""
        return retried(partial(self._send, seat, request), partial(self._handle_error, seat, turn))

    async def _handle_error(
        self, seat: Seat, turn: FirstTurn | None, attempt: int, error: AnswerError
    ) -> Failure | None:
        """The failure that a call's `attempt` ends with, or None once it may be tried again.

        Raises:
            Stopped: no other call can succeed either.
        """
        if isinstance(error, UnavailableError):
            self.tally.last_trouble = f"{seat.model.answerer.name}: {error}"
            if self.patience.refuses(error):
                raise self._stop_for_now(error) from error
            if turn is not None:
                self._first_calls.unanswered(turn)
            wait = self.patience.wait(attempt, error, refusing=seat.limiter.refusing)
            if wait is not None:
                self.tally.retried += 1
                await self.pause(wait)
                return None
        elif isinstance(error, RejectedError):
            if turn is not None:
                self._stop_if_unsupported(seat, turn, error)
                if seat.has_answered:  # otherwise it is soon given up, one call at a time
                    self._first_calls.unanswered(turn)
        else:
            self.stop(Stopped(f"{error}: resume the run when it has") if error.kind == "no credit" else error)
            raise Stopped(str(error)) from error
        return Failure(error.kind, str(error), attempt)

    def _stop_if_unsupported(self, seat: Seat, turn: FirstTurn, error: RejectedError) -> None:
        """Stop the run if a first call was rejected because its endpoint lacks what it needs.

        Raises:
            Stopped: it was.
        """
        if (lacking := unsupported(turn.features, error, seat.model.answerer.name)) is not None:
            self.stop(lacking)
            raise Stopped(str(lacking)) from error

    def _stop_for_now(self, error: UnavailableError) -> Stopped:
        """The failure is not permanent: the call is made again when the run is resumed."""
        self.stop(Stopped(f"{error}; it asks for a pause of {error.retry_after:.0f} seconds: resume the run then"))
        return Stopped(str(error))

    def stop_exhausted(self, limiter: RateLimiter, error: UnavailableError) -> Stopped:
        """An endpoint has had no capacity for as long as patience allows: stop, to be resumed later."""
        times, seconds = limiter.refused
        reason = Stopped(
            f"{error}, as to all of the last {times:,} requests, the latest of which were sent one by one over"
            f" {_format_duration(seconds)}: resume the run later"
        )
        self.stop(reason)
        return reason

    async def pause(self, seconds: float) -> None:
        """Wait, unless the run stops."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def unless_stopped(self, work: Coroutine[None, None, T]) -> T:
        """The result of work that changes nothing, cut off if the run stops.

        Raises:
            Stopped: the run is stopping.
        """
        task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self.raise_if_stopped()
            return task.result()
        finally:
            task.cancel()
            stopping.cancel()

    async def _send(self, seat: Seat, request: Request) -> Reply:
        """Send once, as soon as the endpoint's pace and the budget allow."""
        self._limiters[id(seat)] = seat.limiter
        self.raise_if_stopped()
        if isinstance(seat.limiter, RateLimiter):
            limiter, ticket = seat.limiter, await seat.limiter.enter()
            answerer: Answerer | PooledServer = seat.model.answerer
        else:
            answerer, limiter, ticket = await self._wait_for_server(seat.limiter)
        try:
            reserved = Reservation(request, await self.reserve(seat, request))
            seat.billing.in_flight.add(reserved)
            paid = None  # also if the request is cut off: it may be billed, at its worst case
            try:
                reply = _drop_impossible_counts(await answerer.answer(request))
                paid = _reply_cost(seat, reply, reserved.worst)
                if paid > reserved.worst:
                    self.learn(seat, request, paid)
            except AnswerError as error:
                paid = None if error.maybe_billed else 0.0
                if isinstance(error, UnavailableError) and error.kind in OVERLOAD:
                    limiter.overloaded(ticket, error.retry_after, busy=error.busy, patience=self.patience)
                    if limiter.exhausted and seat.limiter.refusing:
                        raise self.stop_exhausted(limiter, error) from error
                elif isinstance(error, RejectedError):
                    limiter.responded()
                raise
            finally:
                seat.billing.in_flight.discard(reserved)
                self.budget.settle(reserved.worst, reserved.worst if paid is None else paid)
        finally:
            limiter.leave()
        limiter.answered()
        return reply

    async def _wait_for_server(self, fleet: ServerPool) -> tuple[PooledServer, RateLimiter, int]:
        """The server that is to answer a call, its limiter, and a ticket for it.

        Raises:
            Stopped, AnswerError: none is available.
        """
        try:
            member, ticket = await fleet.enter()
        except Stopped as none:
            self.stop(none)
            raise
        return member, member.limiter, ticket

    def learn(self, seat: Seat, request: Request, bill: float, *, is_new: bool = True) -> None:
        """Expect bills like this one from an answerer, of the requests in flight too, and say so.

        A bill from the journal is not `is_new`: batches of earlier sessions already have reservations that cover it.
        """
        before = seat.billing.times
        if not (note := seat.billing.learn(seat.model.price, request, bill)):
            return
        self.tally.notes[seat.model.answerer.name] = note
        more = seat.billing.raise_reserved(seat.model.price)
        if self.batches is not None:
            more += self.batches.raise_reserved(seat, seat.billing.times / before if is_new else 1.0)
        self.budget.set_aside_more(more)

    async def reserve(self, seat: Seat, request: Request, *, share: float = 1.0, covered: bool = True) -> float:
        """Set money aside for one request (see `Budget.reserve`), this `share` of its price; if the budget does not
        allow it, the run stops. Returns the dollars set aside.

        Raises:
            Stopped: the run is stopping.
        """
        self.raise_if_stopped()
        while True:
            worst, most = seat.worst(request) * share, seat.billing.most
            try:
                await self.budget.reserve(worst, covered=covered)
            except Stopped as reached:
                self.stop(reached)
                raise
            if self.stopped is None and seat.billing.most == most:
                return worst
            self.budget.withdraw(worst)  # the run has stopped, or the call's worst case has risen, while it waited
            self.raise_if_stopped()

    def _stop_if_full(self) -> None:
        """Stop once the disk is full: what is in flight still has space, but no further request may have."""
        if self.journal.full is not None and self.stopped is None:
            self.stop(self.journal.full)

    def raise_if_stopped(self) -> None:
        """Raise `Stopped` if the run is stopping."""
        self._stop_if_full()
        if self.stopped is not None:
            raise Stopped(str(self.stopped))

    def _count(self, seat: Seat, found: Reply | Failure) -> None:
        self.tally.asked += 1
        if isinstance(found, Reply):
            seat.failed_in_a_row, seat.has_answered = 0, True
            self.tally.input_tokens += found.usage.input_tokens or 0
            self.tally.output_tokens += found.usage.output_tokens or 0
            return
        self.tally.failed += 1
        # A rejection is about one request, unless all so far were rejected: then it is about the settings.
        seat.failed_in_a_row += found.kind in _ENDPOINT_FAILURES or not seat.has_answered
        if seat.failed_in_a_row >= _MAX_FAILURES_IN_A_ROW:
            self.stop(
                Stopped(
                    f"{seat.model.answerer.name} failed {seat.failed_in_a_row} calls in a row, the last in"
                    f" {found.attempts} attempt(s), and is taken to be down or misconfigured; its last message:"
                    f" {found.message}"
                )
            )


def _format_duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def _drop_impossible_counts(reply: Reply) -> Reply:
    """The reply without impossible token counts, from any answerer, so that the journal can be read back."""
    said = reply.usage
    if said.sound:
        return reply
    return msgspec.structs.replace(reply, usage=Usage.said(said.input_tokens, said.output_tokens))


def _reply_cost(seat: Seat, reply: Reply, worst: float) -> float:
    """Dollars; the worst case if the endpoint did not report how many tokens there were."""
    if seat.model.price is None:
        return 0.0
    cost = seat.model.price.cost(reply.usage)
    return worst if cost is None else cost


def _make_storable(found: Reply | Failure) -> Reply | Failure:
    """The outcome in storable form: half a surrogate pair, which some JSON readers let through, becomes '?'."""
    if isinstance(found, Reply):
        texts = found.text, found.finish, found.model or "", found.fingerprint or "", found.served_by or ""
        if all(map(str.isascii, texts)):
            return found
    changes = {
        name: value.encode("utf-8", "replace").decode()
        for name, value in msgspec.structs.asdict(found).items()
        if isinstance(value, str) and not value.isascii() and not _is_encodable(value)
    }
    return msgspec.structs.replace(found, **changes) if changes else found


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
