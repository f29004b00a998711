"""The `Ask` of one trial: what a study asks becomes calls with identities, and their outcomes replies or errors."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from overton.calls import Failure, Form, Message, Question, Reply, Request, Settings
from overton.engine.desk import Bound, Desk
from overton.engine.identity import Identity, Place
from overton.engine.placing import Placing, S
from overton.errors import CallFailed, Stopped

__all__ = ["Asking", "TrialAsk", "gravity"]


class Asking(Placing[S], ABC):
    """An `Ask`, whoever hosts the trial: a host says how one call is answered, and how several are side by side."""

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
    ) -> Reply:
        """See `Ask`."""
        return await self._answer(self.call(role, messages, speaker, form, settings, shared))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        calls = [self.call(q.role, q.messages, q.speaker, q.form, q.settings, q.shared) for q in questions]
        outcomes = await self._side_by_side(calls)
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        if errors:
            raise min(errors, key=gravity)
        return [outcome for outcome in outcomes if isinstance(outcome, Reply)]

    @abstractmethod
    async def _answer(self, call: tuple[S, Identity, Place, Request]) -> Reply:
        """The reply to a call, or what `Ask` raises."""

    @abstractmethod
    async def _side_by_side(
        self, calls: Sequence[tuple[S, Identity, Place, Request]]
    ) -> Sequence[Reply | BaseException]:
        """What came of each call, in their order, once all have ended."""


class TrialAsk(Asking[Bound]):
    """The `Ask` that one trial's `conduct` is given; `bindings` are the seats."""

    __slots__ = ("_desk", "_task")

    def __init__(self, desk: Desk, trial: str, bindings: dict[str, Bound], own: str = "") -> None:
        super().__init__(trial, bindings, own)
        self._desk = desk
        self._task = asyncio.current_task()

    async def _side_by_side(
        self, calls: Sequence[tuple[Bound, Identity, Place, Request]]
    ) -> Sequence[Reply | BaseException]:
        return await asyncio.gather(*map(self._answer, calls), return_exceptions=True)

    async def _answer(self, call: tuple[Bound, Identity, Place, Request]) -> Reply:
        _, _, place, _ = call
        asking = self._desk.outcome(*call) if place.trial else self._desk.shared_outcome(*call)
        # A request that is sent is paid, so only the host may cut it off: where a study runs asks in tasks of its
        # own, one task's failure must not cancel its siblings' requests.
        found = await (asking if asyncio.current_task() is self._task else self._desk.shielded(asking))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found


def gravity(error: BaseException) -> int:
    """What is raised first where siblings fail: what is wrong with the run, then its stop, then a call's failure."""
    return 2 if isinstance(error, CallFailed) else 1 if isinstance(error, Stopped) else 0
