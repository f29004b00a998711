"""Conversations with scripted or simulated answerers, without an engine."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest

from overton.calls import Draw, Form, Hit, Hits, Message, Page, Question, Reply, Request, Settings, Usage
from overton.errors import CallFailed
from overton.studies.frame import Analysis
from overton.studies.stance_stability import Options, ProbingQuestion, Topic
from overton.studies.stance_stability.items import KINDS
from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.protocol import TopicTrial, trials
from overton.studies.stance_stability.record import STANCES

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
    """Builders for tests of this study."""

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


ROUND = ("clarification", "support", "counter-evidence", "clarification", "methodology", "implication")


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
                ProbingQuestion(f"What about matter {number} of {name}?", ROUND[(number - 1) % len(ROUND)])  # type: ignore[arg-type]
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


LETTERS = {"s": "supportive", "c": "critical", "b": "balanced", "u": "unclear", "-": None}


@pytest.fixture
def talk() -> Callable[..., pl.DataFrame]:
    """Turns of one conversation from its stances in letters ('ssc' is supportive, supportive, critical; u is unclear,
    '-' has no label); documents of a turn are words in a text."""

    def make(
        stances: str,
        *,
        confidence: Sequence[float | None] | float | None = 1.0,
        cited: Sequence[str | None] | None = None,
        retrieved: Sequence[str | None] | None = None,
        premise: str | None = None,
        name: str = "t",
        **about: Any,
    ) -> pl.DataFrame:
        several = confidence if isinstance(confidence, Sequence) else [confidence] * len(stances)
        columns: dict[str, Any] = {
            "conversation": [name] * len(stances),
            "turn": list(range(1, len(stances) + 1)),
            "stance": [LETTERS[letter] for letter in stances],
            "confidence": several,
        }
        for key, documents in (("cited", cited), ("retrieved", retrieved)):
            if documents is not None:
                columns[key] = [None if one is None else one.split() for one in documents]
        if premise is not None:
            columns["premise_stance"] = [LETTERS[letter] for letter in premise]
        kinds = {
            "stance": pl.String,
            "premise_stance": pl.String,
            "confidence": pl.Float64,
            "cited": pl.List(pl.String),
            "retrieved": pl.List(pl.String),
        }
        columns |= {key: [value] * len(stances) for key, value in about.items()}
        return pl.DataFrame(columns, schema_overrides={key: kind for key, kind in kinds.items() if key in columns})

    return make


@pytest.fixture
def measured() -> Callable[..., dict[str, Any]]:
    """The measures of the only conversation of a table, by name."""

    def measure(turns: pl.DataFrame, **how: Any) -> dict[str, Any]:
        (row,) = analyze(turns, resamples=10, **how).listed["conversations"].to_dicts()
        return row

    return measure


HOSTILE = "x'];</script><img src=x onerror=alert(1)>"
MODELS = {"gemini": 0.2, f"gpt {HOSTILE}": 0.7}


def turn(model: str, topic: int, temperature: float, number: int, last: str) -> dict[str, Any]:
    """A turn: models change their stance, and use the same pages, with different strength."""
    chance = Draw(f"{model}/{topic}/{temperature}/{number}")
    bold = chance.uniform() < MODELS[model]
    pages = [f"https://site.example/{number * 10 + k if not bold else k}" for k in range(3)]
    return {
        "model": model,
        "conversation": f"t{topic}/{temperature}",
        "topic": f"t{topic}",
        "domain": f"domain {HOSTILE} {topic % 2}",
        "temperature": temperature,
        "ordering": ("fixed", "shuffled")[topic % 2],
        "turn": number,
        "number": number,
        "kind": KINDS[number % len(KINDS)],
        "question": f"What of {HOSTILE}?",
        "query": "query",
        "retrieved": pages,
        "cited": pages[:2],
        "miscited": 0,
        "stance": chance.sample(STANCES, 1)[0] if bold else last,
        "confidence": (1.0, 0.67, 0.33)[chance.words(3)[2] % 3],
        "claims": ["claim"],
        "rationale": "A reason.",
        "premise_stance": chance.shuffle(STANCES)[0],
        "judge_attempts": 1,
        "failure": None,
        "answer": f"An answer {HOSTILE} [1].",
    }


@pytest.fixture(scope="session")
def records() -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for model in MODELS:
        for topic in range(8):
            for temperature in (0.0, 1.0):
                last = "balanced"
                for number in range(1, 6):
                    rows.append(turn(model, topic, temperature, number, last))
                    last = rows[-1]["stance"]
    return pl.DataFrame(rows, schema_overrides={"failure": pl.String})


@pytest.fixture(scope="session")
def analysis(records: pl.DataFrame) -> Analysis:
    return analyze(records, resamples=50)


@pytest.fixture(scope="session")
def least() -> Analysis:
    """A table with nothing but what it must have."""
    rows = [(f"c{k}", turn, "supportive") for k in range(3) for turn in (1, 2)]
    return analyze(pl.DataFrame(rows, schema=["conversation", "turn", "stance"], orient="row"), resamples=20)


@pytest.fixture(scope="session")
def hostile() -> str:
    return HOSTILE


@pytest.fixture(scope="session")
def many() -> pl.DataFrame:
    """60 topics of six turns at two temperatures with two models, of which 'b' changes more and re-uses more."""
    rng = np.random.default_rng(3)
    labels = np.array(["supportive", "critical", "balanced", "unclear"])
    rows: list[dict[str, Any]] = []
    for model, bold in (("a", 0.2), ("b", 0.7)):
        for temperature in (0.0, 1.0):
            for topic in range(60):
                stance = "balanced"
                for turn in range(1, 7):
                    stance = str(rng.choice(labels)) if rng.random() < bold else stance
                    pages = [f"https://s{rng.integers(3 if rng.random() < bold else 60)}.org/{k}" for k in range(2)]
                    rows.append(
                        {
                            "conversation": f"t{topic}/{temperature}",
                            "turn": turn,
                            "stance": stance,
                            "model": model,
                            "temperature": temperature,
                            "domain": f"d{topic % 3}",
                            "topic": f"t{topic}",
                            "confidence": float(rng.choice([0.33, 0.67, 1.0])),
                            "cited": pages,
                        }
                    )
    return pl.DataFrame(rows)


@pytest.fixture(scope="session")
def of_many(many: pl.DataFrame) -> Analysis:
    return analyze(many, resamples=400)
