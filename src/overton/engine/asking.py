"""The `Ask` of one trial: what a study asks becomes calls with identities, and their outcomes replies or errors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from overton.calls import Failure, Form, Message, Question, Reply, Request, Settings
from overton.engine.desk import Bound, Desk
from overton.engine.identity import Identity, Place, call_seed, identify
from overton.errors import CallFailed, Stopped

__all__ = ["TrialAsk"]


class TrialAsk:
    """The `Ask` that one trial's `conduct` is given.

    `own` is the identity of the answerer that the trial's lane has for itself, '' where the run has one lane only.
    """

    __slots__ = ("_bindings", "_desk", "_numbers", "_own", "_task", "_trial")

    def __init__(self, desk: Desk, trial: str, bindings: dict[str, Bound], own: str = "") -> None:
        self._desk = desk
        self._trial = trial
        self._own = own
        self._bindings = bindings
        self._numbers: dict[str, int] = {}
        self._task = asyncio.current_task()

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        settings: Settings | None = None,
        shared: bool = False,
    ) -> Reply:
        """See `Ask`."""
        return await self._answer(self._number(role, messages, speaker, form, settings, shared))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        calls = [self._number(q.role, q.messages, q.speaker, q.form, q.settings, q.shared) for q in questions]
        outcomes = await asyncio.gather(*map(self._answer, calls), return_exceptions=True)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if errors:
            raise min(errors, key=_gravity)
        return [outcome for outcome in outcomes if isinstance(outcome, Reply)]

    def _number(  # noqa: PLR0917
        self,
        role: str,
        messages: Sequence[Message],
        speaker: str | None,
        form: Form | None,
        settings: Settings | None,
        shared: bool,
    ) -> tuple[Bound, Identity, Place, Request]:
        """The call that an ask stands for. Numbered as it is made, so that side by side is as good as in turn."""
        who = speaker or role
        bound = self._bindings.get(who) or self._bindings[role]
        how = bound.settings if settings is None else bound.settings.but(settings)
        if shared:
            place = Place("", who, 0, bound.answerer.identity)
        else:
            answerer = bound.answerer.identity
            # What a judge is asked in a trial of one model is another call than in the same trial of another.
            trial = self._trial if self._own in ("", answerer) else f"{self._trial} of {self._own}"
            place = Place(trial, who, self._numbers.get(who, 0), answerer)
            self._numbers[who] = place.number + 1
        identity = identify(place, messages, how, form)
        seed = None if how.seed is None else call_seed(identity, how.seed)
        return bound, identity, place, Request(tuple(messages), how, form, seed)

    async def _answer(self, call: tuple[Bound, Identity, Place, Request]) -> Reply:
        _, _, place, _ = call
        asking = self._desk.outcome(*call) if place.trial else self._desk.shared_outcome(*call)
        # A request that is sent is paid, so only the host may cut it off: where a study runs asks in tasks of its
        # own, one task's failure must not cancel its siblings' requests.
        found = await (asking if asyncio.current_task() is self._task else self._desk.shielded(asking))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found


def _gravity(error: BaseException) -> int:
    """What is raised first where siblings fail: what is wrong with the run, then its stop, then a call's failure."""
    return 2 if isinstance(error, CallFailed) else 1 if isinstance(error, Stopped) else 0
