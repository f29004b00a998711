"""Every trial, and what all experiments share: starting a row, stating a belief, asking the model measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from overton.calls import Ask, Draw, Form, Message, Question, Reply, Settings, Trial
from overton.errors import CallFailed, OvertonError
from overton.judging import FAULTS, Fault, echoes, faults_of, is_cut
from overton.studies.asking import ReadableReply, total_usage
from overton.studies.calibration_sample import add_calibration
from overton.studies.orders import OWN
from overton.studies.pluralism.items import ReferenceThread, Viewpoint, by_votes
from overton.studies.pluralism.options import ARMS, Experiment, Options, Pairing, ThreadCondition
from overton.studies.pluralism.questions import BELIEF, QUESTIONS
from overton.studies.pluralism.record import Record

THOUGHT = "</think>"
"""The end of a model's thoughts; its answer follows."""


class ThreadTrial(Trial, frozen=True):
    """One thread in one condition of one experiment.

    If two viewpoints are compared, `pairing` says how they were chosen, `number` which of the thread's pairs they are
    (from 1), and `popular_first` whether the more popular one is named first. `null` is the null condition that the
    trial is part of, '' in the design: `shuffle` numbers another order of what is ranked, and one of `donors` is the
    thread that the belief is about.
    """

    thread: ReferenceThread
    experiment: Experiment
    condition: ThreadCondition
    options: Options
    pairing: Pairing | None = None
    number: int = 1
    popular_first: bool = True
    null: str = ""
    shuffle: int = 0
    donors: tuple[ReferenceThread, ...] = ()
    shares: Literal["probabilities", "auto"] | None = None
    sampled: int = 0

    @property
    def condition_name(self) -> str:
        """Experiment, how pairs were chosen if there are any, and condition."""
        return "/".join(filter(None, [self.experiment, self.pairing, self.condition.name]))


def trials(threads: Sequence[ReferenceThread], options: Options, seed: int) -> Iterator[ThreadTrial]:
    """All trials, grouped by thread."""
    return add_calibration(_trials(threads, options, seed), options, seed, _choosing)


def _choosing(trial: ThreadTrial) -> str:
    """Who chooses among options: the model between two viewpoints, the judge among its labels; a ranking is a list."""
    return {"pairwise": "subject", "sycophancy": "judge"}.get(trial.experiment, "")


def _trials(threads: Sequence[ReferenceThread], options: Options, seed: int) -> Iterator[ThreadTrial]:
    for thread in threads:
        for experiment in options.experiments:
            for condition in _conditions(experiment, options):
                if experiment == "pairwise":
                    yield from _comparisons(thread, condition, options, seed)
                else:
                    name = f"{thread.id}/{experiment}/{condition.name}"
                    yield ThreadTrial(name, thread.id, seed, thread, experiment, condition, options)


def _conditions(experiment: Experiment, options: Options) -> Iterator[ThreadCondition]:
    for arm in ARMS[experiment]:
        if options.arms is None or arm in options.arms:
            for effort in options.efforts:
                for mitigated in (False, True) if options.mitigation else (False,):
                    yield ThreadCondition(arm, effort, mitigated)


def _comparisons(
    thread: ReferenceThread, condition: ThreadCondition, options: Options, seed: int
) -> Iterator[ThreadTrial]:
    """Each pair in both orders, or in one."""
    for pairing in options.pairings:
        for number in range(1, options.pairs + 1):
            for first in _pair_orders(thread, pairing, number, options, seed):
                order = "popular-first" if first else "popular-second"
                yield ThreadTrial(
                    f"{thread.id}/pairwise/{pairing}-{number}/{order}/{condition.name}",
                    thread.id,
                    seed,
                    thread,
                    "pairwise",
                    condition,
                    options,
                    pairing,
                    number,
                    first,
                )


