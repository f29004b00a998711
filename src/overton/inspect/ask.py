"""`ask` inside Inspect: its models, search and pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from overton.calls import Failure, Message, Question, Reply, Request
from overton.calls.model import Model
from overton.engine import RetryPolicy, Seat
from overton.engine.ask import Asker, Call, replies_of
from overton.engine.first_calls import FirstCalls, FirstTurn, Sender, features_of, unsupported
from overton.engine.identity import Identity
from overton.engine.retry import retried
from overton.errors import AccessError, AnswerError, CallFailed, InputError, Problem, RejectedError, UnavailableError
from overton.inspect.compat import is_inspects_own, runs_on_trio
from overton.inspect.log_format import CallData, call_data
from overton.inspect.seats import config_of, eval_model
from overton.models.inspect import cause_of, chat_messages, logprob_settings, reply_of, said, with_spots
from overton.runs.temperature_probe import NOT_SENT, REFUSED, refusal, sent


@dataclass
class RetrievalSources:
    """Sources by role, called in parallel as far as each allows, and open while any sample runs."""

    by_role: Mapping[str, Model] = field(default_factory=dict)
    patience: RetryPolicy = field(default_factory=RetryPolicy)
    _semaphores: dict[str, Any] = field(default_factory=dict)
    _open_samples: int = 0

    async def __aenter__(self) -> None:
        self._open_samples += 1

    async def __aexit__(self, *_: object) -> None:
        self._open_samples -= 1
        if not self._open_samples:
            self._semaphores.clear()
            for source in self.by_role.values():
                await source.answerer.close()

    async def outcome(self, role: str, request: Request) -> Reply | Failure:
        """A source's outcome, tried as often as in a run of ours.

        Raises:
            AccessError: no request can succeed.
        """
        import anyio

        async def wait(attempt: int, error: AnswerError) -> Failure | None:
            if isinstance(error, AccessError):
                raise error
            seconds = None
            if isinstance(error, UnavailableError) and not self.patience.refuses(error):
                seconds = self.patience.wait(attempt, error)
            if seconds is None:
                return Failure(error.kind, str(error), attempt)
            await anyio.sleep(seconds)
            return None

        async with self._semaphore(role):
            found: Outcome = await retried(lambda: self.by_role[role].answerer.answer(request), wait)
            if isinstance(found, Reply):
                _show_in_transcript(role, request, found)
        return found

    def _semaphore(self, role: str) -> Any:
        import anyio

        if role not in self._semaphores:
            self._semaphores[role] = anyio.Semaphore(self.by_role[role].connections)
        return self._semaphores[role]


def check_backend(what: str) -> None:
    """Refuse a task or model of ours, called `what`, if Inspect runs on trio: studies run on asyncio.

    Raises:
        InputError: it does.
    """
    if runs_on_trio():
        reason = f"{what} runs on asyncio only: leave INSPECT_ASYNC_BACKEND unset"
        raise InputError([Problem("INSPECT_ASYNC_BACKEND", "trio", reason)])


def _show_in_transcript(role: str, request: Request, found: Reply) -> None:
    """Show a search or a page in the sample's transcript."""
    from inspect_ai.log import transcript

    transcript().info({"asked": request.messages[0].content, "found": found.text}, source=role)


_MAX_REJECTED = 24
"""Rejected requests in a row, with none answered before, after which a model's settings are taken to be wrong."""

Outcome = Reply | Failure


