"""What a study asks becomes calls with places, identities and seeds: the same wherever the asking is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from overton.calls import Form, Message, Request, Settings
from overton.engine.identity import Identity, Place, call_seed, identify

__all__ = ["Placing", "S", "Seat"]


class Identified(Protocol):
    """Whoever answers, as far as a call's identity goes."""

    @property
    def identity(self) -> str:
        """See `Answerer`."""
        ...


class Seat(Protocol):
    """Who answers under a name, and how it is asked."""

    @property
    def answerer(self) -> Identified:
        """Who answers."""
        ...

    @property
    def settings(self) -> Settings:
        """How it is asked where a call does not say."""
        ...


S = TypeVar("S", bound=Seat)


class Placing(Generic[S]):
    """Numbers the asks of one trial, each as it is made, so that side by side is as good as in turn.

    `seats` are by role or speaker; `own` is the identity of the answerer that the trial's lane has for itself, '' where
    the run has one lane only.
    """

    __slots__ = ("_numbers", "_own", "_seats", "_trial")

    def __init__(self, trial: str, seats: Mapping[str, S], own: str = "") -> None:
        self._trial = trial
        self._seats = seats
        self._own = own
        self._numbers: dict[str, int] = {}

    def call(  # noqa: PLR0917
        self,
        role: str,
        messages: Sequence[Message],
        speaker: str | None,
        form: Form | None,
        settings: Settings | None,
        shared: bool,
    ) -> tuple[S, Identity, Place, Request]:
        """The call that an ask stands for, and who is to answer it."""
        who = speaker or role
        seat = self._seats.get(who) or self._seats[role]
        how = seat.settings if settings is None else seat.settings.but(settings)
        if shared:
            place = Place("", who, 0, seat.answerer.identity)
        else:
            answerer = seat.answerer.identity
            # What a judge is asked in a trial of one model is another call than in the same trial of another.
            trial = self._trial if self._own in ("", answerer) else f"{self._trial} of {self._own}"
            place = Place(trial, who, self._numbers.get(who, 0), answerer)
            self._numbers[who] = place.number + 1
        identity = identify(place, messages, how, form)
        seed = None if how.seed is None else call_seed(identity, how.seed)
        return seat, identity, place, Request(tuple(messages), how, form, seed)
