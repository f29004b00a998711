"""Asking the writer for something that can be read; what cannot is asked for again with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from overton.calls import Ask, Form, Message, Question, Reply, Settings, assistant, user
from overton.studies.pluralism.clustering.parts import Counts
from overton.studies.pluralism.prompts import reference as prompts

__all__ = ["ATTEMPTS", "Settled", "Wanted", "answer", "answers", "complaint"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

ATTEMPTS = 2
"""An unusable reply is asked for again once."""


@dataclass(frozen=True)
class Wanted(Generic[T_co]):
    """A request, and how its reply is read: `read` gives what could be read, and what is wrong with it or ''."""

    messages: tuple[Message, ...]
    read: Callable[[str], tuple[T_co | None, str]]
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
    found: list[T | None] = [None] * len(wanted)
    said = [list(one.messages) for one in wanted]
    waiting = list(range(len(wanted)))
    for attempt in range(1, ATTEMPTS + 1):
        asked = [Question("writer", tuple(said[place]), form=wanted[place].form) for place in waiting]
        unusable = []
        for place, reply in zip(waiting, await ask.all(asked), strict=True):
            value, problem = _read(reply, wanted[place])
            found[place] = value if value is not None else found[place]
            if problem:
                unusable.append(place)
                said[place] += [assistant(reply.text or "-"), complaint(problem)]
        counts.asked_again += len(unusable) if attempt < ATTEMPTS else 0
        waiting = unusable
        if not waiting:
            break
    counts.unread += sum(found[place] is None for place in waiting)
    return found


def complaint(problem: str) -> Message:
    """The request to answer again."""
    return user(prompts.filled("assign", "complaint", problem=problem))


def _read(reply: Reply, wanted: Wanted[T]) -> tuple[T | None, str]:
    if reply.refused:
        return None, "it is a refusal"
    return wanted.read(reply.text)


@dataclass(frozen=True)
class Settled:
    """An `Ask` whose writer is asked with these settings over its own, as the paper asks at temperature 0."""

    ask: Ask
    settings: Settings

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        settings: Settings | None = None,
        shared: bool = False,
    ) -> Reply:
        """See `Ask`."""
        how = settings or (self.settings if role == "writer" else None)
        return await self.ask(role, messages, speaker=speaker, form=form, settings=how, shared=shared)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        return await self.ask.all([self._settled(question) for question in questions])

    def _settled(self, question: Question) -> Question:
        if question.settings is not None or question.role != "writer":
            return question
        return msgspec.structs.replace(question, settings=self.settings)
