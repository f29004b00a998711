"""Running trials: many in parallel, each model pipeline at its own pace, with a clean stop. A trial's questions become
calls, and the outcomes of calls become replies or errors."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from overton.calls import Conduct, Trial
from overton.engine.ask import TrialAsk
from overton.engine.dispatcher import Dispatcher, NotRecalled, Seat
from overton.engine.rounds import Rounds
from overton.engine.servers import ServerPool
from overton.errors import OvertonError, Stopped

if TYPE_CHECKING:
    from overton.engine.records import RecordWriter


@dataclass
class Lane:
    """A pipeline: the trials that use the same models (`seats`, by role or speaker), and the writer of their records.

    `own` is the identity of the model that no other pipeline uses, '' if there is no such model. `at_once` returns the
    number of trials to run in parallel, by default one per request allowed in flight. The number may grow during a run,
    because servers may join. If `meets` is True, the pipeline shares calls with other pipelines. Each shared call is
    made once, by the first pipeline that needs it.

    With `rounds`, the pipeline runs one round of trials after another. `planned` then counts the trials of the first
    round and of completed rounds. If the pipeline is stopped in the middle of a later round, that round adds no
    records.
    """

    seats: dict[str, Seat]
    trials: Callable[[], Iterable[Trial]]
    outcomes: RecordWriter
    planned: Counter[str] = field(default_factory=Counter)
    own: str = ""
    at_once: Callable[[], int] | None = None
    meets: bool = False
    rounds: Rounds | None = None

    @property
    def total(self) -> int:
        """The number of trials of the pipeline, as far as it is known."""
        later = self.rounds.running if self.rounds is not None and self.rounds.number > 1 else 0
        return self.planned.total() + later

    @property
    def done(self) -> int:
        """The number of trials that have finished."""
        return self.outcomes.done.total() + (self.rounds.ahead if self.rounds is not None else 0)

    def add(self, position: int, trial: Trial, records: list[Any], calls: int) -> None:
        """Add a finished trial, with its records and its number of calls."""
        if self.rounds is None or self.rounds.number == 1:
            self.outcomes.add(position, trial, records)
        if self.rounds is not None:
            self.rounds.ended[trial.name] = records, calls
            self.rounds.ahead += self.rounds.number > 1

    @property
    def width(self) -> int:
        """The number of trials run in parallel: by default one per request allowed in flight.

        With more trials, requests and replies would come in bursts.
        """
        return self.at_once() if self.at_once else max(seat.limiter.most for seat in self.seats.values())

    @property
    def incomplete(self) -> list[str]:
        """Items with a trial that has not finished, or whose records cannot be written."""
        done, spoiled = self.outcomes.done, self.outcomes.spoiled
        return [item for item, count in self.planned.items() if done[item] < count or item in spoiled]


async def run_lanes(lanes: Iterable[Lane], conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Conduct every trial of every pipeline, with the pipelines in parallel.

    This returns when all trials have finished or, once the dispatcher is stopped, when all calls in flight have
    finished. An error in `conduct` itself also stops the run, and is raised once all outcomes in flight have been
    journaled.

    Raises:
        OvertonError: the reason for which the run stopped.
    """
    lanes = list(lanes)
    conducted = [asyncio.create_task(_run_lane(lane, conduct, dispatcher)) for lane in lanes]
    try:
        ended = await asyncio.gather(*conducted, return_exceptions=True)
        await dispatcher.settle()
    except asyncio.CancelledError:
        await asyncio.gather(*conducted, return_exceptions=True)
        await dispatcher.settle(cut_off=True)
        raise
    finally:
        for lane in lanes:
            lane.outcomes.settle()
    for error in ended:
        if error is not None:
            raise error
    if dispatcher.stopped is not None:
        raise dispatcher.stopped


