"""The function `ask` for studies inside Inspect AI. It calls Inspect's models, search engines and page sources."""

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
from overton.engine.first_replies import FirstReplies, shown_name
from overton.engine.identity import Identity
from overton.engine.retry import retried
from overton.errors import (
    AccessError,
    AnswerError,
    CallFailed,
    InputError,
    Problem,
    RejectedError,
    UnavailableError,
    UnreadReplies,
)
from overton.inspect.compat import is_inspects_own, runs_on_trio
from overton.inspect.log_format import CallData, call_data
from overton.inspect.seats import config_of, eval_model
from overton.models.inspect import cause_of, chat_messages, logprob_settings, reply_of, said, with_spots
from overton.runs.first_replies import JudgedControl
from overton.runs.temperature_probe import NOT_SENT, REFUSED, refusal, sent


@dataclass
class RetrievalSources:
    """Search engines and page sources by role. Each has a limit on parallel calls, and stays open while any sample
    runs."""

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
        """A source's outcome, with as many attempts as in an ordinary Overton run.

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
    """Refuse an Overton task or model if Inspect runs on trio, because studies run on asyncio. `what` names the task or
    model in the error.

    Raises:
        InputError: Inspect runs on trio.
    """
    if runs_on_trio():
        reason = f"{what} runs on asyncio only: leave INSPECT_ASYNC_BACKEND unset"
        raise InputError([Problem("INSPECT_ASYNC_BACKEND", "trio", reason)])


def _show_in_transcript(role: str, request: Request, found: Reply) -> None:
    """Show a search or a page in the sample's transcript."""
    from inspect_ai.log import transcript

    transcript().info({"asked": request.messages[0].content, "found": found.text}, source=role)


_MAX_REJECTED = 24
"""If a model has rejected this many requests without a single answer, Overton assumes that its settings are wrong."""

Outcome = Reply | Failure


@dataclass
class SharedOutcomes:
    """Outcomes of shared calls by slot, and the shared calls in progress.

    A shared call is the same in every trial. It is made once per eval, even if many samples need it.
    """

    _outcomes: dict[bytes, Outcome] = field(default_factory=dict)
    _in_progress: dict[bytes, Any] = field(default_factory=dict)

    async def once(self, slot: bytes, make: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """Return the outcome of the call in a slot. If the task that makes the call is cancelled, the next waiting task
        makes it."""
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
    """The state that all samples of an eval share when they make calls.

    `own` is the identity of the model that only this pipeline uses, '' if there is none. `probes` are the requests that
    show whether judges accept a temperature. `refused` maps a model's identity to the error of a first call, if the
    error shows that later calls to the model will fail, too. `first_replies` checks each model's first replies before
    more calls are made; it is None if there is nothing to check. `control` is a text that the judge labels first, None
    if there is no such text. If calls have stopped, `unread` is the reason.
    """

    seats: Mapping[str, Seat]
    own: str
    sources: RetrievalSources
    cache: bool = True
    shared: SharedOutcomes = field(default_factory=SharedOutcomes)
    probes: Sequence[Call] = ()
    first_calls: FirstCalls = field(default_factory=FirstCalls)
    refused: dict[str, AccessError] = field(default_factory=dict)
    first_replies: FirstReplies | None = None
    control: JudgedControl | None = None
    unread: UnreadReplies | None = None

    def stop(self, reason: UnreadReplies) -> None:
        """Stop all further calls, because the first replies of a model cannot be read."""
        self.unread = self.unread or UnreadReplies(f"{reason}. To go on anyway: -T anyway=true")
        if self.first_replies is not None:
            self.first_replies.release()

    def raise_if_unread(self) -> None:
        """Raise the reason if the first replies of a model could not be read."""
        if self.unread is not None:
            raise self.unread


@dataclass
class Conversation:
    """A call of the measured model, for display: its messages, and Inspect's output."""

    messages: Sequence[Message]
    output: Any


class InspectAsk(Asker):
    """The `Ask` for one trial's `conduct`. `keep` receives every call with its outcome."""

    def __init__(self, context: EvalContext, trial: str, first_role: str, keep: Callable[[CallData], None]) -> None:
        super().__init__(trial, context.seats, context.own)
        self._context = context
        self._first_role = first_role
        self._keep_call = keep
        self.last: Conversation | None = None

    async def probe(self) -> None:
        """Find out, once per eval, whether each judge accepts a temperature. Judges for which this is known are
        skipped.

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

    async def try_judge(self) -> None:
        """Have the judge label one control, once per eval.

        Raises:
            UnreadReplies: the judge's replies cannot be read.
        """
        context, control = self._context, self._context.control
        seat = None if control is None else context.seats.get(control.role)
        if control is None or seat is None or seat.sample is None:
            return
        name = shown_name(seat.model.answerer.name, judges=True)
        if (problem := await control.problem(self, name)) is not None:
            context.stop(problem)
        context.raise_if_unread()
        context.control = None

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
        seat, identity, place, request = call
        if seat.model.retrieves:
            return await self._context.sources.outcome(place.speaker, request)
        sample = None if place.speaker == "probe" else seat.sample
        what = None if sample is None else sample.place_of(request, identity.slot)
        if sample is None or what is None:
            return await self._make_model_call(call)
        await sample.enter(what)
        try:
            found = await self._make_model_call(call)
            sample.hear(what, place, request, found, is_new=True)
        finally:
            sample.leave()
        return found

    async def _make_model_call(self, call: Call) -> Reply | Failure:
        self._context.raise_if_unread()
        seat, _, place, request = call
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
        """The policy of Inspect's cache. Answers are cached permanently under the call's identity, so that they need
        not be paid for again after an eval was killed."""
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
    # A rejection concerns one request. But if all requests so far were rejected, the settings are probably wrong.
    seat.failed_in_a_row += not seat.has_answered
    if seat.failed_in_a_row >= _MAX_REJECTED:
        times = seat.failed_in_a_row
        reason = f"{times} requests were rejected and none was answered, so the model is probably misconfigured"
        raise AccessError(
            "rejects all", f"{answerer.role}: {answerer.name}: {reason}; its last message: {trouble.message}"
        ) from error
    return trouble


_REQUEST_ERROR_STATUSES = {400, 413, 422}
"""HTTP statuses that concern a single request, because it is malformed, too long or filtered."""


def _classify_error(error: Exception, name: str) -> Failure | AnswerError:
    """Classify a model's error: either this call has failed permanently, or the sample cannot continue.

    Inspect has made all useful retries before it raises. So the endpoint will never answer this request, did not answer
    in any attempt, or denies access.
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
        message = f"{message} (in all attempts within --max-retries and --timeout)"
    return UnavailableError("no answer", message)
