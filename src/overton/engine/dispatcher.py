"""The dispatcher of calls. It recalls a call's outcome from the journal, or sends the call and journals the outcome. It
applies pacing, budget and retries."""

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
from overton.engine.first_replies import FirstReplies, Sample
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
"""The number of permanent failures in a row after which Overton assumes that an endpoint is down."""


_RECALLS_PER_YIELD = 64
"""The number of calls recalled in a row before the event loop can handle signals and show progress."""


class NotRecalled(Stopped):
    """The error raised when a call's outcome is not in the journal and no calls may be made."""


Rejected = Callable[[Failure], Reply | None]
"""A function that returns a reply if a failure counts as an answer, otherwise None."""

_NO_CALL_YET: tuple[object, bool, frozenset[str]] = (object(), False, frozenset())


@dataclass
class Seat:
    """A model in a pipeline, with its settings and its rate limit.

    `limiter` admits calls to the only server or to the least busy of several servers. `batched` is True if calls are
    sent in batches, and `judges` if the model serves as a judge. `sample` has the first replies, None if they are not
    to be checked. `needed` has the reply format of the last call, whether that call had a seed, and the features that
    it needed.
    """

    model: Model
    settings: Settings
    limiter: RateLimiter | ServerPool
    judges: bool = False
    batched: bool = False
    sample: Sample | None = None
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
    """The dispatcher's interface to batches (`overton.engine.batches`); falsy if there are no batches."""

    def __bool__(self) -> bool: ...

    def open(self, seats: Iterable[Seat], *, retry_failed: bool = False) -> None:
        """Resume the batches of earlier sessions."""
        ...

    async def outcome(self, seat: Seat, identity: Identity, request: Request) -> Reply | None:
        """The reply to a call that is in a batch or goes into a batch; None if the call has to be sent alone."""
        ...

    def contains(self, slot: bytes) -> bool:
        """Whether a call is in a batch."""
        ...

    def recalled(self, slot: bytes, cost: float) -> None:
        """Note that the journal has the outcome of a call that may also be in a batch."""
        ...

    def journaled(self, slot: bytes) -> None:
        """Note that the journal has been given a call's outcome."""
        ...

    def raise_reserved(self, seat: Seat, times: float) -> float:
        """Multiply the dollars set aside for calls in flight by `times`. Return the additional dollars."""
        ...

    def stopping(self, reason: OvertonError) -> None:
        """Send nothing more and release all waiters."""
        ...

    async def settle(self, *, cut_off: bool = False) -> None:
        """Wait until each batch has been sent and noted. With `cut_off`, cancel the sending instead."""
        ...

    @property
    def out(self) -> int:
        """The number of calls in batches that are still in progress at the provider."""
        ...


