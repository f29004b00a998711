"""A run from its journal alone: trials are conducted again, without calls, costs or new journal rows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any

from overton.calls import Failure, Question, Reply, Request, Trial
from overton.engine import JournalReader, Lane
from overton.engine.ask import Asker, Call, replies_of
from overton.engine.dispatcher import NotRecalled
from overton.engine.identity import CallKey, Identity
from overton.errors import CallFailed
from overton.runs.digests import digests_of
from overton.runs.event_loop import run_to_end
from overton.runs.folder import write_manifest
from overton.runs.lanes import lanes_of, unwritable_of, write_records
from overton.runs.run import Run, open_journal, spent_so_far
from overton.runs.temperature_probe import recall_probes


@dataclass(frozen=True)
class ReplayedCall:
    """A call as sent and answered; `role` is what the study asked, `answerer` the answerer's name."""

    role: str
    identity: Identity
    place: CallKey
    answerer: str
    request: Request
    outcome: Reply | Failure


@dataclass(frozen=True)
class ReplayedTrial:
    """A trial with its records, and its calls in the order in which they were made."""

    trial: Trial
    records: list[Any]
    calls: list[ReplayedCall]
    finished: bool = True


class RecordedAsk(Asker):
    """The `Ask` of a trial that is answered from a journal alone. `heard` are its calls so far, in order."""

    __slots__ = ("_journal", "heard")

    def __init__(self, journal: JournalReader, trial: str, lane: Lane) -> None:
        super().__init__(trial, lane.seats, lane.own)
        self._journal = journal
        self.heard: list[ReplayedCall] = []

    def ask(self, question: Question) -> Awaitable[Reply]:
        """See `Asker`; raises `NotRecalled` if the journal does not have the outcome."""
        return self._answer(question.role, self.call(question))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        outcomes: list[Reply | BaseException] = []
        for question, call in [(question, self.call(question)) for question in questions]:
            try:
                outcomes.append(await self._answer(question.role, call))
            except (CallFailed, NotRecalled) as error:
                outcomes.append(error)
        return replies_of(outcomes)

    async def _answer(self, role: str, call: Call) -> Reply:
        seat, identity, place, request = call
        found = self._journal.recall(identity)
        if found is None:
            raise NotRecalled(f"trial {place.trial}: ask {place.number} of {place.speaker} is not in the journal")
        self.heard.append(ReplayedCall(role, identity, place, seat.model.answerer.name, request, found))
        if isinstance(found, Failure):
            raise CallFailed(found.kind, found.message)
        return found


class Replay:
    """A run's lanes, and an open journal from which their trials are conducted again. `ended` is the end of the run's
    last session, in ISO 8601.

    Raises:
        JournalError: the journal cannot be read.
    """

    def __init__(self, run: Run, journal: JournalReader) -> None:
        self._study = study = run.study
        self._journal = journal
        self.items = run.items()
        self.ended = _last_session_end(run)
        self.lanes: list[Lane] = lanes_of(run, None)
        self.names: list[str] = run.lane_names
        recall_probes(study, run.manifest, self.lanes, journal)
        for lane in self.lanes:
            if lane.rounds is not None:
                _restrict_to_decided(lane, journal)

    def conduct(self, lane: Lane, trials: Iterable[Trial]) -> list[ReplayedTrial | None]:
        """Conduct trials of a lane again, one after the other; None for those that the journal cannot complete.

        Raises:
            RunMismatch: a call would differ now from the one made then.
        """
        return run_to_end(self._replay_all(lane, trials))

    async def _replay_all(self, lane: Lane, trials: Iterable[Trial]) -> list[ReplayedTrial | None]:
        return [await self.replay_trial(lane, trial) for trial in trials]

    async def replay_trial(self, lane: Lane, trial: Trial) -> ReplayedTrial | None:
        """See `conduct`."""
        found = await self.replay_so_far(lane, trial)
        return found if found.finished else None

    async def replay_so_far(self, lane: Lane, trial: Trial) -> ReplayedTrial:
        """Conduct a trial of a lane again as far as the journal goes; without records if that is not to its end.

        Raises:
            RunMismatch: a call would differ now from the one made then.
        """
        await asyncio.sleep(0)  # gives an interrupt its turn
        ask = RecordedAsk(self._journal, trial.name, lane)
        try:
            return ReplayedTrial(trial, await self._study.conduct(trial, ask), ask.heard)
        except NotRecalled:
            return ReplayedTrial(trial, [], ask.heard, finished=False)


def _restrict_to_decided(lane: Lane, journal: JournalReader) -> None:
    """Give a lane that runs in rounds the trials that were decided on, and no others."""
    assert lane.rounds is not None
    decided = lane.rounds.decided(journal)
    whole = lane.trials
    lane.trials = lambda: [trial for trial in whole() if trial.name in decided]
    lane.planned = Counter(trial.item for trial in lane.trials())


def recall_records(run: Run, *, lacking: str) -> None:
    """Write the records that a run's journal completes, complete items only, and update its manifest.

    `lacking` says why something may be missing: the run is then 'stopped' for that reason and can be resumed.

    Raises:
        RunMismatch: a call would differ now from the one made then.
    """
    manifest = run.manifest
    with closing(open_journal(run)) as journal:
        recall = Replay(run, journal)
        run_to_end(_recall_lanes(recall))
        manifest.spent = spent_so_far(run, journal)
        journal.finish()
        manifest.missing = {name: lane.incomplete for name, lane in zip(recall.names, recall.lanes, strict=True)}
        manifest.trials = sum(lane.planned.total() for lane in recall.lanes)
        manifest.unmade = unwritable_of(recall.names, recall.lanes)
        whole = all(lane.outcomes.done.total() >= lane.planned.total() for lane in recall.lanes)
        manifest.status, manifest.stopped = ("finished", "") if whole else ("stopped", lacking)
        write_records(run, recall.lanes)
        made_here = whole and run.study.dataset is None  # a dataset is still to be written
        manifest.digests = digests_of(run) if made_here else None
        write_manifest(run.path, manifest)


def _last_session_end(run: Run) -> str:
    """When the run's last session ended, as far as its files show."""
    created = run.manifest.created
    if not run.records_file.exists():
        return created
    when = datetime.fromtimestamp(run.records_file.stat().st_mtime, UTC)
    return max(when, datetime.fromisoformat(created)).isoformat(timespec="seconds")


async def _recall_lanes(recall: Replay) -> None:
    """Records in plan order, numbered among those that exist, so that none waits for a missing one."""
    for lane in recall.lanes:
        position = count()
        for trial in lane.trials():
            found = await recall.replay_trial(lane, trial)
            if found is not None:
                lane.outcomes.add(next(position), trial, found.records)
        lane.outcomes.settle()
