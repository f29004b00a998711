"""How the judge is asked: side by side in rounds, where what could not be used is asked for again with the reason.

Rounds, and not a strand for each answer, so that calls are numbered the same whichever reply comes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from overton.calls import Ask, Form, Message, Reply, assistant
from overton.errors import CallFailed, Stopped
from overton.studies.pluralism import prompts

__all__ = ["ATTEMPTS", "Answer", "Judging", "Task", "judged"]

T = TypeVar("T")

ATTEMPTS = 3
"""A reply that cannot be used is asked for again twice."""

_LONGEST_REPEATED = 2_000


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What was read from one reply.

    `value` is None where nothing can be used. A `problem` is a reason to ask again; a value beside it is taken where
    the judge is not asked again. `dropped` counts what the reply names that does not exist or was named before.
    """

    value: T | None
    problem: str = ""
    repaired: bool = False
    dropped: int = 0


@dataclass(frozen=True)
class Task(Generic[T]):
    """One thing to ask the judge: messages, the form of the answer, and how a reply is read."""

    messages: tuple[Message, ...]
    form: Form
    read: Callable[[str], Answer[T]]


@dataclass
class Judging(Generic[T]):
    """How one thing went.

    `value` is the last usable answer, or None; `replies` how many were asked for and `again` how many of them were not
    enough; `problem` is what was wrong with the last one, `failure` why a call failed for good, or None.
    """

    value: T | None = None
    replies: int = 0
    again: int = 0
    repaired: bool = False
    dropped: int = 0
    problem: str = ""
    failure: str | None = None
    said: list[Message] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether it is to be asked again."""
        return self.failure is None and self.replies < ATTEMPTS and (self.replies == 0 or bool(self.problem))


async def judged(ask: Ask, tasks: Sequence[Task[T]], *, shared: bool = False) -> list[Judging[T]]:
    """Ask the judge all `tasks` side by side, up to `ATTEMPTS` times each; in their order, never raising CallFailed.

    With `shared` the calls are made once in a run, whichever trial asks.
    """
    courses: list[Judging[T]] = [Judging(said=list(task.messages)) for task in tasks]
    while asked := [(task, course) for task, course in zip(tasks, courses, strict=True) if course.open]:
        replies = await _all(_one(ask, course.said, task.form, shared) for task, course in asked)
        for (task, course), reply in zip(asked, replies, strict=True):
            _take(course, task, reply)
    return courses


async def _one(ask: Ask, messages: Sequence[Message], form: Form, shared: bool) -> Reply | CallFailed:
    try:
        return await ask("judge", messages, form=form, shared=shared)
    except CallFailed as failed:
        return failed


async def _all(asking: Any) -> list[Reply | CallFailed]:
    """All outcomes. All have ended before an error is raised, so that nothing that was paid for is lost."""
    strands: list[Coroutine[Any, Any, Reply | CallFailed]] = list(asking)
    outcomes = await asyncio.gather(*strands, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException) and not _is_failure(outcome)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Stopped))  # what is wrong with the run before its stop
    return [outcome for outcome in outcomes if isinstance(outcome, Reply | CallFailed)]


def _is_failure(outcome: BaseException) -> bool:
    return isinstance(outcome, CallFailed)


def _take(course: Judging[T], task: Task[T], reply: Reply | CallFailed) -> None:
    course.replies += 1
    if isinstance(reply, CallFailed):
        course.failure = f"judge: {reply}"
        return
    answer: Answer[T] = Answer(None, "it is a refusal") if reply.refused else task.read(reply.text)
    course.problem = answer.problem
    if answer.value is not None:
        course.value, course.repaired, course.dropped = answer.value, answer.repaired, answer.dropped
    if answer.problem:
        course.again += 1
        # A judge that babbles is not made to read all of it again.
        said = reply.text.strip()[:_LONGEST_REPEATED] or prompts.nothing()
        course.said += [assistant(said), prompts.complaint(answer.problem)]
