"""A table at which scripted or simulated agents sit, without an engine; and decisions written down by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import pytest

from overton.calls import Answerer, Form, Message, Question, Reply, Request, Settings, Usage
from overton.statistics import Estimate
from overton.studies.deliberation.items import CrowdVerdicts, Dilemma
from overton.studies.deliberation.options import Options
from overton.studies.deliberation.protocol import DilemmaTrial, trials
from overton.studies.deliberation.record import Format
from overton.studies.frame import Analysis


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


DECISIONS = {
    "deliberation": pl.String,
    "dilemma": pl.String,
    "format": pl.String,
    "goal": pl.String,
    "round": pl.Int64,
    "position": pl.Int64,
    "agent": pl.String,
    "model": pl.String,
    "verdict": pl.String,
    "values": pl.List(pl.String),
    "crowd": pl.String,
    "failure": pl.String,
}

Verdicts = dict[str, Sequence[str | None]]


@pytest.fixture
def talk() -> Callable[..., pl.DataFrame]:
    """Decisions of one deliberation from each model's verdicts, round by round, in the order of speaking.

    'claude#1' is an agent called so whose model is claude; '-' is a message that was never sent.
    """

    def make(
        said: Verdicts,
        *,
        dilemma: str = "d1",
        format: str = "synchronous",
        goal: str | None = "correctness",
        name: str = "",
        values: dict[str, Sequence[Any]] | None = None,
        crowd: str | None = None,
        failure: str | None = None,
    ) -> pl.DataFrame:
        rows = [
            {
                "deliberation": f"{dilemma}/{format}/{goal}/{'-'.join(said)}{name}",
                "dilemma": dilemma,
                "format": format,
                "goal": goal,
                "round": round_,
                "position": place if format == "round-robin" else None,
                "agent": agent,
                "model": agent.partition("#")[0],
                "verdict": verdict,
                "values": values[agent][round_ - 1] if values else None,
                "crowd": crowd,
                "failure": failure,
            }
            for place, (agent, verdicts) in enumerate(said.items(), 1)
            for round_, verdict in enumerate(verdicts, 1)
            if verdict != "-"
        ]
        return pl.DataFrame(rows, schema=DECISIONS)

    return make


@pytest.fixture
def published(talk: Callable[..., pl.DataFrame]) -> pl.DataFrame:
    """The example deliberations of appendix F."""
    return pl.concat(
        [
            talk({"claude": ["YTA"], "gpt": ["YTA"]}, dilemma="1"),
            talk(
                {"gemini": ["NTA", "NTA", "ESH", "NAH"], "claude": ["NAH"] * 4, "gpt": ["NAH"] * 4},
                dilemma="2",
                format="round-robin",
            ),
        ]
    )


def by(analysis: Analysis, measure: str, facet: str, within: str = "", **where: Any) -> dict[str, Estimate]:
    """The numbers of a measure by the values of a facet, within a condition."""
    start = f"{within} / " if within else ""
    rows = analysis.rows_of(measure, facet, variant="plain", **{"against": None, **where})
    return {str(row.condition).removeprefix(start): row.number for row in rows if str(row.condition).startswith(start)}


def differences(analysis: Analysis, measure: str, facet: str) -> dict[tuple[str | None, str | None, str | None], Any]:
    """The differences of a measure: by model, condition and what each is from, with its paired test."""
    tests = [cells for cells in analysis.counts["tests"] if cells["kind"] == "paired"]
    paired = {
        (cells["model"], cells["condition"], cells["against"]): cells for cells in tests if cells["measure"] == measure
    }
    rows = [row for row in analysis.rows_of(measure, facet) if row.against is not None]
    return {
        (row.model, row.condition, row.against): (row.number.value, paired[row.model, row.condition, row.against])
        for row in rows
    }
