"""Topics generated, merged and assigned: in the manner of TopicGPT (Pham et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from overton.calls import Ask, Form
from overton.judging import Reading, parse_json, schema_of
from overton.studies.pluralism.clustering.parts import (
    LONGEST,
    Cluster,
    Clustered,
    ClusteringFaults,
    Drawing,
    Opinion,
    WriterRequest,
    answer,
    answers,
    list_form,
    number_form,
    plain_text,
    read_number,
)
from overton.studies.pluralism.items import Thread
from overton.studies.pluralism.prompts import reference as prompts


class _Topic(msgspec.Struct, frozen=True):
    label: str
    description: str

    @property
    def line(self) -> str:
        return " ".join(f"{self.label}: {self.description}".split())


class _Merged(msgspec.Struct):
    topics: list[_Topic]


_TOPIC_FORM = Form(schema=schema_of(_Topic))


@dataclass(frozen=True)
class TopicGPT:
    """Topics are generated one opinion after another from at most `sample` of them, merged in one reply, and assigned
    to every opinion. A topic's description is the summary; topics without opinions are dropped, and opinions that fit
    no topic are clusters of their own, summarised by their own words.
    """

    sample: int = 50

    async def __call__(self, thread: Thread, opinions: Sequence[Opinion], ask: Ask, draw: Drawing) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        counts = ClusteringFaults()
        texts = [opinion.text for opinion in opinions]
        topics = await self._generate(thread.title, draw("sample").sample(texts, self.sample), ask, counts)
        topics = await _merge(thread.title, topics, ask, counts)
        numbers = await _assign(thread.title, texts, topics, ask, counts)
        members: dict[int, list[int]] = {}
        for place, number in enumerate(numbers):
            members.setdefault(number or -place - 1, []).append(place)
            counts.own += not number
        clusters = [
            Cluster(topics[number - 1].description if number > 0 else texts[places[0]], tuple(places))
            for number, places in members.items()
        ]
        return Clustered(tuple(clusters), counts)

    async def _generate(self, title: str, texts: Sequence[str], ask: Ask, counts: ClusteringFaults) -> list[_Topic]:
        topics: dict[str, _Topic] = {}
        for text in texts:
            shown = _topic_lines(topics.values()) or prompts.PROMPTS.fill("topicgpt.no_topics")
            request = prompts.messages("topicgpt", "generate", title=title, topics=shown, opinion=text)
            found = await answer(ask, WriterRequest(request, partial(_read, known=topics), _TOPIC_FORM), counts)
            if found is not None:
                topics.setdefault(plain_text(found.label), found)
        return list(topics.values())


async def _merge(title: str, topics: list[_Topic], ask: Ask, counts: ClusteringFaults) -> list[_Topic]:
    """The topics that remain; all of them if the reply cannot be read."""
    if len(topics) < 2:
        return topics
    form = list_form("topics", schema_of(_Topic), 1, len(topics))
    request = prompts.messages("topicgpt", "merge", title=title, topics=_numbered(topics))
    return (
        await answer(ask, WriterRequest(request, lambda said: _read_merged(said, len(topics)), form), counts) or topics
    )


async def _assign(
    title: str, texts: Sequence[str], topics: Sequence[_Topic], ask: Ask, counts: ClusteringFaults
) -> list[int | None]:
    """The number of each opinion's topic from 1; 0 or None if it has none."""
    if not topics:
        return [None] * len(texts)
    shown, most = _numbered(topics), len(topics)
    requests = [prompts.messages("topicgpt", "assign", title=title, topics=shown, opinion=text) for text in texts]
    wanted = [WriterRequest(request, lambda said: read_number(said, most), number_form(most)) for request in requests]
    return await answers(ask, wanted, counts)


def _read(text: str, known: Mapping[str, _Topic]) -> Reading[_Topic]:
    reading = parse_json(text, _Topic)
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    there = known.get(plain_text(reading.value.label))
    return Reading(there, "as is") if there else _usable(reading.value)


def _read_merged(text: str, most: int) -> Reading[list[_Topic]]:
    reading = parse_json(text, _Merged)
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    usable = {plain_text(topic.label): topic for topic in reading.value.topics if _usable(topic).value}
    if not usable or len(usable) > most:
        return Reading.invalid(f"it must list 1 to {most} topics, each with a label and a description")
    return Reading(list(usable.values()), "as is")


def _usable(topic: _Topic) -> Reading[_Topic]:
    if not topic.label.strip() or not topic.description.strip():
        return Reading.invalid("label and description must say something")
    if len(topic.line) > LONGEST:
        return Reading.invalid("the topic is described at too great a length")
    return Reading(_Topic(" ".join(topic.label.split()), " ".join(topic.description.split())), "as is")


def _topic_lines(topics: Iterable[_Topic]) -> str:
    return "\n".join(f"- {topic.line}" for topic in topics)


def _numbered(topics: Sequence[_Topic]) -> str:
    return prompts.numbered(topic.line for topic in topics)
