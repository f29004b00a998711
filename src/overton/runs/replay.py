"""Replays of a run from its journal alone. Trials are conducted again without calls, costs or new journal rows."""

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
    """A call with its reply. `role` is the role that the study asked, and `answerer` the name of the model or
    service."""

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
    """The `Ask` of a trial, which takes all replies from a journal. `heard` has the trial's calls so far, in order."""

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
    """A run's pipelines, and the open journal from which their trials are replayed. `ended` is the end of the run's
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
        """Conduct trials of a pipeline again, one after the other. The result is None for a trial that the journal
        cannot complete.

        Raises:
            RunMismatch: a call would now differ from the journaled call.
        """
        return run_to_end(self._replay_all(lane, trials))

    async def _replay_all(self, lane: Lane, trials: Iterable[Trial]) -> list[ReplayedTrial | None]:
        return [await self.replay_trial(lane, trial) for trial in trials]

    async def replay_trial(self, lane: Lane, trial: Trial) -> ReplayedTrial | None:
        """See `conduct`."""
        found = await self.replay_so_far(lane, trial)
        return found if found.finished else None

    async def replay_so_far(self, lane: Lane, trial: Trial) -> ReplayedTrial:
        """Conduct a trial of a pipeline again as far as the journal goes. If the journal cannot complete it, the result
        has no records.

        Raises:
            RunMismatch: a call would now differ from the journaled call.
        """
        await asyncio.sleep(0)  # lets the loop handle an interrupt
        ask = RecordedAsk(self._journal, trial.name, lane)
        try:
            return ReplayedTrial(trial, await self._study.conduct(trial, ask), ask.heard)
        except NotRecalled:
            return ReplayedTrial(trial, [], ask.heard, finished=False)


def _restrict_to_decided(lane: Lane, journal: JournalReader) -> None:
    """Reduce the trials of a pipeline that runs in rounds to those on which earlier sessions decided."""
    assert lane.rounds is not None
    decided = lane.rounds.decided(journal)
    whole = lane.trials
    lane.trials = lambda: [trial for trial in whole() if trial.name in decided]
    lane.planned = Counter(trial.item for trial in lane.trials())


def recall_records(run: Run, *, lacking: str) -> None:
    """Write the records that result from a replay of a run's journal, and update the manifest. Only complete items are
    included.

    `lacking` is the reason why something may be missing. The run is then 'stopped' for that reason and can be resumed.

    Raises:
        RunMismatch: a call would now differ from the journaled call.
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
        made_here = whole and run.study.dataset is None  # otherwise a dataset must still be written
        manifest.digests = digests_of(run) if made_here else None
        write_manifest(run.path, manifest)


def _last_session_end(run: Run) -> str:
    """The end of the run's last session, as far as its files show it."""
    created = run.manifest.created
    if not run.records_file.exists():
        return created
    when = datetime.fromtimestamp(run.records_file.stat().st_mtime, UTC)
    return max(when, datetime.fromisoformat(created)).isoformat(timespec="seconds")


async def _recall_lanes(recall: Replay) -> None:
    """Recall records in plan order. Positions count only trials that are complete, so that no record waits for a
    missing trial."""
    for lane in recall.lanes:
        position = count()
        for trial in lane.trials():
            found = await recall.replay_trial(lane, trial)
            if found is not None:
                lane.outcomes.add(next(position), trial, found.records)
        lane.outcomes.settle()