@dataclass
class SharedOutcomes:
    """Outcomes of shared calls by slot, and those in progress.

    Such a call is the same whichever trial makes it: it is made once per eval, however many samples wait for it.
    """

    _outcomes: dict[bytes, Outcome] = field(default_factory=dict)
    _in_progress: dict[bytes, Any] = field(default_factory=dict)

    async def once(self, slot: bytes, make: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome of the call in a slot. If the caller that makes it is cancelled, the next waiter makes it."""
        import anyio

        while (known := self._outcomes.get(slot)) is None:
            if slot in self._in_progress:
                await self._in_progress[slot].wait()
                continue
            ended = self._in_progress[slot] = anyio.Event()
            try:
                self._outcomes[slot] = await make()
            finally:
                del self._in_progress[slot]
                ended.set()
        return known


@dataclass
class EvalContext:
    """Everything that the samples of an eval share in making calls.

    `own` is the identity that belongs to the lane alone, '' if none; `probes` are the requests that show whether judges
    accept a temperature. `refused` are models, by identity, whose first call of a kind showed that no
    other can succeed.
    """

    seats: Mapping[str, Seat]
    own: str
    sources: RetrievalSources
    cache: bool = True
    shared: SharedOutcomes = field(default_factory=SharedOutcomes)
    probes: Sequence[Call] = ()
    first_calls: FirstCalls = field(default_factory=FirstCalls)
    refused: dict[str, AccessError] = field(default_factory=dict)


@dataclass
class Conversation:
    """A call of the model that the study is about, for display: its messages, and Inspect's output."""

    messages: Sequence[Message]
    output: Any


class InspectAsk(Asker):
    """The `Ask` that one trial's `conduct` is given. `keep` receives every call with its outcome."""

    def __init__(self, context: EvalContext, trial: str, first_role: str, keep: Callable[[CallData], None]) -> None:
        super().__init__(trial, context.seats, context.own)
        self._context = context
        self._first_role = first_role
        self._keep_call = keep
        self.last: Conversation | None = None

    async def probe(self) -> None:
        """Find out for each judge for which this is unknown whether it accepts a temperature, once per eval.

        Raises:
            AnswerError: a judge did not answer.
        """
        for call in self._context.probes:
            seat, identity, place, _ = call
            found = await self._context.shared.once(identity.slot, partial(self._answer_or_refusal, call))
            self._keep_call(call_data(identity, place, found))
            if isinstance(found, Reply) and found.finish == REFUSED and seat.settings.temperature is not None:
                seat.settings = sent(seat.settings, ("temperature",))
                answerer = eval_model(seat)
                _warn(f"{answerer.name} as {answerer.role} {NOT_SENT}")

    async def _answer_or_refusal(self, call: Call) -> Outcome:
        found = await self._make_call(call)
        return (refusal(found) or found) if isinstance(found, Failure) else found

    def ask(self, question: Question) -> Awaitable[Reply]:
        """See `Asker`."""
        return self._answer(self.call(question))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        calls = [*map(self.call, questions)]
        outcomes: dict[int, Reply | BaseException] = {}

        async def answer(number: int, call: Call) -> None:
            try:
                outcomes[number] = await self._answer(call)
            except Exception as error:  # noqa: BLE001 - returned, so that its siblings can finish
                outcomes[number] = error

        import anyio

        async with anyio.create_task_group() as group:
            for number, call in enumerate(calls):
                group.start_soon(answer, number, call)
        return replies_of([outcomes[number] for number in range(len(calls))])

    async def _answer(self, call: Call) -> Reply:
        _, identity, place, _ = call
        if place.trial:
            found = await self._make_call(call)
        else:
            found = await self._context.shared.once(identity.slot, lambda: self._make_call(call))
        self._keep_call(call_data(identity, place, found))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found

    async def _make_call(self, call: Call) -> Reply | Failure:
        seat, _, place, request = call
        if seat.model.retrieves:
            return await self._context.sources.outcome(place.speaker, request)
        answerer, first_calls = seat.model.answerer, self._context.first_calls
        model = answerer.identity
        sender = Sender(answerer.holds_form, seat.judges and place.speaker != "probe", has_cost_limit=False)
        turn = await first_calls.turn(model, features_of(sender, request))
        found: Reply | Failure | None = None
        try:
            if model in self._context.refused:
                raise self._context.refused[model]
            found = await self._generate(call, turn)
        except AccessError as error:
            if turn.features:
                self._context.refused[model] = error
            raise
        finally:
            if not isinstance(found, Reply):
                first_calls.unanswered(turn)
            first_calls.end(turn, found)
        return found

    async def _generate(self, call: Call, turn: FirstTurn) -> Reply | Failure:
        seat, identity, place, request = call
        answerer = eval_model(seat)
        try:
            own = answerer.weighs and request.form is not None and bool(request.form.weigh)
            config = config_of(request, seat.settings, answerer.extra_body, hold=answerer.holds_form or own)
            output = await answerer.model.generate(
                chat_messages(request.messages),
                config=config if own else config.merge(logprob_settings(request.form)),
                cache=self._cache_policy(identity),
            )
            reply = with_spots(reply_of(output), output, request, answerer.name)
        except Exception as error:
            if is_inspects_own(error):
                raise
            return _failure_of(seat, error, turn)
        seat.has_answered = True
        if place.speaker.partition("/")[0] == self._first_role:
            self.last = Conversation(request.messages, output)
        return reply

    def _cache_policy(self, identity: Identity) -> Any:
        """Answers are cached for good under the call's identity, so that a killed eval does not pay for them again."""
        from inspect_ai.model import CachePolicy

        return self._context.cache and CachePolicy(expiry=None, per_epoch=False, scopes={"overton": str(identity)})


def _warn(what: str) -> None:
    from inspect_ai.log import transcript

    transcript().info(what, source="overton")


def _failure_of(seat: Seat, error: Exception, turn: FirstTurn) -> Failure:
    """The failure that the trial records.

    Raises:
        AnswerError: the sample cannot continue.
    """
    answerer = eval_model(seat)
    trouble = _classify_error(error, answerer.name)
    if not isinstance(trouble, Failure):
        raise type(trouble)(trouble.kind, f"{answerer.role}: {trouble}") from error
    rejection = RejectedError(trouble.kind, trouble.message)
    if (lacking := unsupported(turn.features, rejection, answerer.name)) is not None:
        raise AccessError(lacking.kind, f"{answerer.role}: {lacking}") from error
    # A rejection is about one request, unless all so far were rejected: then it is about the settings.
    seat.failed_in_a_row += not seat.has_answered
    if seat.failed_in_a_row >= _MAX_REJECTED:
        reason = f"{seat.failed_in_a_row} requests were rejected and none answered, so it is taken to be misconfigured"
        raise AccessError(
            "rejects all", f"{answerer.role}: {answerer.name}: {reason}; its last message: {trouble.message}"
        ) from error
    return trouble


_REQUEST_ERROR_STATUSES = {400, 413, 422}
"""Statuses that are about this one request: malformed, too long, filtered."""


def _classify_error(error: Exception, name: str) -> Failure | AnswerError:
    """Classify a model's error: this one call has failed permanently, or the sample cannot continue.

    Inspect has retried what is worth retrying before it raises. What is left is a request that will never be answered,
    an endpoint that gave no answer in any attempt, or one that grants no access.
    """
    cause = cause_of(error)
    if isinstance(cause, RejectedError):
        return Failure(cause.kind, str(cause))
    message = f"{name}: {said(cause)}"
    if isinstance(cause, AnswerError):
        return type(cause)(cause.kind, message)
    status = getattr(cause, "status_code", None)
    if status in {401, 403}:
        return AccessError("no permission", message)
    if status == 404:
        return AccessError("unknown model", message)
    if status in _REQUEST_ERROR_STATUSES or (status is None and type(cause).__name__ == "ModelGenerateError"):
        return Failure("rejected", message)
    if cause is not error:
        message = f"{message} (in all attempts that --max-retries and --timeout allow)"
    return UnavailableError("no answer", message)
