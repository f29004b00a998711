"""A table at which scripted or simulated agents sit, without an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from overton.calls import Answerer, Form, Message, Question, Reply, Request, Settings, Usage
from overton.studies.deliberation.items import CrowdVerdicts, Dilemma
from overton.studies.deliberation.options import Options
from overton.studies.deliberation.protocol import DilemmaTrial, trials
from overton.studies.deliberation.record import Format


@dataclass
class Asked:
    role: str
    speaker: str | None
    messages: tuple[Message, ...]
    form: Form | None


def stated(verdict: str, thinking: str = "because it is so.") -> str:
    return f"My current verdict: {verdict}.\n\nHere's my thinking: {thinking}"


@dataclass
class Table:
    """An `Ask` that gives each speaker's replies in the order of its script, the last one again and again.

    A script's entry is a verdict, a reply or its text, or an error to raise. Everything asked is kept in `asked`.
    """

    script: Mapping[str, Sequence[str | Reply | Exception]]
    asked: list[Asked] = field(default_factory=list)

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        **other: object,
    ) -> Reply:
        assert not any(other.values())
        who = speaker or role
        lines = self.script[who]
        number = len(self.by(who))
        self.asked.append(Asked(role, speaker, tuple(messages), form))
        await asyncio.sleep(0)
        line = lines[min(number, len(lines) - 1)]
        if isinstance(line, Exception):
            raise line
        if isinstance(line, Reply):
            return line
        text = stated(line, f"{who} says {line} as number {number + 1}.") if line.isupper() else line
        return Reply(text, usage=Usage(10, 2))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        return [await self(q.role, q.messages, speaker=q.speaker, form=q.form) for q in questions]

    def by(self, who: str) -> list[Asked]:
        return [one for one in self.asked if (one.speaker or one.role) == who]


@dataclass
class Simulation:
    """An `Ask` that answerers by speaker answer; each call has a seed of its own, in the order of asking."""

    answerers: Mapping[str, Answerer]
    asked: list[Asked] = field(default_factory=list)

    async def __call__(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        speaker: str | None = None,
        form: Form | None = None,
        **other: object,
    ) -> Reply:
        assert not any(other.values())
        self.asked.append(Asked(role, speaker, tuple(messages), form))
        request = Request(tuple(messages), Settings(), form, len(self.asked))
        return await self.answerers[speaker or role].answer(request)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        return [await self(q.role, q.messages, speaker=q.speaker, form=q.form) for q in questions]


MakeTrial = Callable[..., DilemmaTrial]


@pytest.fixture(scope="session")
def dilemmas() -> Callable[[int], list[Dilemma]]:
    """So many dilemmas; what readers of them thought is known of the first."""

    def make(count: int) -> list[Dilemma]:
        crowds = [CrowdVerdicts({"NTA": 7, "YTA": 3}), *[None] * count]
        return [
            Dilemma(f"d{number}", f"AITA for number {number}?", f"I did thing {number}.\n\nWas I wrong?", crowd)
            for number, crowd in zip(range(count), crowds, strict=False)
        ]

    return make


@pytest.fixture
def trial(dilemmas: Callable[[int], list[Dilemma]]) -> MakeTrial:
    """The first trial of one dilemma: `trial(format, how_many_agents_or_their_models, **options)`."""

    def make(format_: Format, agents: int | tuple[str, ...] = 2, **options: Any) -> DilemmaTrial:
        models = tuple(f"acme/model-{k}" for k in range(1, agents + 1)) if isinstance(agents, int) else agents
        return next(trials(dilemmas(1), Options(agents=models, formats=(format_,), **options), 5))

    return make


@pytest.fixture(scope="session")
def table() -> type[Table]:
    return Table


@pytest.fixture(scope="session")
def simulation() -> type[Simulation]:
    return Simulation
