"""A run from its journal alone: trials are conducted again, without calls, costs or new journal rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any

from overton.calls import Failure, Reply, Request, Trial
from overton.engine import Budget, Dispatcher, Journal, Lane, Limits, Seat
from overton.engine.ask import TrialAsk
from overton.engine.dispatcher import NotRecalled, Rejected
from overton.engine.identity import CallKey, Identity
from overton.runs.digests import digests_of
from overton.runs.event_loop import run_to_end
from overton.runs.folder import write_manifest
from overton.runs.lanes import lanes_of, unwritable_of, write_records
from overton.runs.run import Run, open_journal, spent_so_far
from overton.runs.temperature_probe import recall_probes


@dataclass(frozen=True)
class ReplayedCall:
    """A call as sent and answered; `answerer` is the answerer's name."""

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


@dataclass
class _RecallingDispatcher(Dispatcher):
    """A dispatcher that records what was recalled."""

    heard: list[ReplayedCall] = field(default_factory=list)

    async def outcome(
        self, seat: Seat, identity: Identity, place: CallKey, request: Request, *, rejected: Rejected | None = None
    ) -> Reply | Failure:
        found = await super().outcome(seat, identity, place, request, rejected=rejected)
        self.heard.append(ReplayedCall(identity, place, seat.model.answerer.name, request, found))
        return found


class Replay:
    """A run's lanes with its journal open; to be closed. `ended` is the end of its last session, in ISO 8601.

    Raises:
        RunLocked: another process is using the run.
        JournalError: the journal cannot be read.
    """

    def __init__(self, run: Run) -> None:
        self._study = study = run.study
        self.items = run.items()
        self.ended = _last_session_end(run)
        self.lanes: list[Lane] = lanes_of(run, None)
        self.names: list[str] = run.lane_names
        self.journal: Journal = open_journal(run)
        recall_probes(study, run.manifest, self.lanes, self.journal)
        for lane in self.lanes:
            if lane.rounds is not None:
                _restrict_to_decided(lane, self.journal)
        self._dispatcher = _RecallingDispatcher(self.journal, Budget(Limits()), recall_only=True)

    def close(self) -> None:
        """Unlock the run."""
        self.journal.close()

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
        self._dispatcher.heard = []
        try:
            records = await self._study.conduct(trial, TrialAsk(self._dispatcher, trial.name, lane.seats, lane.own))
        except NotRecalled:
            return None
        finally:
            await self._dispatcher.settle()
        return ReplayedTrial(trial, records, self._dispatcher.heard)


def _restrict_to_decided(lane: Lane, journal: Journal) -> None:
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
    recall, manifest = Replay(run), run.manifest
    try:
        run_to_end(_recall_lanes(recall))
        manifest.spent = spent_so_far(run, recall.journal)
        recall.journal.finish()
        manifest.missing = {name: lane.incomplete for name, lane in zip(recall.names, recall.lanes, strict=True)}
        manifest.trials = sum(lane.planned.total() for lane in recall.lanes)
        manifest.unmade = unwritable_of(recall.names, recall.lanes)
        whole = all(lane.outcomes.done.total() >= lane.planned.total() for lane in recall.lanes)
        manifest.status, manifest.stopped = ("finished", "") if whole else ("stopped", lacking)
        write_records(run, recall.lanes)
        made_here = whole and run.study.dataset is None  # a dataset is still to be written
        manifest.digests = digests_of(run) if made_here else None
        write_manifest(run.path, manifest)
    finally:
        recall.close()


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
