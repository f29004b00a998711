"""Running trials: many at once, each lane at its own pace, stopping cleanly. What a trial asks becomes calls; their
outcomes become replies or errors."""

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
    """The trials run with the same seats, by role or speaker, and where their records go.

    `own` is the identity of the answerer that it does not share with other lanes, '' if there is none. `at_once` gives
    the number of trials run at once, None for one per request allowed in flight; it may grow during a run, as models
    have servers that come and go. A lane that `meets` others shares calls with them: each is made once, by whichever
    comes first.

    A lane with `rounds` runs the trials that they decide on. `planned` then counts the trials of its first round and of
    completed rounds: a round in which it is stopped leaves no trace in its records.
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
        """How many trials it has, as far as known."""
        later = self.rounds.running if self.rounds is not None and self.rounds.number > 1 else 0
        return self.planned.total() + later

    @property
    def done(self) -> int:
        """How many of them have finished."""
        return self.outcomes.done.total() + (self.rounds.ahead if self.rounds is not None else 0)

    def add(self, position: int, trial: Trial, records: list[Any], calls: int) -> None:
        """A trial has finished with these records, after that many calls."""
        if self.rounds is None or self.rounds.number == 1:
            self.outcomes.add(position, trial, records)
        if self.rounds is not None:
            self.rounds.ended[trial.name] = records, calls
            self.rounds.ahead += self.rounds.number > 1

    @property
    def width(self) -> int:
        """How many trials are run at once: by default one per request allowed in flight.

        Spare trials, each with its next request ready, would all send as soon as a batch of replies is processed, and
        so keep replies arriving in bursts; without them requests spread out by themselves.
        """
        return self.at_once() if self.at_once else max(seat.limiter.most for seat in self.seats.values())

    @property
    def incomplete(self) -> list[str]:
        """Items with a trial that has not finished, or whose records cannot be written."""
        done, spoiled = self.outcomes.done, self.outcomes.spoiled
        return [item for item, count in self.planned.items() if done[item] < count or item in spoiled]


async def run_lanes(lanes: Iterable[Lane], conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Conduct every trial of every lane, with the lanes in parallel.

    Returns when all have finished, or, once the dispatcher is stopped, when all calls in flight have. An error in
    `conduct` itself also stops the run, and is raised once everything in flight has been journaled.

    Raises:
        OvertonError: what stopped the run.
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
    """Run a lane, in one go or in rounds; raise what went wrong in a trial."""
    if lane.rounds is not None:
        await _run_in_rounds(lane, lane.rounds, conduct, dispatcher)
    else:
        await _LaneWorkers(lane, enumerate(lane.trials()), conduct, dispatcher).run_all()


async def _run_in_rounds(lane: Lane, rounds: Rounds, conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Decide, run trials, and repeat until none are left or the run stops.

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
    """Conduct every trial from the journal alone; returns how many cannot finish because an outcome is missing.

    Raises:
        RunMismatch: a call would differ now from the one made then.
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
    """The workers that run a lane's trials, taken from one shared iterator."""

    def __init__(
        self, lane: Lane, turns: Iterator[tuple[int, Trial]], conduct: Conduct, dispatcher: Dispatcher
    ) -> None:
        self._lane = lane
        self._turns = turns
        self._conduct = conduct
        self._dispatcher = dispatcher
        self._workers: list[asyncio.Task[None]] = []

    async def run_all(self) -> None:
        """Run all trials, also with workers hired meanwhile; raise the first worker's error."""
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
        """Hire workers up to the lane's current width."""
        for _ in range(self._lane.width - len(self._workers)):
            work = _run_trials(self._turns, self._lane, self._conduct, self._dispatcher)
            self._workers.append(asyncio.create_task(work))

    async def _wait_for_workers(self) -> list[BaseException | None]:
        known = -1
        while known != (known := len(self._workers)):
            ended = await asyncio.gather(*self._workers, return_exceptions=True)
        return ended


async def _run_trials(turns: Iterator[tuple[int, Trial]], lane: Lane, conduct: Conduct, dispatcher: Dispatcher) -> None:
    """Take trials in turn until there are none, or the run stops.

    If it stops, trials that earlier sessions have finished are still taken from the journal: no record is lost because
    a session ended before it had come to it.
    """
    try:
        for position, trial in turns:
            if lane.rounds is None:  # otherwise its records are kept, for the decisions made from them
                await lane.outcomes.admit(position)
            if dispatcher.stopped is not None and not len(dispatcher.journal):
                lane.outcomes.release()
                return
            ask = TrialAsk(dispatcher, trial.name, lane.seats, lane.own, meets=lane.meets)
            try:
                records = await conduct(trial, ask)
            except Stopped:
                lane.outcomes.skip(position, trial)
                await asyncio.sleep(0)  # a second Ctrl-C is to be heard
                continue
            lane.add(position, trial, records, ask.calls)
    except OvertonError as error:
        dispatcher.stop(error)
        lane.outcomes.release()
    except BaseException as error:
        dispatcher.stop(Stopped(f"{type(error).__name__} in a trial"))
        lane.outcomes.release()
        raise
