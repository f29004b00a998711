"""How the judge is asked: side by side in rounds, where what could not be used is asked for again with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from overton.calls import Ask, Form, Message
from overton.judging import Reading
from overton.studies.pluralism import prompts
from overton.studies.readable import Answered, Wanted, ask_all_until_read, unless_refused

__all__ = ["ATTEMPTS", "Task", "failure_of", "judged"]

T = TypeVar("T")

ATTEMPTS = 3
"""A reply that cannot be used is asked for again twice."""

_LONGEST_REPEATED = 2_000


@dataclass(frozen=True)
class Task(Generic[T]):
    """One thing to ask the judge: messages, the form of the answer, and how a reply's text is read."""

    messages: tuple[Message, ...]
    form: Form
    read: Callable[[str], Reading[T]]


async def judged(ask: Ask, tasks: Sequence[Task[T]], *, shared: bool = False) -> list[Answered[T]]:
    """Ask the judge all `tasks` side by side, up to `ATTEMPTS` times each; in their order, never raising CallFailed.

    With `shared` the calls are made once in a run, whichever trial asks.
    """
    wanted = [Wanted("judge", one.messages, unless_refused(one.read), one.form, shared=shared) for one in tasks]
    return await ask_all_until_read(ask, wanted, attempts=ATTEMPTS, complaint=prompts.complaint, repeated=_repeated)


def failure_of(answered: Answered[Any]) -> str | None:
    """Why a call to the judge failed for good, in the words of `Record.failure`; None where none did."""
    return None if answered.failure is None else f"judge: {answered.failure}"


def _repeated(text: str) -> str:
    # A judge that babbles is not made to read all of it again.
    return text.strip()[:_LONGEST_REPEATED] or prompts.nothing()
