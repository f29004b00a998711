"""Checks of a run's first replies before the other calls are made. Overton checks each model's replies, and each
judge's reply about a control text, whose label is known. Before any other call, a judge labels a control text of its
study with the study's own prompt. This request is one of the run's calls: it is paced, paid for, counted and journaled,
so later sessions do not send it again. The manifest stores the counts of readable replies for later sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from overton.calls import Ask
from overton.engine import Dispatcher, Lane, Seat
from overton.engine.ask import TrialAsk
from overton.engine.first_replies import FirstReplies, ReadCount, Unread, quote_unread, shown_name
from overton.errors import UnreadReplies
from overton.runs.answerers import is_simulated
from overton.runs.folder import write_manifest
from overton.runs.run import Run
from overton.studies.judge_checks.control_texts import ControlText, first_control
from overton.studies.orders import OWN
from overton.studies.questions import Questions
from overton.studies.study import AnyStudy

SPEAKER = "control"
"""The last part of the speaker's name when a judge labels the control text: 'judge/control'."""


def watch_first_replies(run: Run, lanes: Sequence[Lane], dispatcher: Dispatcher) -> None:
    """Check first replies, unless the run is so old that its manifest has no counts of first replies.

    Simulated replies are not checked, because they cost nothing. Searches and pages are not checked either.
    """
    manifest = run.manifest
    if (kept := manifest.first_replies) is msgspec.UNSET:
        return
    counts = dict(kept.counts)

    def keep(name: str, count: ReadCount) -> None:
        is_new = count.decision and count.decision != _decision(counts, name)
        counts[name] = count
        manifest.first_replies = msgspec.structs.replace(kept, counts=dict(counts))
        if is_new:
            write_manifest(run.path, manifest)

    dispatcher.first_replies = first = FirstReplies(
        kept.counts, anyway=kept.anyway, are_free=run.study.questions is not None, found=keep, stop=dispatcher.stop
    )
    for seat in (seat for lane in lanes for seat in lane.seats.values()):
        if not seat.model.retrieves and not is_simulated(seat.model):
            seat.sample = first.sample(seat.model.answerer, judges=seat.judges)


def _decision(counts: Mapping[str, ReadCount], name: str) -> str:
    return counts[name].decision if name in counts else ""


async def try_judges(run: Run, lanes: Sequence[Lane], dispatcher: Dispatcher) -> None:
    """Have each judge that has not passed the check label a control text.

    If a judge's replies in earlier sessions could not be read, Overton sends new requests, because the judge may answer
    differently now.

    Raises:
        UnreadReplies: a judge's replies cannot be read.
        Stopped: the run is stopping.
    """
    manifest, judged = run.manifest, control_of(run.study)
    if manifest.first_replies is msgspec.UNSET or manifest.first_replies.anyway or judged is None:
        return
    for seat in _judges(judged.role, lanes):
        name = shown_name(seat.model.answerer.name, judges=True)
        ask, before = TrialAsk(dispatcher, "", {judged.role: seat}), dispatcher.tally.asked
        problem = await judged.problem(ask, name)
        while problem is not None and dispatcher.tally.asked == before:
            problem = await judged.problem(ask, name)
        if problem is not None:
            counts = {**manifest.first_replies.counts, name: ReadCount(0, 1, "failed")}
            manifest.first_replies = msgspec.structs.replace(manifest.first_replies, counts=counts)
            raise problem


def _judges(role: str, lanes: Sequence[Lane]) -> Iterator[Seat]:
    """The judges of a role whose first replies are to be checked, each once."""
    seats = {lane.seats[role].model.answerer.identity: lane.seats[role] for lane in lanes if role in lane.seats}
    return (seat for seat in seats.values() if seat.sample is not None)


def control_of(study: AnyStudy) -> JudgedControl | None:
    """The control text that a study's judge labels before other calls are made. None if the study has no such judge or
    control text."""
    found = first_control(study)
    return None if found is None else JudgedControl(*found)


@dataclass(frozen=True)
class JudgedControl:
    """A control text with the questions that a judge is asked about it."""

    questions: Questions
    control: ControlText

    @property
    def role(self) -> str:
        """The role of the judges that are asked."""
        return self.questions.role

    async def problem(self, ask: Ask, name: str) -> UnreadReplies | None:
        """Ask the judge of this name. Return the error if replies arrived and none can be read, otherwise None."""
        question = self.questions.question(self.control.what)
        speaker = f"{self.role}/{SPEAKER}"
        (answer,) = await self.questions.ask_about(ask, [(question, self.control.material, OWN)], speaker)
        if answer.failure is not None or any(reply.value is not None for reply in answer.replies):
            return None
        said = [
            Unread("", heard.text, reading.problem)
            for reply in answer.replies
            for heard, reading in zip(reply.replies, reply.readings, strict=True)
        ]
        return UnreadReplies(
            f"none of {len(said)} replies of {name} about texts with known labels could be read, so no other call was"
            f" made. {quote_unread(said, judges=True)}"
        )
