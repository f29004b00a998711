"""Numbers a trial's questions, gives each its place, and asks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from overton.calls import Failure, Form, Message, Question, Reply, Request, Settings
from overton.engine.dispatcher import Dispatcher, Seat
from overton.engine.identity import CallKey, Identity, call_seed, identify
from overton.errors import CallFailed, Stopped


class Identified(Protocol):
    """An answerer, as far as a call's identity is concerned."""

    @property
    def identity(self) -> str:
        """See `Answerer`."""
        ...


class NamedSeat(Protocol):
    """Who answers under a name, and with which settings."""

    @property
    def answerer(self) -> Identified:
        """Who answers."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings if a call gives none."""
        ...


S = TypeVar("S", bound=NamedSeat)


def seat_name(seats: Container[str], role: str, speaker: str) -> str:
    """The name under which a speaker's answerer is listed: the speaker's own, or the part of it before a '/', or the
    role's. So 'judge/again' is the judge, and 'judge/1/again' the first of several."""
    while speaker not in seats and "/" in speaker:
        speaker = speaker.rpartition("/")[0]
    return speaker if speaker in seats else role


class Placing(Generic[S]):
    """Numbers the asks of one trial as they are made, so that parallel asks are numbered as sequential ones.

    `seats` are by role or speaker; `own` is the identity of the answerer that belongs to the trial's lane alone, '' if
    the run has only one lane.
    """

    __slots__ = ("_numbers", "_own", "_seats", "_trial")

    def __init__(self, trial: str, seats: Mapping[str, S], own: str = "") -> None:
        self._trial = trial
        self._seats = seats
        self._own = own
        self._numbers: dict[str, int] = {}

    @property
    def calls(self) -> int:
        """How many calls it has made; those that trials share do not count."""
        return sum(self._numbers.values())

    def call(  # noqa: PLR0917
        self,
        role: str,
        messages: Sequence[Message],
        speaker: str | None,
        form: Form | None,
        settings: Settings | None,
        shared: bool,
        head: int = 0,
    ) -> tuple[S, Identity, CallKey, Request]:
        """The call for an ask, and who is to answer it."""
        who = speaker or role
        name = seat_name(self._seats, role, who)
        if name not in self._seats:
            raise ValueError(f"asks {name!r}, but nobody has this role; roles are {', '.join(self._seats)}")
        seat = self._seats[name]
        how = seat.settings if settings is None else seat.settings.but(settings)
        if shared:
            place = CallKey("", who, 0, seat.answerer.identity)
        else:
            answerer = seat.answerer.identity
            # A judge's call in a trial of one model differs from that in the same trial of another model.
            trial = self._trial if self._own in ("", answerer) else f"{self._trial} of {self._own}"
            place = CallKey(trial, who, self._numbers.get(who, 0), answerer)
            self._numbers[who] = place.number + 1
        identity = identify(place, messages, how, form)
        seed = None if how.seed is None else call_seed(identity, how.seed)
        return seat, identity, place, Request(tuple(messages), how, form, seed, head)


class Asking(Placing[S], ABC):
    """An `Ask` for any host: subclasses say how one call is answered, and how several in parallel."""

    __slots__ = ()

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
        return await self._answer(self.call(role, messages, speaker, form, settings, shared, head))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        calls = [self.call(q.role, q.messages, q.speaker, q.form, q.settings, q.shared, q.head) for q in questions]
        outcomes = await self._side_by_side(calls)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if errors:
            raise min(errors, key=error_rank)
        return [outcome for outcome in outcomes if isinstance(outcome, Reply)]

    @abstractmethod
    async def _answer(self, call: tuple[S, Identity, CallKey, Request]) -> Reply:
        """The reply to a call, or what `Ask` raises."""

    @abstractmethod
    async def _side_by_side(
        self, calls: Sequence[tuple[S, Identity, CallKey, Request]]
    ) -> Sequence[Reply | BaseException]:
        """The outcome of each call, in order, once all have finished."""


def error_rank(error: BaseException) -> int:
    """Which error is raised first if siblings fail: the run's own, then its stop, then a call's failure."""
    return 2 if isinstance(error, CallFailed) else 1 if isinstance(error, Stopped) else 0


class TrialAsk(Asking[Seat]):
    """The `Ask` that one trial's `conduct` is given; `bindings` are the seats."""

    __slots__ = ("_dispatcher", "_meets", "_task")

    def __init__(
        self, dispatcher: Dispatcher, trial: str, bindings: dict[str, Seat], own: str = "", *, meets: bool = False
    ) -> None:
        super().__init__(trial, bindings, own)
        self._dispatcher = dispatcher
        self._meets = meets
        self._task = asyncio.current_task()

    async def _side_by_side(
        self, calls: Sequence[tuple[Seat, Identity, CallKey, Request]]
    ) -> Sequence[Reply | BaseException]:
        return await asyncio.gather(*map(self._answer, calls), return_exceptions=True)

    async def _answer(self, call: tuple[Seat, Identity, CallKey, Request]) -> Reply:
        _, _, place, _ = call
        alone = place.trial and not self._meets
        asking = self._dispatcher.outcome(*call) if alone else self._dispatcher.shared_outcome(*call)
        # A request that is sent is paid, so only the host may cut it off: if a study runs asks in tasks of its own,
        # the failure of one task must not cancel the requests of its siblings.
        found = await (asking if asyncio.current_task() is self._task else self._dispatcher.shielded(asking))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found
