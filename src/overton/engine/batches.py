"""Calls sent in batches. Overton collects calls until the run cannot proceed without their replies. Then it notes the
batch, sends it and waits for it.

A batch is noted in the journal, with all its calls, before any of it is sent, and again after each step. So a later
session can resume the batches of a killed session, and no call is answered by two batches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from overton.calls import Reply, Request
from overton.engine.batch_notes import Batch, Found, call_id, new_name, noted_batches
from overton.engine.batch_sender import BatchQueue, BatchSender, QueuedCall, is_refusal, refusal
from overton.engine.identity import Identity
from overton.errors import (
    AccessError,
    AnswerError,
    OvertonError,
    RejectedError,
    RunMismatch,
    Stopped,
    UnavailableError,
)

if TYPE_CHECKING:
    from overton.engine.dispatcher import Dispatcher, Seat


QUIET = 0.25
"""Seconds without any request or reply before waiting calls are sent."""
_MAX_WAIT_S = 300.0
"""The maximum time, in seconds, that a call waits for others."""
_MAX_BATCH_BYTES = 64 * 2**20
"""The maximum size of a batch in bytes, because a batch is kept in memory. Providers allow more."""
_MAX_EXPIRIES = 2
"""How many times a call may expire in a batch before it is sent alone."""
_ACCOUNT_ERROR_KINDS = {"bad key", "no credit"}
_NEVER_MADE, _NO_ROOM, EXPIRED = "never made", "no room", "expired"
_UNSENT_KINDS = {_NEVER_MADE, _NO_ROOM}
_RESEND_KINDS = {EXPIRED, *_UNSENT_KINDS}
"""Kinds of results after which a call goes into another batch: the provider did not start the call, or the call was not
even sent."""


class Batches:
    """The batches of a run: those that earlier sessions left, and those of this session."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._queues: dict[str, BatchQueue] = {}
        self._batches: dict[str, Batch] = {}
        self._batch_of: dict[bytes, Batch] = {}
        self._reserved = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._work: dict[str, asyncio.Task[None]] = {}
        self._quiet_task: asyncio.Task[None] | None = None
        self._is_wanted = False
        self._retry_failed = False
        self._sender = BatchSender(dispatcher, self._batch_ids, self._note_poll)

    def __bool__(self) -> bool:
        return self._is_wanted or bool(self._batches)

    def open(self, seats: Iterable[Seat], *, retry_failed: bool = False) -> None:
        """Resume the batches of earlier sessions; without `seats`, only their cost is recorded. With `retry_failed`,
        batches that were refused or cancelled are created again. If no model in `seats` is to use batches, the calls of
        refused or cancelled batches are sent one by one."""
        self._retry_failed = retry_failed
        for seat in seats:
            if seat.model.batching is not None:
                who = seat.model.answerer.identity
                self._is_wanted = self._is_wanted or seat.batched
                most = min(seat.model.batching.most_bytes, _MAX_BATCH_BYTES)
                self._queues.setdefault(who, BatchQueue(who, seat.model.answerer.name, seat.model.batching, most))
                self._queues[who].batched |= seat.batched
        for batch in noted_batches(self._dispatcher.journal.notes()):
            batch.open = {slot for slot in batch.open if not self._dispatcher.journal.has(slot)}
            batch.reserved = {slot: dollars for slot, dollars in batch.reserved.items() if slot in batch.open}
            self._dispatcher.budget.adopt(sum(batch.reserved.values()), len(batch.reserved))
            self._reserved += len(batch.reserved)
            self._register(batch)
            if not batch.open:
                self._end(batch)
            elif box := self._queues.get(batch.answerer):
                if not batch.refused:
                    self._start_work(batch, self._resume(box, batch))
                elif self._is_created_again(box, batch):
                    for slot, worst in tuple(batch.reserved.items()):  # may already have been billed
                        self._settle(slot, worst)
                    self._forget(batch)

    async def outcome(self, seat: Seat, identity: Identity, request: Request) -> Reply | None:
        """Return the reply to a call that is in a batch or goes into a batch; None if the call has to be sent alone.

        Raises:
            Stopped: the run is stopping.
            RunMismatch: the batch has a different call with this address.
        """
        box, times = self._queues.get(seat.model.answerer.identity), 0
        while box is not None:
            batch = self._batch_of.get(identity.slot)
            if batch is None and (not seat.batched or times >= _MAX_EXPIRIES):
                return None
            content, found = await (
                self._await_queued(box, seat, identity, request)
                if batch is None
                else self._await_in_batch(batch, identity)
            )
            if content not in (b"", identity.content):
                raise RunMismatch(f"a batch sent to {box.name} has other calls than this run would make now")
            reply = self._read_reply(box, seat, identity, request, found)
            if reply is not None or not (isinstance(found, AnswerError) and found.kind in _RESEND_KINDS):
                return reply
            self._remove_from_batch(identity.slot)
            times += found.kind == EXPIRED
        return None

    def contains(self, slot: bytes) -> bool:
        """Whether a call is in a batch."""
        return slot in self._batch_of

    def raise_reserved(self, seat: Seat, times: float) -> float:
        """For each call in flight to the model, multiply the dollars set aside by `times`, or set aside the model's
        largest bill if that is more. Return the additional dollars."""
        if (box := self._queues.get(seat.model.answerer.identity)) is not None:
            self._reserve_again(box)
        more = 0.0
        for batch in self._batches.values():
            each = max(times * batch.each, seat.billing.most * _batch_price_share(seat))
            if batch.answerer == seat.model.answerer.identity and batch.reserved and each > batch.each:
                more += len(batch.reserved) * (each - batch.each)
                batch.each = batch.raised = each
                batch.reserved = dict.fromkeys(batch.reserved, each)
                self._start_task(self._note_raised(batch))
        return more

    def _reserve_again(self, box: BatchQueue) -> None:
        """Empty the queue, whose calls are not in a batch yet, so that these calls can reserve more."""
        queue, box.queue, box.size = box.queue, [], 0
        for call in queue:
            self._dispatcher.budget.withdraw(call.worst)
            self._reserved -= 1
            if not call.future.done():
                call.future.set_result(
                    (call.identity.content, UnavailableError(_NEVER_MADE, "its worst case has risen"))
                )

    async def _note_raised(self, batch: Batch) -> None:
        """Note the amount that is now set aside for a batch. Does nothing if the batch has ended."""
        if batch.name in self._batches:
            await self._dispatcher.journal.keep(batch.state())

    def recalled(self, slot: bytes, cost: float) -> None:
        """Note that the journal has the outcome of a call that may also be in a batch."""
        if slot in self._batch_of:
            self._settle(slot, cost)
            self.journaled(slot)

    def journaled(self, slot: bytes) -> None:
        """Note that the journal has been given a call's outcome."""
        batch = self._batch_of.pop(slot, None)
        if batch is not None:
            batch.open.discard(slot)
            if not batch.open:
                self._end(batch)

    def stopping(self, reason: OvertonError) -> None:
        """Send nothing more and release all waiting calls. Batches already sent continue at the provider."""
        error = Stopped(str(reason))
        for box in self._queues.values():
            for call in box.queue:
                self._dispatcher.budget.withdraw(call.worst)
                self._reserved -= 1
                _fail_future(call.future, error)
            box.queue, box.size = [], 0
            box.eased.set()
            box.limiter.close()
        for batch in self._batches.values():
            for future in batch.waiting.values():
                _fail_future(future, error)

    async def settle(self, *, cut_off: bool = False) -> None:
        """Wait until each batch has been sent and noted. With `cut_off`, cancel the sending instead."""
        watching = {self._work[batch.name] for batch in self._batches.values() if batch.id and batch.name in self._work}
        while self._tasks:
            for task in self._tasks if cut_off else watching:
                task.cancel()
            await asyncio.wait(self._tasks)
        for batch in self._batches.values():
            if not batch.whole and not cut_off:
                await self._dispatcher.journal.keep(batch.state())

    @property
    def out(self) -> int:
        """The number of calls in batches that are still in progress at the provider."""
        return sum(len(batch.open) for batch in self._batches.values() if batch.is_out)

    # Calls that wait to be put into a batch

    async def _await_in_batch(self, batch: Batch, identity: Identity) -> Found:
        if batch.results is not None and identity.slot in batch.results:
            return batch.results[identity.slot]
        self._dispatcher.raise_if_stopped()
        future: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        batch.waiting[identity.slot] = future
        if batch.refused:
            self._watch_for_quiet()
        return await future

    async def _await_queued(self, box: BatchQueue, seat: Seat, identity: Identity, request: Request) -> Found:
        dispatcher = self._dispatcher
        try:
            size = len(box.batching.line(call_id(identity, "x" * 8), request)) + 2
        except AnswerError as error:
            return identity.content, error
        worst = await dispatcher.reserve(seat, request, share=_batch_price_share(seat), covered=False)
        self._reserved += 1
        future: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        if box.queue and (len(box.queue) >= box.batching.most_calls or box.size + size > box.most_bytes):
            self._send_queue(box)
        if not box.queue:
            box.since = monotonic()
        box.queue.append(QueuedCall(identity, request, worst, size, future))
        box.size += size
        self._watch_for_quiet()
        return await future

    def _watch_for_quiet(self) -> None:
        if self._quiet_task is None:
            self._quiet_task = self._start_task(self._wait_for_quiet())

    async def _wait_for_quiet(self) -> None:
        """Send the waiting calls once no other call makes progress, or once they have waited for long. End the run once
        the only calls left are those of batches that were refused in earlier sessions."""
        seen, since = None, monotonic()
        while self._dispatcher.stopped is None and (
            any(box.queue for box in self._queues.values()) or self._awaited_refused_batch()
        ):
            await asyncio.sleep(QUIET / 4)
            tally, now = self._dispatcher.tally, monotonic()
            busy = tally.asked, tally.recalled, self._reserved, self._dispatcher.budget.in_flight
            if busy != seen:
                seen, since = busy, now
            alone = self._dispatcher.budget.in_flight <= self._reserved and now - since >= QUIET
            for box in self._queues.values():
                if box.queue and (alone or now - box.since >= _MAX_WAIT_S):
                    self._send_queue(box)
            busy_still = any(box.queue for box in self._queues.values()) or any(
                batch.is_out for batch in self._batches.values()
            )
            if alone and not busy_still and (refused := self._awaited_refused_batch()):
                self._dispatcher.stop(refusal(self._queues[refused.answerer], refused))
        self._quiet_task = None

    def _awaited_refused_batch(self) -> Batch | None:
        return next((batch for batch in self._batches.values() if batch.refused and batch.waiting), None)

    def _send_queue(self, box: BatchQueue) -> None:
        """Send the waiting calls. If the provider's queue was recently full, send only one batch of them. If the queue
        is full now, send none."""
        if box.cautious and not box.held:
            box.held, box.trial = True, self._flush(box)
        while box.queue and not box.held:
            self._flush(box)

    def _flush(self, box: BatchQueue) -> Batch:
        """Make a batch of the first waiting calls and send it."""
        count, size = 0, 0
        for call in box.queue[: box.batching.most_calls]:
            if count and size + call.size > box.most_bytes:
                break
            count, size = count + 1, size + call.size
        queue, box.queue, box.size = box.queue[:count], box.queue[count:], box.size - size
        reserved = {call.identity.slot: call.worst for call in queue}
        each = sum(reserved.values()) / len(reserved)
        batch = Batch(new_name(), box.answerer, len(reserved), each, set(reserved), dict.fromkeys(reserved, each))
        batch.waiting = {call.identity.slot: call.future for call in queue}
        batch.size = sum(call.size for call in queue)
        lines = [box.batching.line(call_id(call.identity, batch.name), call.request) for call in queue]
        self._register(batch)
        self._start_work(batch, self._send_and_watch(box, batch, lines))
        return batch

    # A batch

    async def _send_and_watch(self, box: BatchQueue, batch: Batch, lines: Sequence[bytes]) -> None:
        dispatcher = self._dispatcher
        await dispatcher.budget.cover()
        await dispatcher.journal.keep(batch.contents())
        if dispatcher.stopped is not None:
            self._forget(batch)
            return
        if dispatcher.budget.is_exceeded:  # the model has just billed more than expected
            self._hand_out(box, batch, {}, UnavailableError(_NEVER_MADE, "it could exceed the limit"))
            return
        await self._sender.send(box, batch, lines)
        await self._watch(box, batch)

    async def _resume(self, box: BatchQueue, batch: Batch) -> None:
        if not batch.id:
            batch.others = await self._sender.listed(box, batch)
            if self._dispatcher.stopped is not None:
                return
            if not (batch.others or batch.upload):
                batch.upload = await self._sender.found_upload(box, batch)
            if not (batch.others or batch.upload):
                self._hand_out(box, batch, {}, _never_made_error())
                return
            listed = bool(batch.others)
            try:
                await self._sender.send(box, batch, ())
            except (RejectedError, AccessError) as error:  # the upload may be gone
                if listed or error.maybe_billed or not is_refusal(error):
                    raise
                self._hand_out(box, batch, {}, _never_made_error())
                return
        await self._watch(box, batch)

    async def _watch(self, box: BatchQueue, batch: Batch) -> None:
        """Wait until a batch has ended, and hand out its outcomes."""
        while (looked := await self._sender.ended(box, batch)) is not None:
            if looked.refused:
                if looked.full:
                    self._handle_no_room(box, batch, looked.refused)
                else:
                    await self._handle_refusal(
                        box, batch, f"a batch of {_format_calls(batch.calls)} was refused: {looked.refused}"
                    )
                return
            results = await self._sender.results(box, batch, looked)
            if results is not None:
                kind = EXPIRED if looked.cut else "missing"
                # At least one finished call has no result, so it may have been billed.
                paid = not looked.cut or looked.done > len(results)
                missing = UnavailableError(kind, f"{box.name}: a batch finished without this call", maybe_billed=paid)
                if looked.cancelled and not self._is_created_again(box, batch):
                    self._handle_cancel(box, batch, results, missing)
                else:
                    self._hand_out(box, batch, results, missing)
                return
            if not batch.id:
                self._hand_out(box, batch, {}, _never_made_error())
                return

    def _is_created_again(self, box: BatchQueue, batch: Batch) -> bool:
        """Whether the user wants the calls of a refused or cancelled batch to be sent again."""
        return batch.earlier and (self._retry_failed or not box.batched)

    async def _handle_refusal(self, box: BatchQueue, batch: Batch, reason: str) -> None:
        """Stop the run because the provider refused a batch. Note the refusal, so that later sessions do not send the
        batch again."""
        batch.refused = reason
        self._withdraw(batch)
        await self._dispatcher.journal.keep(batch.state())
        self._dispatcher.stop(refusal(box, batch))

    def _handle_cancel(self, box: BatchQueue, batch: Batch, results: dict[bytes, Found], missing: AnswerError) -> None:
        """Hand out the answers of a cancelled batch. If calls are left unanswered, stop, because the user has not asked
        to send them again."""
        left = {slot for slot in batch.open if _is_unstarted(results.get(slot, (b"", missing))[1])}
        for slot in left:
            if slot in batch.reserved and not missing.maybe_billed:
                self._settle(slot, 0.0, sent=False)
        answered = {slot: found for slot, found in results.items() if slot not in left}
        for slot, future in batch.waiting.items():
            if slot in batch.open - left and not future.done():
                future.set_result(answered.get(slot, (b"", missing)))
        if not left:
            self._hand_out(box, batch, results, missing)
            return
        batch.refused = f"a batch was cancelled before {_format_calls(len(left))} of {batch.calls:,} started"
        batch.results = {slot: answered.get(slot, (b"", missing)) for slot in batch.open - left}
        self._dispatcher.stop(refusal(box, batch))

    # A full queue of a provider

    def _handle_no_room(self, box: BatchQueue, batch: Batch, message: str) -> None:
        """Handle a full queue of the provider. The batch's calls wait, and are then sent in smaller batches, one batch
        at a time."""
        self._dispatcher.tally.last_trouble = (
            f"{box.name}: no room for a batch of {_format_calls(batch.calls)}: {message}"
        )
        if not box.held or batch is box.trial:
            size = batch.size or box.most_bytes
            box.most_bytes = max(min(box.most_bytes, size) // 2, size // batch.calls)
            box.held, box.trial = True, None
            self._start_task(self._try_again_later(box, message))
        self._hand_out(box, batch, {}, UnavailableError(_NO_ROOM, message))

    async def _try_again_later(self, box: BatchQueue, message: str) -> None:
        """Send one more batch once a batch of this run has left the provider's queue. If the queue has no batch of this
        run, wait for a while first."""
        if any(batch.is_out and batch.answerer == box.answerer for batch in self._batches.values()):
            box.eased.clear()
            await box.eased.wait()
        elif (wait := box.backoff.refused(self._dispatcher.patience)) is not None:
            await self._dispatcher.pause(wait)
        else:
            self._dispatcher.stop(
                Stopped(
                    f"{box.name}: the provider's queue of batches was full {box.backoff.refusals:,} times in a row"
                    f" ({message}). Resume the run when the queue has room"
                )
            )
        if self._dispatcher.stopped is None:
            box.held = False
            if box.queue:
                self._send_queue(box)

    def _handle_accepted(self, box: BatchQueue) -> None:
        """Send a larger batch, because the provider has accepted the trial batch."""
        box.trial, box.held = None, False
        box.most_bytes = min(2 * box.most_bytes, box.full_bytes)
        box.backoff.succeeded()
        if box.queue:
            self._send_queue(box)

    def _note_poll(self, box: BatchQueue, batch: Batch) -> None:
        if batch is box.trial and batch.looked is not None and batch.looked.begun and not batch.looked.refused:
            self._handle_accepted(box)
        self._report_progress()

    def _hand_out(self, box: BatchQueue, batch: Batch, results: dict[bytes, Found], missing: AnswerError) -> None:
        """Pass the outcomes of a batch's calls to waiting tasks, and keep the outcomes for later callers."""
        batch.results = {slot: results.get(slot, (b"", missing)) for slot in batch.open}
        for slot, future in batch.waiting.items():
            if not future.done() and slot in batch.results:
                future.set_result(batch.results[slot])
        if missing.kind != _NO_ROOM:
            box.eased.set()
        self._report_progress()

    def _forget(self, batch: Batch) -> None:
        """Drop a batch that was certainly not made, and so is not billed. Before this, the caller must notify the tasks
        that wait for the batch's calls."""
        self._withdraw(batch)
        for slot in batch.open:
            self._batch_of.pop(slot, None)
        batch.open.clear()
        self._end(batch)

    def _withdraw(self, batch: Batch) -> None:
        """Release the money set aside for a batch."""
        batch.whole = False
        while batch.reserved:
            self._reserved -= 1
            self._dispatcher.budget.withdraw(batch.reserved.popitem()[1])

    # Outcomes of single calls

    def _read_reply(
        self, box: BatchQueue, seat: Seat, identity: Identity, request: Request, found: bytes | AnswerError
    ) -> Reply | None:
        """Read the reply in a batch's result, and record its cost; None if the result has no reply."""
        batch = self._batch_of.get(identity.slot)
        worst = batch.reserved.get(identity.slot, 0.0) if batch else 0.0
        try:
            if isinstance(found, AnswerError):
                raise found
            reply = box.batching.read(request, found)
        except AnswerError as error:
            self._settle(identity.slot, worst if error.maybe_billed else 0.0, sent=error.kind not in _UNSENT_KINDS)
            return None
        cost = None if seat.model.price is None else seat.model.price.in_batches.cost(reply.usage)
        self._settle(identity.slot, 0.0 if seat.model.price is None else worst if cost is None else cost)
        if seat.model.price is not None and (bill := seat.model.price.cost(reply.usage)) is not None:
            self._dispatcher.learn(seat, request, bill)
        seat.limiter.answers += 1
        return reply

    def _settle(self, slot: bytes, cost: float, *, sent: bool = True) -> None:
        batch = self._batch_of.get(slot)
        if batch is not None and slot in batch.reserved:
            self._reserved -= 1
            batch.whole = False
            reserved = batch.reserved.pop(slot)
            if sent:
                self._dispatcher.budget.settle(reserved, cost)
            else:
                self._dispatcher.budget.withdraw(reserved)

    def _remove_from_batch(self, slot: bytes) -> None:
        """Remove a call from its batch, because it goes into another batch."""
        if (batch := self._batch_of.pop(slot, None)) is not None:
            batch.waiting.pop(slot, None)
            batch.open.discard(slot)
            if not batch.open:
                self._end(batch)

    # Bookkeeping

    def _register(self, batch: Batch) -> None:
        self._batches[batch.name] = batch
        for slot in batch.open:
            if (earlier := self._batch_of.get(slot)) is not None:  # the call had expired in that batch
                if slot in earlier.reserved:
                    self._reserved -= 1
                    self._dispatcher.budget.settle(earlier.reserved.pop(slot), 0.0)
                earlier.open.discard(slot)
            self._batch_of[slot] = batch

    def _end(self, batch: Batch) -> None:
        """Note that nothing is left to do for a batch, and release the money that is no longer needed."""
        if self._batches.pop(batch.name, None) is not None:
            if (task := self._work.pop(batch.name, None)) is not None and task is not asyncio.current_task():
                task.cancel()
            if (box := self._queues.get(batch.answerer)) is not None and box.trial is batch:
                box.trial, box.held = None, False
            self._report_progress()
            self._start_task(self._note_over(batch))

    async def _note_over(self, batch: Batch) -> None:
        await self._dispatcher.journal.keep(batch.state(over=True))
        # The lowered bound must include spending that was counted but is not on disk yet.
        if all(other.whole for other in self._batches.values()):
            self._dispatcher.budget.relax()

    def _start_work(self, batch: Batch, work: Coroutine[None, None, None]) -> None:
        self._work[batch.name] = self._start_task(self._do_work(batch, work))

    async def _do_work(self, batch: Batch, work: Coroutine[None, None, None]) -> None:
        """Run the task of a batch. An error in the task stops the run."""
        try:
            await work
        except AnswerError as error:
            await self._handle_error(batch, error)
        except OvertonError as error:
            self._dispatcher.stop(error)
            if not (batch.id or batch.upload or batch.unsure):
                self._forget(batch)

    async def _handle_error(self, batch: Batch, error: AnswerError) -> None:
        """Stop the run because a batch cannot be sent or read. If the batch was made, keep it for the next session."""
        box = self._queues[batch.answerer]
        if batch.id and error.kind == "unknown model":
            self._handle_lost_batch(box, batch)
            return
        made = bool(batch.id) or batch.unsure or error.maybe_billed
        if is_refusal(error) and not made:
            said = str(error).removeprefix(f"{box.name}: ")
            await self._handle_refusal(box, batch, f"a batch of {_format_calls(batch.calls)} was not accepted: {said}")
            return
        passing = not isinstance(error, AccessError) or error.kind in _ACCOUNT_ERROR_KINDS
        self._dispatcher.stop(Stopped(f"{error}, when asked about a batch") if passing else error)
        if not made:
            self._forget(batch)

    def _handle_lost_batch(self, box: BatchQueue, batch: Batch) -> None:
        """Handle a batch that the provider no longer knows, although its calls may have been paid for."""
        batch_of = f"{box.name}: the provider no longer has the batch {batch.id}"
        if self._is_created_again(box, batch):
            self._hand_out(box, batch, {}, UnavailableError("missing", batch_of, maybe_billed=True))
            return
        batch.refused = (
            f"the provider no longer has a batch of {_format_calls(batch.calls)}, which may have been paid for"
        )
        self._dispatcher.stop(refusal(box, batch))

    def _start_task(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _batch_ids(self) -> set[str]:
        return {batch.id for batch in self._batches.values()}

    def _report_progress(self) -> None:
        out = [batch.looked for batch in self._batches.values() if batch.id and not batch.refused]
        done = sum(looked.done for looked in out if looked)
        total = sum(batch.calls for batch in self._batches.values() if batch.id and not batch.refused)
        self._dispatcher.tally.batches = (
            f"batches in progress: {len(out)}, with {done:,} of {total:,} calls answered" if out else ""
        )


def _is_unstarted(found: bytes | AnswerError) -> bool:
    return isinstance(found, AnswerError) and found.kind == EXPIRED


def _never_made_error() -> UnavailableError:
    return UnavailableError(_NEVER_MADE, "it was never made")


def _format_calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count:,} calls"


def _batch_price_share(seat: Seat) -> float:
    price = seat.model.price
    return 1.0 if price is None or price.batch is None else price.batch


def _fail_future(future: asyncio.Future[Found], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
