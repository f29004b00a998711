"""A writer who knows which opinions are paraphrases: those that contain the same '#word'."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from overton.calls import Draw, Form, Message, Question, Reply, Settings
from overton.studies.pluralism.clustering.parts import Writer
from overton.studies.pluralism.items import Thread, ThreadComment


@dataclass
class Asked:
    role: str
    messages: tuple[Message, ...]
    form: Form | None
    settings: Settings | None
    shared: bool

    @property
    def text(self) -> str:
        return self.messages[-1].content

    @property
    def step(self) -> str:
        """Which prompt this is."""
        if self.role == "embedder":
            return "embed"
        first, request = self.messages[0].content, self.messages[1].content
        if first.startswith("Cluster"):
            return "group"
        if first.startswith("Summarize"):
            return "summarize"
        told = {
            "atomic opinion units": "decompose",
            "viewpoints found so far": "choose",
            "Propose up to": "propose",
            "Which of them": "support",
            "topics found so far": "generate",
            "Merge those": "merge",
            "These are the topics in": "topic",
            "properties": "properties",
        }
        return next(step for words, step in told.items() if words in request)


def part(text: str, tag: str) -> str:
    """The text between a tag's opening and closing."""
    return text.split(f"<{tag}>\n", 1)[1].split(f"\n</{tag}>", 1)[0]


def word(text: str) -> str:
    return re.findall(r"#\w+", text)[0]


def words(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"#\w+", text)))


def number_of(text: str, tag: str, opinion: str) -> int:
    lines = part(text, tag).splitlines()
    return next((number for number, line in enumerate(lines, 1) if word(opinion) in line), 0)


def good(asked: Asked) -> str:
    """The reply of a writer who does everything right."""
    request = asked.messages[1].content if asked.role == "writer" else asked.text
    match asked.step:
        case "decompose":
            said = part(request, "comment")
            return json.dumps({"opinions": [one.strip() for one in said.split(".") if "#" in one]})
        case "group":
            texts = json.loads(request)
            return json.dumps([[one for one in texts if word(one) == key] for key in words(request)])
        case "summarize":
            return f"They say {word(request)} ({len(json.loads(request))})."
        case "choose":
            return json.dumps({"cluster": number_of(request, "viewpoints", part(request, "opinion"))})
        case "propose":
            return json.dumps({"viewpoints": [f"View {one}" for one in words(part(request, "opinions"))]})
        case "support":
            number = number_of(request, "viewpoints", part(request, "opinion"))
            return json.dumps({"supports": [number] if number else []})
        case "generate":
            key = word(part(request, "opinion"))
            return json.dumps({"label": f"Label {key}", "description": f"Says {key}"})
        case "merge":
            lines = [line.split(". ", 1)[1].split(": ") for line in part(request, "topics").splitlines()]
            return json.dumps({"topics": [{"label": label, "description": about} for label, about in lines]})
        case "topic":
            return json.dumps({"cluster": number_of(request, "topics", part(request, "opinion"))})
        case "properties":
            return json.dumps({"properties": [f"Holds {word(part(request, 'opinion'))}"]})
        case "embed":
            return json.dumps([vector(one) for one in json.loads(request)])
    raise AssertionError(asked.step)


def vector(text: str) -> list[float]:
    """Paraphrases lie close together, others at right angles; not quite the same for two texts."""
    places = {"#a": 0, "#b": 1, "#c": 2, "#d": 3}
    made = [0.001 * (len(text) % 7)] * 6
    made[places.get(word(text), 4)] = 1.0
    return made


Script = Callable[[Asked], Any]


@dataclass
class Stage:
    """An `Ask`; `script` has a function or a list of replies by step, `good` answers the rest."""

    script: Mapping[str, Script | Sequence[Any]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

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
        one = Asked(role, tuple(messages), form, settings, shared)
        number = len(self.by(one.step))
        self.asked.append(one)
        await asyncio.sleep(0)
        script = self.script.get(one.step, good)
        line = script(one) if callable(script) else script[min(number, len(script) - 1)]
        if line is good:
            line = good(one)
        if isinstance(line, Exception):
            raise line
        return line if isinstance(line, Reply) else Reply(line)

    async def all(self, questions: Sequence[Question]) -> list[Reply]:
        return [
            await self(q.role, q.messages, speaker=q.speaker, form=q.form, settings=q.settings, shared=q.shared)
            for q in questions
        ]

    def by(self, step: str) -> list[Asked]:
        return [one for one in self.asked if one.step == step]

    @property
    def steps(self) -> list[str]:
        return [one.step for one in self.asked]


@dataclass(frozen=True)
class Kit:
    stage: type[Stage] = Stage
    good: Script = field(default=good)

    def draw(self, purpose: str) -> Draw:
        return Draw(f"5/t1/{purpose}")

    def thread(self, *comments: str, votes: Sequence[int] = (), name: str = "t1") -> Thread:
        counts = [*votes, *range(len(votes) + 1, len(comments) + 1)]
        said = tuple(ThreadComment(f"c{k}", text, counts[k - 1]) for k, text in enumerate(comments, 1))
        return Thread(name, "AskEconomics", "Free buses?", "Should {{ comment }} they be?", said)

    async def cluster(self, clustering: Any, stage: Stage, *texts: str) -> Any:
        return await clustering(texts, Writer(stage, self.thread("#a").title, self.draw))

    def groups(self, clustered: Any) -> list[list[int]]:
        """The groups of opinions: sorted places."""
        return sorted(sorted(cluster.members) for cluster in clustered.clusters)


@pytest.fixture(scope="session")
def kit() -> Kit:
    return Kit()
