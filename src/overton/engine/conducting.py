"""Running trials: many at once, each lane at its own pace, stopping cleanly. What a trial asks becomes calls, and their
outcomes replies or errors."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from overton.calls import Conduct, Failure, Form, Message, Question, Reply, Request, Settings, Trial
from overton.engine.desk import Bound, Desk, NotRecalled
from overton.engine.identity import Identity, Place, Placing, S
from overton.engine.outcomes import Outcomes
from overton.errors import CallFailed, OvertonError, Stopped

__all__ = ["Asking", "Lane", "TrialAsk", "conduct_lanes", "gravity", "rehearse"]


@dataclass
class Lane:
    """The trials that one binding of roles to answerers goes through, and where their records go.

    `own` is the identity of the answerer that it does not share with other lanes, '' where there are none. `at_once`
    tells how many trials are under way at once, None for one for each request allowed in flight; it may tell more as a
    run goes on, where models have servers that come and go. One that `meets` others has calls that are theirs, too:
    they are asked once, whoever comes first.
    """

    bindings: dict[str, Bound]
    trials: Callable[[], Iterable[Trial]]
    outcomes: Outcomes
    planned: Counter[str] = field(default_factory=Counter)
    own: str = ""
    at_once: Callable[[], int] | None = None
    meets: bool = False

    @property
    def width(self) -> int:
        """How many trials are under way at once, one for each request allowed in flight if not said otherwise.

        Spare ones, with their next request ready, would all send when a batch of replies has been dealt with, and so
        keep replies coming in batches; without them sends spread out by themselves.
        """
        return self.at_once() if self.at_once else max(bound.pace.most for bound in self.bindings.values())

    @property
    def incomplete(self) -> list[str]:
        """Items of which some trial has not ended, or has ended with records that cannot be made."""
        done, spoiled = self.outcomes.done, self.outcomes.spoiled
        return [item for item, count in self.planned.items() if done[item] < count or item in spoiled]


async def conduct_lanes(lanes: Iterable[Lane], conduct: Conduct, desk: Desk) -> None:
    """Conduct every trial of every lane, lanes side by side.

    Returns when all have ended, or, once the desk is stopped, when what was in flight has. An error in `conduct`
    itself stops the run too, and is raised when everything in flight has been journaled.

    Raises:
        OvertonError: what stopped the run.
    """
    lanes = list(lanes)
    crews = [_Crew(lane, conduct, desk) for lane in lanes]
    for crew in crews:
        crew.hire()
    try:
        ended = [error for crew in crews for error in await crew.ended()]
        await desk.settle()
    except asyncio.CancelledError:
        workers = [worker for crew in crews for worker in crew.workers]
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        await desk.settle(cut_off=True)
        raise
    finally:
        for lane in lanes:
            lane.outcomes.settle()
    for error in ended:
        raise error
    if desk.stopped is not None:
        raise desk.stopped


async def rehearse(lanes: Iterable[Lane], conduct: Conduct, desk: Desk) -> int:
    """Conduct every trial from the journal alone; gives how many cannot end because it lacks something.

    Raises:
        RunMismatch: something else would be asked now than was asked then.
    """
    missing = 0
    for lane in lanes:
        for trial in lane.trials():
            try:
                await conduct(trial, TrialAsk(desk, trial.name, lane.bindings, lane.own))
            except NotRecalled:
                missing += 1
    return missing


class _Crew:
    """Those who go through the trials of a lane, which share one list of them."""

    def __init__(self, lane: Lane, conduct: Conduct, desk: Desk) -> None:
        self.workers: list[asyncio.Task[None]] = []
        self._lane = lane
        self._turns = iter(enumerate(lane.trials()))
        self._conduct = conduct
        self._desk = desk
        for fleet in {id(bound.fleet): bound.fleet for bound in lane.bindings.values()}.values():
            if fleet is not None:
                fleet.grown.append(self.hire)

    def hire(self) -> None:
        """Have as many as the lane has trials under way at once by now."""
        for _ in range(self._lane.width - len(self.workers)):
            work = _work(self._turns, self._lane, self._conduct, self._desk)
            self.workers.append(asyncio.create_task(work))

    async def ended(self) -> list[BaseException]:
        """Wait for all, also for those who come meanwhile; gives the errors that they ended with."""
        known = -1
        while known != (known := len(self.workers)):
            ended = await asyncio.gather(*self.workers, return_exceptions=True)
        return [error for error in ended if error is not None]


async def _work(turns: Iterator[tuple[int, Trial]], lane: Lane, conduct: Conduct, desk: Desk) -> None:
    """Take trials in turn until there are none, or the run stops."""
    try:
        for position, trial in turns:
            await lane.outcomes.admit(position)
            if desk.stopped is not None:
                lane.outcomes.release()
                return
            ask = TrialAsk(desk, trial.name, lane.bindings, lane.own, meets=lane.meets)
            records = await conduct(trial, ask)
            lane.outcomes.add(position, trial, records)
    except Stopped:
        lane.outcomes.release()
    except OvertonError as error:
        desk.stop(error)
        lane.outcomes.release()
    except BaseException as error:
        desk.stop(Stopped(f"{type(error).__name__} in a trial"))
        lane.outcomes.release()
        raise


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

    __slots__ = ("_desk", "_meets", "_task")

    def __init__(
        self, desk: Desk, trial: str, bindings: dict[str, Bound], own: str = "", *, meets: bool = False
    ) -> None:
        super().__init__(trial, bindings, own)
        self._desk = desk
        self._meets = meets
        self._task = asyncio.current_task()

    async def _side_by_side(
        self, calls: Sequence[tuple[Bound, Identity, Place, Request]]
    ) -> Sequence[Reply | BaseException]:
        return await asyncio.gather(*map(self._answer, calls), return_exceptions=True)

    async def _answer(self, call: tuple[Bound, Identity, Place, Request]) -> Reply:
        _, _, place, _ = call
        alone = place.trial and not self._meets
        asking = self._desk.outcome(*call) if alone else self._desk.shared_outcome(*call)
        # A request that is sent is paid, so only the host may cut it off: where a study runs asks in tasks of its
        # own, one task's failure must not cancel its siblings' requests.
        found = await (asking if asyncio.current_task() is self._task else self._desk.shielded(asking))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found


def gravity(error: BaseException) -> int:
    """What is raised first where siblings fail: what is wrong with the run, then its stop, then a call's failure."""
    return 2 if isinstance(error, CallFailed) else 1 if isinstance(error, Stopped) else 0