@dataclass
class Dispatcher:
    """A dispatcher of a run's calls. It answers them from the journal if possible; otherwise it sends them and journals
    the outcomes."""

    journal: Journal
    budget: Budget
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    tally: Counters = field(default_factory=Counters)
    stopped: OvertonError | None = None
    recall_only: bool = False
    batches: BatchCalls | None = None
    first_replies: FirstReplies | None = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _limiters: dict[int, RateLimiter | ServerPool] = field(default_factory=dict)
    _first_calls: FirstCalls = field(default_factory=FirstCalls)
    _shielded: set[asyncio.Task[Reply | Failure]] = field(default_factory=set)
    _shared: dict[bytes, asyncio.Task[Reply | Failure]] = field(default_factory=dict)
    _prune_shared_at: int = 0

    def stop(self, reason: OvertonError) -> None:
        """Send nothing more. Calls in flight finish and are journaled. If there are several reasons to stop, the first
        counts."""
        self.stopped = self.stopped or reason
        self._stopping.set()
        for limiter in self._limiters.values():
            limiter.close()
        self._first_calls.release()
        if self.first_replies is not None:
            self.first_replies.release()
        if self.batches is not None:
            self.batches.stopping(self.stopped)

    def resume_batches(self, batches: BatchCalls, seats: Iterable[Seat], *, retry_failed: bool = False) -> None:
        """Send the calls of batched `seats` in `batches`, and resume the batches of earlier sessions. With
        `retry_failed`, create refused batches again.

        Raises:
            JournalError: the journal is damaged.
        """
        batches.open(seats, retry_failed=retry_failed)
        self.batches = batches or None

    async def outcome(
        self, seat: Seat, identity: Identity, place: CallKey, request: Request, *, rejected: Rejected | None = None
    ) -> Reply | Failure:
        """Return a call's outcome, from the journal if it is there. A new outcome is journaled before it is returned.
        `rejected` turns a failure that counts as an answer into a reply.

        Raises:
            Stopped: the run is stopping and the outcome is not in the journal.
        """
        known = self.journal.recall(identity)
        sample = seat.sample
        what = None if sample is None else sample.place_of(request, identity.slot)
        if known is not None:
            if sample is not None and what is not None:
                sample.hear(what, place, request, known, is_new=False)
            self._count_recalled(seat, identity, request, known)
            if self.tally.recalled % _RECALLS_PER_YIELD == 0:
                await asyncio.sleep(0)
            return known
        if self.recall_only:
            raise NotRecalled(f"trial {place.trial}: ask {place.number} of {place.speaker} is not in the journal")
        self.raise_if_stopped()
        if sample is None or what is None or (self.batches is not None and self.batches.contains(identity.slot)):
            sample = None
        else:
            await sample.enter(what)
        try:
            if sample is not None:
                self.raise_if_stopped()  # the run may have stopped while the call waited
            alone = sample is not None and not sample.is_open
            found = _make_storable(await self._make_call(seat, identity, request, alone=alone))
            if rejected is not None and isinstance(found, Failure):
                found = rejected(found) or found
            self._count(seat, found)
            await self.journal.append(JournalEntry(identity, place, found))
            if sample is not None:
                sample.hear(what, place, request, found, is_new=True)
        finally:
            if sample is not None:
                sample.leave()
        self._stop_if_full()
        if self.batches is not None:
            self.batches.journaled(identity.slot)
        return found

    async def shared_outcome(self, seat: Seat, identity: Identity, place: CallKey, request: Request) -> Reply | Failure:
        """Return the outcome of a call that all trials share. The call is made once, however many trials wait for it.

        Raises:
            Stopped: see `outcome`.
        """
        if self.recall_only or self.journal.has(identity.slot):
            return await self.outcome(seat, identity, place, request)
        if identity.slot not in self._shared:
            if len(self._shared) >= self._prune_shared_at:
                # Outcomes already in the journal need not be kept here. Prune only when the number has doubled, because
                # many calls may wait for a batch at once.
                self._shared = {slot: task for slot, task in self._shared.items() if not self.journal.has(slot)}
                self._prune_shared_at = 2 * len(self._shared)
            self._shared[identity.slot] = self._start_shielded(self.outcome(seat, identity, place, request))
        return await asyncio.shield(self._shared[identity.slot])

    async def shielded(self, asking: Coroutine[None, None, Reply | Failure]) -> Reply | Failure:
        """Return the outcome of a call. The call runs to its end even if the waiting task is cancelled."""
        return await asyncio.shield(self._start_shielded(asking))

    async def settle(self, *, cut_off: bool = False) -> None:
        """Wait for calls in flight whose tasks were cancelled; with `cut_off`, cancel these calls instead."""
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

    async def _make_call(
        self, seat: Seat, identity: Identity, request: Request, *, alone: bool = False
    ) -> Reply | Failure:
        """Make a call and return its outcome. The call goes into a batch if its model uses batches and the call need
        not go `alone`. Otherwise, or if the batch gives no outcome, it is sent on its own."""
        if self.batches is not None and not alone:
            if seat.batched and not self.batches.contains(identity.slot):
                # A batch has to be paid in full even if its replies lack token probabilities, so one call is sent alone
                # first.
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
        """The features that a call needs. They are usually those of the model's last call, which had the same reply
        format.

        The set is empty if several servers share the calls. Otherwise, the single server that replies first would
        decide which model all servers must serve.
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
        """Send a call until it has an outcome. With `turn`, the call goes first. If its endpoint then rejects the call
        because it lacks a feature, the run stops."""
        return retried(partial(self._send, seat, request), partial(self._handle_error, seat, turn))

    async def _handle_error(
        self, seat: Seat, turn: FirstTurn | None, attempt: int, error: AnswerError
    ) -> Failure | None:
        """Handle the error of a call's `attempt`. Return the call's failure, or None once the call may be tried again.

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
                if seat.has_answered:  # otherwise the next calls also go one at a time, until the endpoint is given up
                    self._first_calls.unanswered(turn)
        else:
            self.stop(Stopped(f"{error}: resume the run when it has") if error.kind == "no credit" else error)
            raise Stopped(str(error)) from error
        return Failure(error.kind, str(error), attempt)

    def _stop_if_unsupported(self, seat: Seat, turn: FirstTurn, error: RejectedError) -> None:
        """Stop the run if a first call was rejected because its endpoint lacks a feature that the call needs.

        Raises:
            Stopped: the call was rejected for this reason.
        """
        if (lacking := unsupported(turn.features, error, seat.model.answerer.name)) is not None:
            self.stop(lacking)
            raise Stopped(str(lacking)) from error

    def _stop_for_now(self, error: UnavailableError) -> Stopped:
        """Stop the run at a failure that is not permanent; the call is made again when the run is resumed."""
        self.stop(
            Stopped(f"{error}. The server asks for a pause of {error.retry_after:.0f} seconds; resume the run then")
        )
        return Stopped(str(error))

    def stop_exhausted(self, limiter: RateLimiter, error: UnavailableError) -> Stopped:
        """Stop the run because an endpoint has had no capacity for too long. The run can be resumed later."""
        times, seconds = limiter.refused
        reason = Stopped(
            f"{error}. The last {times:,} requests all failed in this way; the latest were sent one by one over"
            f" {_format_duration(seconds)}. Resume the run later"
        )
        self.stop(reason)
        return reason

    async def pause(self, seconds: float) -> None:
        """Wait, unless the run stops."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def unless_stopped(self, work: Coroutine[None, None, T]) -> T:
        """Return the result of work that has no side effects. Cancel the work if the run stops.

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
            paid = None  # a cancelled request may also be billed, so it counts at its worst case
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
        """Wait for a server that can take a call. Return the server, its limiter, and the limiter's ticket.

        Raises:
            Stopped, AnswerError: there is no server available.
        """
        try:
            member, ticket = await fleet.enter()
        except Stopped as none:
            self.stop(none)
            raise
        return member, member.limiter, ticket

    def learn(self, seat: Seat, request: Request, bill: float, *, is_new: bool = True) -> None:
        """Expect more bills of this size from the model, also for requests in flight, and add a note for the user.

        `is_new` is False for a bill from the journal. Batches of earlier sessions already have reservations that cover
        such bills.
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
        """Set aside the fraction `share` of a request's price (see `Budget.reserve`). If the budget does not allow it,
        the run stops. Return the dollars set aside.

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
            self.budget.withdraw(worst)  # while the call waited, the run stopped or the call's worst case rose
            self.raise_if_stopped()

    def _stop_if_full(self) -> None:
        """Stop once the disk is full, because the reserved space covers only the calls in flight."""
        if self.journal.full is not None and self.stopped is None:
            self.stop(self.journal.full)

    def raise_if_stopped(self) -> None:
        """Raise `Stopped` if the run is stopping."""
        self._stop_if_full()
        if self.stopped is not None:
            raise Stopped(str(self.stopped))

    def _count_recalled(self, seat: Seat, identity: Identity, request: Request, known: Reply | Failure) -> None:
        self.tally.recalled += 1
        if self.budget.limits.cost is not None and isinstance(known, Reply):
            self.learn(seat, request, _reply_cost(seat, known, 0.0), is_new=False)
        if self.batches is not None:
            self.batches.recalled(identity.slot, _reply_cost(seat, known, 0.0) if isinstance(known, Reply) else 0.0)

    def _count(self, seat: Seat, found: Reply | Failure) -> None:
        self.tally.asked += 1
        if isinstance(found, Reply):
            seat.failed_in_a_row, seat.has_answered = 0, True
            self.tally.input_tokens += found.usage.input_tokens or 0
            self.tally.output_tokens += found.usage.output_tokens or 0
            return
        self.tally.failed += 1
        # A rejection usually concerns one request. If all requests so far were rejected, it concerns the settings.
        seat.failed_in_a_row += found.kind in _ENDPOINT_FAILURES or not seat.has_answered
        if seat.failed_in_a_row >= _MAX_FAILURES_IN_A_ROW:
            self.stop(
                Stopped(
                    f"{seat.model.answerer.name} failed {seat.failed_in_a_row} calls in a row. It is"
                    f" probably down or misconfigured. The last call (attempts: {found.attempts}) failed with this"
                    f" message: {found.message}"
                )
            )


def _format_duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def _drop_impossible_counts(reply: Reply) -> Reply:
    """The reply without impossible token counts, because a journal that contains them could not be read back."""
    said = reply.usage
    if said.sound:
        return reply
    return msgspec.structs.replace(reply, usage=Usage.said(said.input_tokens, said.output_tokens))


def _reply_cost(seat: Seat, reply: Reply, worst: float) -> float:
    """The cost of a reply in dollars; the worst case if the endpoint did not report token counts."""
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
