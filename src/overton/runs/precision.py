"""Runs that stop at a target precision. Each model pipeline conducts balanced blocks of trials in rounds. After each
round, Overton decides which blocks to add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overton.calls import Trial
from overton.engine import Lane
from overton.engine.rounds import Ended
from overton.errors import InputError, JournalError, Problem, Unreadable
from overton.runs.dry_run import count_calls
from overton.runs.event_loop import run_to_end
from overton.runs.experiment import Experiment
from overton.studies.options import option_place
from overton.studies.precision import (
    Arm,
    Blocks,
    Decision,
    PrecisionTarget,
    StoppingPlan,
    StopState,
    TrialOutcome,
    decide,
)
from overton.studies.study import AnyStudy
from overton.untrusted import decode_json

_decode_decision = msgspec.json.Decoder(Decision).decode


def decide_round(design: StoppingPlan, ended: Ended) -> str:
    """The decision on how a pipeline of this design continues, as JSON."""
    made = decide(design, {name: TrialOutcome(*outcome) for name, outcome in ended.items()})
    return msgspec.json.encode(made, order="deterministic").decode()


def choose_trials(design: StoppingPlan, decision: str, ended: Ended) -> Sequence[Trial]:
    """The trials that a decision adds, in plan order.

    Raises:
        JournalError: the text is not one that Overton writes.
    """
    return design.chosen(decision_of(decision), set(ended))


def decision_of(text: str) -> Decision:
    """Decode a decision from its note.

    Raises:
        JournalError: it is not a decision.
    """
    try:
        return decode_json(text, _decode_decision)
    except Unreadable as error:
        raise JournalError(f"the journal's note of a round {error.reason}") from None


def precision_of(measures: Mapping[str, float] | None, calls: int | None) -> PrecisionTarget | None:
    """The target precision of a run, None if the run makes all planned calls."""
    return None if not measures and calls is None else PrecisionTarget(dict(measures or {}), calls, "repeated")


def check_wanted(study: AnyStudy, wanted: PrecisionTarget, options: Any) -> None:
    """Refuse a precision that cannot be reached.

    Raises:
        InputError: the study does not declare its blocks, the study lacks a wanted measure, or the options cannot be
            combined with a target precision.
    """
    if study.blocks is None:
        reason = f"{study.name} does not declare its blocks, so it cannot stop at a target precision"
        raise InputError([Problem(option_place("precision"), "", reason)])
    if problems := list(study.blocks.problems(wanted, options)):
        raise InputError(problems)


def check_one_judge(study: AnyStudy, wanted: Mapping[str, Sequence[Any]]) -> None:
    """Refuse several judges, because each judge's labels would lead to different decisions.

    Raises:
        InputError: there are several judges.
    """
    if len(judges := wanted.get(study.several, ())) > 1:
        reason = (
            f"with {len(judges)} judges, each would stop at a different point; name one, and use the others later with"
            " 'overton judge again'"
        )
        raise InputError([Problem(option_place("precision"), "", reason)])


def design_of(experiment: Experiment, wanted: PrecisionTarget, lanes: int) -> StoppingPlan:
    """The design from which each pipeline chooses blocks. Calls are divided evenly among `lanes` pipelines.

    Raises:
        InputError: see `check_wanted`. Also if fewer calls are allowed than the first round takes.
    """
    study = experiment.study
    check_wanted(study, wanted, experiment.options)
    assert study.blocks is not None
    trials = list(experiment.trials())
    calls = None if wanted.calls is None else wanted.calls // lanes
    design = StoppingPlan(
        study.blocks, trials, wanted, experiment.seed, _most_calls(study, study.blocks, trials), calls
    )
    if calls is not None and design.first_round > calls:
        needed = f"the first round alone takes {design.first_round * lanes:,} calls"
        reason = f"{needed}, and its results decide on further trials"
        raise InputError([Problem(option_place("at_most_calls"), f"{wanted.calls}", reason)])
    return design


def _most_calls(study: AnyStudy, blocks: Blocks, trials: Sequence[Trial]) -> dict[Arm, int]:
    """The maximum number of calls of a trial in each arm, counted with the canned replies that make trials longest.
    Searches and pages do not count, because they are shared."""
    some = {Arm(trial.item, blocks.of(trial)[0]): blocks.longest(trial) for trial in reversed(trials)}

    async def counted() -> dict[Arm, int]:
        made = {}
        for arm, trial in some.items():
            course = await count_calls(study, [trial], -1)
            made[arm] = sum(count.calls for name, count in course.own.items() if name not in study.retrieval)
        return made

    return run_to_end(counted())


def stop_states(names: Sequence[str], lanes: Sequence[Lane]) -> dict[str, StopState]:
    """The last decision on each pipeline that runs in rounds, and the number of its rounds."""
    found = {}
    for name, lane in zip(names, lanes, strict=True):
        if lane.rounds is not None and lane.rounds.said:
            last = decision_of(lane.rounds.said)
            found[name] = StopState(lane.rounds.number, last, sum(lane.planned.values()))
    return found
