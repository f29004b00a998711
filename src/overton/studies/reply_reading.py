"""Parsing of replies. An option of every study decides which part of each reply a trial's protocol receives.

Every study has the option `reading`. Runs whose manifests are older than the option keep the parsing of 0.2.0,
'strict'. So the prompts of these runs, and the values parsed from replies, stay the same. With 'common', Overton
removes a model's thinking from each reply. The study's parser, a judge, another model, or the same model in a later
turn then never see the thinking. The journal keeps the whole reply.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import msgspec

from overton.calls import Ask, Question, Reply, ReplyReading, Trial
from overton.judging.thinking import without_thinking
from overton.studies.options import Option, StudyOptions, with_fields

OPTION = "reading"
"""The name of the option that Overton adds to every study."""
USUAL: ReplyReading = "common"
"""The option's value in new runs."""
PUBLISHED: ReplyReading = "strict"
"""The option's value in runs that follow a paper's design, because its authors did not remove a model's thinking. Runs
older than the option also have this value."""
_HELP = (
    "How to read replies: common removes a model's thinking and accepts the usual answer formats, strict accepts"
    " only the requested formats"
)

Trials = Callable[[Sequence[Any], Any, int], Iterator[Trial]]


def with_reading(options: type[StudyOptions]) -> type[StudyOptions]:
    """A study's options with the option for parsing replies; unchanged if they already have that option."""
    kind = Annotated[Literal["common", "strict"], Option(_HELP, unmentioned=PUBLISHED)]
    return with_fields(options, [(OPTION, kind, USUAL)])


@dataclass(frozen=True)
class TrialsWithReading:
    """A study's trials, each with the `reading` of its run."""

    trials: Trials

    def __call__(self, items: Sequence[Any], options: Any, seed: int) -> Iterator[Trial]:
        """All trials, grouped by item."""
        found, reading = self.trials(items, options, seed), getattr(options, OPTION, PUBLISHED)
        return found if reading == PUBLISHED else map(partial(msgspec.structs.replace, reading=reading), found)


@dataclass(frozen=True)
class ConductWithReading:
    """A study's trial protocol, which receives replies as the trial's option `reading` requires.

    A service that searches and reads pages (`retrieval`) is not a model, so its texts stay unchanged.
    """

    __wrapped__: Callable[[Any, Ask], Awaitable[list[Any]]]
    retrieval: tuple[str, ...] = ()

    def __call__(self, trial: Trial, ask: Ask) -> Awaitable[list[Any]]:
        """See `Conduct`."""
        reading = getattr(trial, OPTION, PUBLISHED)
        return self.__wrapped__(trial, _ReadingAsk(ask, self.retrieval) if reading == "common" else ask)


class _ReadingAsk:
    """An `Ask` whose replies lack the model's thinking."""

    __slots__ = ("_ask", "_retrieval")

    def __init__(self, ask: Ask, retrieval: Collection[str]) -> None:
        self._ask = ask
        self._retrieval = retrieval

    async def __call__(self, role: str, messages: Sequence[Any], **how: Any) -> Reply:
        """See `Ask`."""
        reply = await self._ask(role, messages, **how)
        return reply if role in self._retrieval else without_thinking(reply)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        """See `Ask`."""
        replies = await self._ask.all(questions)
        return [
            reply if question.role in self._retrieval else without_thinking(reply)
            for question, reply in zip(questions, replies, strict=True)
        ]
