"""Conversations with scripted or simulated answerers, without an engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from overton.calls import Form, Hit, Hits, Message, Page, Question, Reply, Request, Settings, Usage
from overton.errors import CallFailed
from overton.studies.stance_stability import Options, ProbingQuestion, Topic
from overton.studies.stance_stability.protocol import TopicTrial, trials

LABELS = {
    "rationale": "It says so.",
    "stance": "supportive",
    "key_claims": ["Buses help."],
    "contradictions_acknowledged": True,
    "certainty": "likely",
}


@dataclass
class Asked:
    """One thing that was asked."""

    role: str
    speaker: str | None
    messages: tuple[Message, ...]
    form: Form | None
    settings: Settings | None
    shared: bool

    @property
    def text(self) -> str:
        return self.messages[-1].content


Line = str | Reply | Exception
Script = Sequence[Line] | Callable[[Asked], Any]


@dataclass
class Stage:
    """An `Ask` that plays a script by role: lines in their order, the last again and again, or a function of the ask.

    A line is a reply's text, a reply, or an error to raise. Everything asked is kept in `asked`.
    """

    script: Mapping[str, Script]
    asked: list[Asked] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

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
        one = Asked(role, speaker, tuple(messages), form, settings, shared)
        number = self.counts[speaker or role]
        self.counts[speaker or role] += 1
        self.asked.append(one)
        await asyncio.sleep(0)
        script = self.script.get(speaker or role) or self.script[role]
        line = script(one) if callable(script) else script[min(number, len(script) - 1)]
        if asyncio.iscoroutine(line):
            line = await line
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else Reply(line, usage=Usage(10, 2))

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        raise AssertionError("every strand asks for itself")

    def by(self, who: str) -> list[Asked]:
        return [one for one in self.asked if (one.speaker or one.role) == who]


def hits(*urls: str) -> str:
    return msgspec.json.encode(Hits(tuple(Hit(url, f"Hit {url}") for url in urls))).decode()


def page(url: str, text: str = "It was tried, and it helped some.", **more: str) -> str:
    return msgspec.json.encode(Page(url, text=text, **more)).decode()


def labels(**changed: Any) -> str:
    return msgspec.json.encode({**LABELS, **changed}).decode()


def simulated(answerers: Mapping[str, Any], first_seed: int = 0) -> Stage:
    """A stage of answerers or scripts by role; each call has a seed of its own, in the order of asking."""
    stage = Stage({})

    def play(role: str) -> Callable[[Asked], Any]:
        def answer(one: Asked) -> Any:
            seed = first_seed + len(stage.asked)
            return answerers[role].answer(Request(one.messages, one.settings or Settings(), one.form, seed))

        return answer

    stage.script = {
        role: play(role) if hasattr(answerer, "answer") else answerer for role, answerer in answerers.items()
    }
    return stage


@dataclass(frozen=True)
class Kit:
    """What tests of this study are made with."""

    stage: type[Stage] = Stage
    hits: Callable[..., str] = hits
    page: Callable[..., str] = page
    labels: Callable[..., str] = labels
    simulated: Callable[..., Stage] = simulated

    def script(self, **changed: Script) -> dict[str, Script]:
        """A conversation that goes well: two pages, an answer that cites both, a judge that can be read."""
        return {
            "subject": lambda one: "buses evidence" if len(one.messages) == 1 else "It helps [1], some say not [2].",
            "search": [hits("https://a.example/1", "https://b.example/2")],
            "pages": lambda one: page(one.text),
            "judge": [labels()],
            **changed,
        }


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()


KINDS = ("clarification", "support", "counter-evidence", "clarification", "methodology", "implication")


@pytest.fixture(scope="session")
def topic() -> Callable[..., Topic]:
    """A topic with so many questions, their kinds in a fixed round."""

    def make(name: str = "buses", questions: int = 6) -> Topic:
        return Topic(
            id=name,
            domain="Transport",
            topic="Free buses",
            proposition="Buses should be free.",
            initial_belief="balanced",
            debate_strength="moderate",
            questions=tuple(
                ProbingQuestion(f"What about matter {number} of {name}?", KINDS[(number - 1) % len(KINDS)])  # type: ignore[arg-type]
                for number in range(1, questions + 1)
            ),
        )

    return make


@pytest.fixture
def trial(topic: Callable[..., Topic]) -> Callable[..., TopicTrial]:
    """The first conversation on a topic with so many questions, with these options."""

    def make(questions: int = 3, seed: int = 5, **options: Any) -> TopicTrial:
        return next(trials([topic(questions=questions)], Options(**options), seed))

    return make


@pytest.fixture
def failed() -> CallFailed:
    return CallFailed("rate limit", "too many requests")
