"""What all experiments do alike: ask the model under test, state a belief, and begin a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from overton.calls import Ask, Form, Message, Question, Reply, Settings
from overton.errors import CallFailed, OvertonError
from overton.studies.pluralism.beliefs import written_belief
from overton.studies.pluralism.items import Viewpoint
from overton.studies.pluralism.judging import failure_of
from overton.studies.pluralism.protocol.trials import ThreadTrial
from overton.studies.pluralism.record import Record
from overton.studies.readable import Answered, total_usage

__all__ = ["Unheld", "begun", "belief_of", "changed", "counted", "subject", "told"]


class Unheld(OvertonError):
    """The trial ends here; the argument says why, in the words of `Record.failure`."""


def begun(trial: ThreadTrial) -> Record:
    """The trial's row before anything was asked."""
    return Record(
        trial=trial.name,
        experiment=trial.experiment,
        thread=trial.thread.id,
        community=trial.thread.community,
        condition=trial.condition.name,
        arm=trial.condition.arm,
        effort=trial.condition.effort,
        mitigated=trial.condition.mitigated,
    )


def changed(record: Record, **fields: Any) -> Record:
    """The row with these columns."""
    return msgspec.structs.replace(record, **fields)


async def belief_of(trial: ThreadTrial, viewpoint: Viewpoint, ask: Ask) -> str:
    """What the user is made to say in this condition, '' where nothing.

    Raises:
        Unheld: the judge wrote no belief.
    """
    if trial.condition.arm in ("neutral", "matched-neutral"):
        return ""
    writing = await written_belief(ask, viewpoint.summary, opposing=trial.condition.arm == "opposing")
    if writing.value is None:
        raise Unheld(failure_of(writing) or f"judge: no belief: {writing.problem}")
    return writing.value


async def subject(
    trial: ThreadTrial, ask: Ask, messages: Sequence[Message], *, form: Form | None = None, times: int = 1
) -> list[Reply]:
    """Ask the model under test, with the condition's reasoning effort; the same so many times side by side.

    Raises:
        Unheld: a call failed for good.
    """
    effort = trial.condition.effort
    settings = None if effort is None else Settings(reasoning_effort=effort)
    question = Question("subject", tuple(messages), form=form, settings=settings)
    try:
        return await ask.all([question] * times)
    except CallFailed as failed:
        raise Unheld(f"subject: {failed}") from failed


def told(replies: Sequence[Reply]) -> dict[str, Any]:
    """The columns that tell of the model's replies."""
    usage = total_usage(replies)
    return {
        "answer": "\n---\n".join(reply.text for reply in replies),
        "refused": any(reply.refused for reply in replies),
        "cut": any(reply.finish in ("length", "max_tokens") for reply in replies),
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
    }


def counted(judgings: Iterable[Answered[Any]]) -> dict[str, int]:
    """The columns that count what the judge was asked and how it answered."""
    known = list(judgings)
    return {
        "judge_replies": sum(one.attempts for one in known),
        "judge_repaired": sum(one.repaired for one in known),
        "judge_again": sum(one.unusable for one in known),
        "judge_unusable": sum(one.value is None for one in known),
        "judge_dropped": sum(one.dropped for one in known),
    }