async def _run_lane(lane: Lane, conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Run a pipeline, all trials at once or in rounds. Raise the first error of a trial."""
    if lane.rounds is not None:
        await _run_in_rounds(lane, lane.rounds, conduct, dispatcher)
    else:
        await _LaneWorkers(lane, enumerate(lane.trials()), conduct, dispatcher).run_all()


async def _run_in_rounds(lane: Lane, rounds: Rounds, conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Decide on a round and run its trials, until a decision adds no trials or the run stops.

    A run that stops still replays the rounds of earlier sessions, so that their records are not lost.
    """
    rounds.recall(dispatcher.journal)
    position = 0
    try:
        while (dispatcher.stopped is None or rounds.follows) and (
            trials := rounds.next(anew=dispatcher.tally.asked > 0)
        ):
            await rounds.note(dispatcher.journal)
            counted = Counter(trial.item for trial in trials)
            if rounds.number == 1:
                lane.planned = counted
            await _LaneWorkers(lane, enumerate(trials, position), conduct, dispatcher).run_all()
            if any(trial.name not in rounds.ended for trial in trials):
                return
            if rounds.number > 1:
                lane.planned += counted
                rounds.running = rounds.ahead = 0
                for place, trial in enumerate(trials, position):
                    lane.outcomes.add(place, trial, rounds.ended[trial.name][0])
            position += len(trials)
        if dispatcher.stopped is None:
            await rounds.note(dispatcher.journal)
    except OvertonError as error:
        dispatcher.stop(error)
    except BaseException as error:
        dispatcher.stop(Stopped(f"{type(error).__name__} in deciding on a round"))
        raise


async def count_missing(lanes: Iterable[Lane], conduct: Conduct, dispatcher: Dispatcher) -> int:
    """Conduct every trial from the journal alone. Return the number of trials that cannot finish because an outcome is
    missing.

    Raises:
        RunMismatch: a call would now differ from the journaled call.
    """
    missing = 0
    for lane in lanes:
        if lane.rounds is None:
            missing += await _count_missing_trials(lane, lane.trials(), conduct, dispatcher)
            continue
        lane.rounds.recall(dispatcher.journal)
        lacking = 0
        while not lacking and (trials := lane.rounds.next()):
            lacking = await _count_missing_trials(lane, trials, conduct, dispatcher)
        missing += lacking
    return missing


async def _count_missing_trials(lane: Lane, trials: Iterable[Trial], conduct: Conduct, dispatcher: Dispatcher) -> int:
    missing = 0
    for trial in trials:
        ask = TrialAsk(dispatcher, trial.name, lane.seats, lane.own, meets=lane.meets)
        try:
            records = await conduct(trial, ask)
        except NotRecalled:
            missing += 1
            continue
        if lane.rounds is not None:
            lane.rounds.ended[trial.name] = records, ask.calls
    return missing


class _LaneWorkers:
    """The workers that run a pipeline's trials, taken from one shared iterator."""

    def __init__(
        self, lane: Lane, turns: Iterator[tuple[int, Trial]], conduct: Conduct, dispatcher: Dispatcher
    ) -> None:
        self._lane = lane
        self._turns = turns
        self._conduct = conduct
        self._dispatcher = dispatcher
        self._workers: list[asyncio.Task[None]] = []

    async def run_all(self) -> None:
        """Run all trials. Workers may be added in the meantime. Raise the first error of a worker."""
        limiters = (seat.limiter for seat in self._lane.seats.values())
        fleets = {id(limiter): limiter for limiter in limiters if isinstance(limiter, ServerPool)}.values()
        for fleet in fleets:
            fleet.grown.append(self._start_workers)
        self._start_workers()
        try:
            ended = await self._wait_for_workers()
        except asyncio.CancelledError:
            for worker in self._workers:
                worker.cancel()
            await self._wait_for_workers()
            raise
        finally:
            for fleet in fleets:
                fleet.grown.remove(self._start_workers)
        for error in ended:
            if error is not None:
                raise error

    def _start_workers(self) -> None:
        """Start workers until there are as many as trials may run in parallel."""
        for _ in range(self._lane.width - len(self._workers)):
            work = _run_trials(self._turns, self._lane, self._conduct, self._dispatcher)
            self._workers.append(asyncio.create_task(work))

    async def _wait_for_workers(self) -> list[BaseException | None]:
        known = -1
        while known != (known := len(self._workers)):
            ended = await asyncio.gather(*self._workers, return_exceptions=True)
        return ended


async def _run_trials(turns: Iterator[tuple[int, Trial]], lane: Lane, conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Run one trial after the other until none are left or the run stops.

    If the run stops, trials that earlier sessions finished are still replayed from the journal. Otherwise, the records
    of trials that this session has not reached yet would be lost.
    """
    try:
        for position, trial in turns:
            if lane.rounds is None:  # in rounds, decisions need the records of all trials
                await lane.outcomes.admit(position)
            if dispatcher.stopped is not None and not len(dispatcher.journal):
                lane.outcomes.release()
                return
            ask = TrialAsk(dispatcher, trial.name, lane.seats, lane.own, meets=lane.meets)
            try:
                records = await conduct(trial, ask)
            except Stopped:
                lane.outcomes.skip(position, trial)
                await asyncio.sleep(0)  # lets the loop handle a second Ctrl-C
                continue
            lane.add(position, trial, records, ask.calls)
    except OvertonError as error:
        dispatcher.stop(error)
        lane.outcomes.release()
    except BaseException as error:
        dispatcher.stop(Stopped(f"{type(error).__name__} in a trial"))
        lane.outcomes.release()
        raise
