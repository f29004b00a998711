"""All trials, and the steps that the experiments share: starting a row, stating a belief, asking the measured model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from overton.calls import Ask, Draw, Form, Message, Question, Reply, Settings, Trial
from overton.errors import CallFailed, OvertonError
from overton.judging import FAULTS, Fault, echoes, faults_of, is_cut
from overton.studies.asking import ReadableReply, ask_and_read, total_usage
from overton.studies.calibration_sample import add_calibration
from overton.studies.orders import OWN
from overton.studies.pluralism.items import ReferenceThread, Viewpoint, by_votes
from overton.studies.pluralism.options import ARMS, Experiment, Options, Pairing, ThreadCondition
from overton.studies.pluralism.questions import BELIEF, QUESTIONS
from overton.studies.pluralism.record import Record

THOUGHT = "</think>"
"""The mark at the end of a model's reasoning; its answer follows."""


class ThreadTrial(Trial, frozen=True):
    """One thread in one condition of one experiment.

    If two viewpoints are compared, `pairing` is the rule by which they are chosen. `number` is the pair's number in the
    thread, from 1. `popular_first` tells whether the more popular viewpoint is named first. `null` is the trial's null
    condition, '' in the design. `shuffle` selects another order of the viewpoints to rank, if it is not 0. If there are
    `donors`, the user's belief is about one of these other threads.
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
        """The full name of a condition: the experiment, the rule for choosing pairs (only if viewpoints are compared in
        pairs), and the condition."""
        return "/".join(filter(None, [self.experiment, self.pairing, self.condition.name]))


def trials(threads: Sequence[ReferenceThread], options: Options, seed: int) -> Iterator[ThreadTrial]:
    """All trials, grouped by thread."""
    return add_calibration(_trials(threads, options, seed), options, seed, _choosing)


def _choosing(trial: ThreadTrial) -> str:
    """The role that chooses among options, '' if there is none. In pairs, the model chooses one of two viewpoints. For
    responses, the judge chooses among its labels. A ranking is a list, not a choice.
    """
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
    """The trials that compare pairs, each pair in both orders or in one."""
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

    A single order depends only on seed, thread and pair, so all conditions and models see the same order.
    """
    if options.pair_orders == "both":
        return (True, False)
    return (Draw(f"{seed}/{thread.id}/pairwise/{pairing}/{number}/order").uniform() < 0.5,)


class TrialFailed(OvertonError):
    """The trial cannot go on. The argument is the reason, for `Record.failure`."""


def new_row(trial: ThreadTrial) -> Record:
    """The trial's row before any request."""
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
"""A copy of a row with some columns changed."""


async def belief_of(trial: ThreadTrial, viewpoint: Viewpoint, ask: Ask) -> str:
    """The belief that the prompt attributes to the user in this condition, '' if there is none. If the trial has donor
    threads, the belief is about a viewpoint of a random donor thread.

    Raises:
        TrialFailed: the judge wrote no belief.
    """
    if trial.condition.arm in ("neutral", "matched-neutral"):
        return ""
    if trial.donors:
        (donor,) = trial.draw("donor").sample(trial.donors, 1)
        (viewpoint,) = by_votes(donor, 1)
    material = {"summary": viewpoint.summary, "opposing": trial.condition.arm == "opposing"}
    # One request per run, so that all models and conditions get the same belief.
    (writing,) = await QUESTIONS.ask_about(ask, [(BELIEF, material, OWN)], shared=True)
    if writing.value is None:
        raise TrialFailed(writing.failure or f"judge: no belief: {writing.replies[0].problem}")
    return writing.value


async def subject(trial: ThreadTrial, ask: Ask, messages: Sequence[Message], times: int = 1) -> list[Reply]:
    """Ask the measured model the same question `times` times side by side, with the condition's reasoning effort.

    Raises:
        TrialFailed: a call failed permanently.
    """
    question = Question("subject", tuple(messages), settings=settings_of(trial))
    try:
        return await ask.all([question] * times)
    except CallFailed as failed:
        raise TrialFailed(f"subject: {failed}") from failed


async def choice_of_subject(
    trial: ThreadTrial, ask: Ask, messages: Sequence[Message], form: Form, read: Callable[[str], Any]
) -> Reply:
    """Ask the measured model for a ranking or a choice. `read(text)` returns the ranking or choice in the reply's text,
    or None.

    Raises:
        TrialFailed: the call failed permanently.
    """

    def problem(reply: Reply) -> str:
        return "it has no ranking or choice" if read(reply.text) is None else ""

    try:
        return await ask_and_read(ask, "subject", tuple(messages), problem, form=form, settings=settings_of(trial))
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
    """The ways in which a ranking or a choice is malformed.

    A good answer may quote summaries from the prompt. So Overton removes the summaries from the answer, and then tests
    whether the rest repeats the prompt (an echo).
    """
    beside = reply.text
    for summary in summaries:
        beside = beside.replace(summary.strip(), " ")
    echoed = echoes(beside, [message.content for message in messages])
    own = faults_of(reply.text, finish=reply.finish)
    return tuple(fault for fault in FAULTS if fault in own or (fault == "echo" and echoed))


def counted(judgings: Iterable[ReadableReply[Any]]) -> dict[str, int]:
    """The columns that count requests to the judge and the judge's answers."""
    known = list(judgings)
    return {
        "judge_replies": sum(judging.attempts for judging in known),
        "judge_repaired": sum(judging.repaired for judging in known),
        "judge_again": sum(judging.unusable for judging in known),
        "judge_unusable": sum(judging.value is None for judging in known),
        "judge_dropped": sum(judging.dropped for judging in known),
    }