def _pair_orders(
    thread: ReferenceThread, pairing: Pairing, number: int, options: Options, seed: int
) -> tuple[bool, ...]:
    """For each comparison of a pair, whether the more popular viewpoint is named first.

    A single order is drawn from seed, thread and pair alone: all conditions and models see the same.
    """
    if options.pair_orders == "both":
        return (True, False)
    return (Draw(f"{seed}/{thread.id}/pairwise/{pairing}/{number}/order").uniform() < 0.5,)


class TrialFailed(OvertonError):
    """The trial cannot go on; the argument says why, in the words of `Record.failure`."""


def new_row(trial: ThreadTrial) -> Record:
    """The trial's row before anything was asked."""
    return Record(
        trial=trial.name,
        experiment=trial.experiment,
        thread=trial.thread.id,
        community=trial.thread.community,
        condition="/".join(filter(None, [trial.null, trial.condition.name])),
        arm=trial.condition.arm,
        effort=trial.condition.effort,
        mitigated=trial.condition.mitigated,
        shares=trial.shares if _choosing(trial) else None,
    )


changed = msgspec.structs.replace
"""The row with these columns."""


async def belief_of(trial: ThreadTrial, viewpoint: Viewpoint, ask: Ask) -> str:
    """What the user is made to say in this condition, '' if nothing; about a donor's viewpoint if there is a donor.

    Raises:
        TrialFailed: the judge wrote no belief.
    """
    if trial.condition.arm in ("neutral", "matched-neutral"):
        return ""
    if trial.donors:
        (donor,) = trial.draw("donor").sample(trial.donors, 1)
        (viewpoint,) = by_votes(donor, 1)
    material = {"summary": viewpoint.summary, "opposing": trial.condition.arm == "opposing"}
    # Once per run, so that all models and conditions meet the same.
    (writing,) = await QUESTIONS.ask_about(ask, [(BELIEF, material, OWN)], shared=True)
    if writing.value is None:
        raise TrialFailed(writing.failure or f"judge: no belief: {writing.replies[0].problem}")
    return writing.value


async def subject(
    trial: ThreadTrial, ask: Ask, messages: Sequence[Message], *, form: Form | None = None, times: int = 1
) -> list[Reply]:
    """Ask the model measured, with the condition's reasoning effort, the same question `times` times side by side.

    Raises:
        TrialFailed: a call failed for good.
    """
    question = Question("subject", tuple(messages), form=form, settings=settings_of(trial))
    try:
        return await ask.all([question] * times)
    except CallFailed as failed:
        raise TrialFailed(f"subject: {failed}") from failed


def settings_of(trial: ThreadTrial) -> Settings | None:
    """The condition's reasoning effort, if it has one."""
    effort = trial.condition.effort
    return None if effort is None else Settings(reasoning_effort=effort)


def reply_columns(replies: Sequence[Reply]) -> dict[str, Any]:
    """The columns about the model's replies."""
    usage = total_usage(replies)
    return {
        "answer": "\n---\n".join(reply.text for reply in replies),
        "refused": any(reply.refused for reply in replies),
        "cut": any(is_cut(reply.finish) for reply in replies),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }


def faults_in(reply: Reply, messages: Sequence[Message], summaries: Sequence[str]) -> tuple[Fault, ...]:
    """The faults of form of a ranking or a choice.

    An answer may well be written in the summaries' words; it is an echo if the text beside them is.
    """
    beside = reply.text
    for summary in summaries:
        beside = beside.replace(summary.strip(), " ")
    echoed = echoes(beside, [message.content for message in messages])
    own = faults_of(reply.text, finish=reply.finish)
    return tuple(fault for fault in FAULTS if fault in own or (fault == "echo" and echoed))


def counted(judgings: Iterable[ReadableReply[Any]]) -> dict[str, int]:
    """The columns that count what the judge was asked and how it answered."""
    known = list(judgings)
    return {
        "judge_replies": sum(judging.attempts for judging in known),
        "judge_repaired": sum(judging.repaired for judging in known),
        "judge_again": sum(judging.unusable for judging in known),
        "judge_unusable": sum(judging.value is None for judging in known),
        "judge_dropped": sum(judging.dropped for judging in known),
    }
