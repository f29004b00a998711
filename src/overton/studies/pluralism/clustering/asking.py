"""Asking the writer for something that can be read; what cannot is asked for again with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from overton.calls import Ask, Form, Message, Question, Reply, Settings
from overton.judging import Reading
from overton.studies import readable
from overton.studies.pluralism.clustering.parts import Counts
from overton.studies.pluralism.prompts import reference as prompts

__all__ = ["ATTEMPTS", "Settled", "Wanted", "answer", "answers"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ATTEMPTS = 2
"""An unusable reply is asked for again once."""


@dataclass(frozen=True)
class Wanted(Generic[T_co]):
    """A request to the writer, and how its reply's text is read."""

    messages: tuple[Message, ...]
    read: Callable[[str], Reading[T_co]]
    form: Form | None = None


async def answer(ask: Ask, wanted: Wanted[T], counts: Counts) -> T | None:
    """The answer to one request; see `answers`."""
    return (await answers(ask, [wanted], counts))[0]


async def answers(ask: Ask, wanted: Sequence[Wanted[T]], counts: Counts) -> list[T | None]:
    """The answers, asked for side by side.

    Where the last reply still is unusable, what could be read of it, or None where nothing could.

    Raises:
        CallFailed: a call failed for good.
    """
    requests = [readable.Wanted("writer", one.messages, readable.unless_refused(one.read), one.form) for one in wanted]
    answered = await readable.ask_all_until_read(
        ask, requests, attempts=ATTEMPTS, complaint=prompts.complaint, all_or_none=True
    )
    for one in answered:
        if one.failure:
            raise one.failure
        counts.asked_again += one.attempts - 1
        counts.unread += one.value is None
    return [one.value for one in answered]


@dataclass(frozen=True)
class Settled:
    """An `Ask` whose writer is asked with these settings over its own, as the paper asks at temperature 0."""

    ask: Ask
    settings: Settings

    async def __call__(
        self, role: str, messages: Sequence[Message], *, settings: Settings | None = None, **how: Any
    ) -> Reply:
        """See `Ask`."""
        own = self.settings if role == "writer" else None
        return await self.ask(role, messages, settings=settings or own, **how)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        return await self.ask.all([self._settled(question) for question in questions])

    def _settled(self, question: Question) -> Question:
        if question.settings is not None or question.role != "writer":
            return question
        return msgspec.structs.replace(question, settings=self.settings)
