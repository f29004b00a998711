"""The `Ask` of one trial, which numbers the trial's questions and gives each its call address."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence

from overton.calls import Failure, Form, Message, Question, Reply, Request, Settings
from overton.engine.dispatcher import Dispatcher, Seat
from overton.engine.identity import CallKey, Identity, call_seed, identify
from overton.errors import CallFailed, Stopped

Call = tuple[Seat, Identity, CallKey, Request]
"""A call, and the model or service that is to answer it."""


def seat_name(seats: Container[str], role: str, speaker: str) -> str:
    """The name in `seats` under which a speaker is listed. The speaker's name is shortened at its last '/' until it is
    listed: 'judge/1/again' becomes 'judge/1'. If no part of the name is listed, the result is the role."""
    while speaker not in seats and "/" in speaker:
        speaker = speaker.rpartition("/")[0]
    return speaker if speaker in seats else role


def call_of(seat: Seat, place: CallKey, question: Question) -> Call:
    """The call for a question, with its call address."""
    settings = seat.settings if question.settings is None else seat.settings.but(question.settings)
    identity = identify(place, question.messages, settings, question.form)
    seed = None if settings.seed is None else call_seed(identity, settings.seed)
    return seat, identity, place, Request(tuple(question.messages), settings, question.form, seed, question.head)


class Asker(ABC):
    """An `Ask` for any execution backend. It numbers the calls of one trial in the order in which the trial makes them,
    even if they run in parallel.

    `seats` maps each role or speaker to its model. `own` is the identity of the model that no other pipeline uses. It
    is '' if the run has a single pipeline.
    """

    __slots__ = ("_numbers", "_own", "_seats", "_trial")

    def __init__(self, trial: str, seats: Mapping[str, Seat], own: str = "") -> None:
        self._trial = trial
        self._seats = seats
        self._own = own
        self._numbers: dict[str, int] = {}

    @property
    def calls(self) -> int:
        """The number of calls that the trial has made. Calls that trials share are not counted."""
        return sum(self._numbers.values())

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        settings: Settings | None = None,
        shared: bool = False,
        head: int = 0,
    ) -> Reply:
        """See `Ask`."""
        return await self.ask(Question(role, tuple(messages), speaker, form, settings, shared, head))

    @abstractmethod
    def ask(self, question: Question) -> Awaitable[Reply]:
        """Ask one question. It is numbered at once, before it is sent. Errors are those of `Ask`."""

    @abstractmethod
    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""

    def call(self, question: Question) -> Call:
        """The trial's next call, made from a question."""
        who = question.speaker or question.role
        name = seat_name(self._seats, question.role, who)
        if name not in self._seats:
            raise ValueError(f"asks {name!r}, which is not one of the roles: {', '.join(self._seats)}")
        seat = self._seats[name]
        answerer = seat.model.answerer.identity
        if question.shared:
            return call_of(seat, CallKey("", who, 0, answerer), question)
        # The same trial of two models makes different calls to the judge.
        trial = self._trial if not self._trial or self._own in ("", answerer) else f"{self._trial} of {self._own}"
        number = self._numbers.get(who, 0)
        self._numbers[who] = number + 1
        return call_of(seat, CallKey(trial, who, number, answerer), question)


def replies_of(outcomes: Sequence[Reply | BaseException]) -> list[Reply]:
    """The replies to questions asked in parallel. Raises the gravest error if any call failed."""
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise min(errors, key=error_rank)
    return [outcome for outcome in outcomes if isinstance(outcome, Reply)]


def error_rank(error: BaseException) -> int:
    """The rank of an error. If several parallel calls fail, the error with the lowest rank is raised. An error of the
    run has rank 0, the run's stop 1, and a failed call 2."""
    return 2 if isinstance(error, CallFailed) else 1 if isinstance(error, Stopped) else 0


class TrialAsk(Asker):
    """The `Ask` that is passed to one trial's `conduct`."""

    __slots__ = ("_dispatcher", "_meets", "_task")

    def __init__(
        self, dispatcher: Dispatcher, trial: str, seats: Mapping[str, Seat], own: str = "", *, meets: bool = False
    ) -> None:
        super().__init__(trial, seats, own)
        self._dispatcher = dispatcher
        self._meets = meets
        self._task = asyncio.current_task()

    def ask(self, question: Question) -> Awaitable[Reply]:
        """See `Asker`."""
        return self._answer(self.call(question))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        return replies_of(
            await asyncio.gather(*map(self._answer, [*map(self.call, questions)]), return_exceptions=True)
        )

    async def _answer(self, call: Call) -> Reply:
        _, _, place, _ = call
        alone = place.trial and not self._meets
        asking = self._dispatcher.outcome(*call) if alone else self._dispatcher.shared_outcome(*call)
        # A request that was sent is paid for, so only Overton may cancel it. If a study asks questions in tasks of its
        # own, the failure of one task must not cancel the requests of the other tasks.
        found = await (asking if asyncio.current_task() is self._task else self._dispatcher.shielded(asking))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found


class ScriptedAsk(Asker):
    """An `Ask` whose replies come from a function. Its questions are not numbered, sent or journaled.

    `reply_to` gets one question, or several parallel questions, and returns the replies.
    """

    __slots__ = ("_reply_to",)

    def __init__(self, reply_to: Callable[[Sequence[Question]], Awaitable[Sequence[Reply]]]) -> None:
        super().__init__("", {})
        self._reply_to = reply_to

    async def ask(self, question: Question) -> Reply:
        """See `Asker`."""
        (reply,) = await self._reply_to([question])
        return reply

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        return [*await self._reply_to(questions)]
