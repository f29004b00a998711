"""Clustering by topics that are generated, merged and assigned, similar to TopicGPT (Pham et al. 2024)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from overton.calls import Form
from overton.judging import Reading, schema_of
from overton.studies.pluralism.clustering.parts import (
    LONGEST,
    Cluster,
    Clustered,
    Writer,
    list_form,
    number_form,
    parsed,
    plain_text,
    read_number,
)
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.prompts import numbered


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
    """The writer reads at most `sample` opinions one after another to generate topics. Then it merges the topics in one
    reply, and assigns a topic to every opinion. A topic's description is the summary. Topics without opinions are
    dropped. Opinions that fit no topic become separate clusters, summarised by their own words."""

    sample: int = 50

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        topics = await _merge(await _generate(writer.draw("sample").sample(texts, self.sample), writer), writer)
        members: dict[int, list[int]] = {}
        for place, number in enumerate(await _assign(texts, topics, writer)):
            members.setdefault(number or -place - 1, []).append(place)
            writer.counts.own += not number
        clusters = [
            Cluster(topics[number - 1].description if number > 0 else texts[places[0]], tuple(places))
            for number, places in members.items()
        ]
        return Clustered(tuple(clusters), writer.counts)


async def _generate(texts: Sequence[str], writer: Writer) -> list[_Topic]:
    topics: dict[str, _Topic] = {}
    for text in texts:
        shown = "\n".join(f"- {topic.line}" for topic in topics.values())
        known = shown or prompts.PROMPTS.fill("topicgpt.no_topics")
        read = partial(_read, known=topics)
        found = await writer.answer(
            writer.request("topicgpt", "generate", read, _TOPIC_FORM, topics=known, opinion=text)
        )
        if found is not None:
            topics.setdefault(plain_text(found.label), found)
    return list(topics.values())


async def _merge(topics: list[_Topic], writer: Writer) -> list[_Topic]:
    """The topics after merging; all topics if the reply cannot be read."""
    if len(topics) < 2:
        return topics
    form, read = list_form("topics", schema_of(_Topic), 1, len(topics)), partial(_read_merged, most=len(topics))
    return await writer.answer(writer.request("topicgpt", "merge", read, form, topics=_numbered(topics))) or topics


async def _assign(texts: Sequence[str], topics: Sequence[_Topic], writer: Writer) -> list[int | None]:
    """The number of each opinion's topic, from 1; 0 or None for an opinion without a topic."""
    if not topics:
        return [None] * len(texts)
    shown, form, read = _numbered(topics), number_form(len(topics)), partial(read_number, most=len(topics))
    return await writer.answers(
        [writer.request("topicgpt", "assign", read, form, topics=shown, opinion=text) for text in texts]
    )


def _read(text: str, known: Mapping[str, _Topic]) -> Reading[_Topic]:

    def usable(topic: _Topic) -> Reading[_Topic]:
        there = known.get(plain_text(topic.label))
        return Reading(there, "as is") if there else _usable(topic)

    return parsed(text, _Topic, usable)


def _read_merged(text: str, most: int) -> Reading[list[_Topic]]:

    def listed(merged: _Merged) -> Reading[list[_Topic]]:
        usable = {plain_text(topic.label): topic for topic in merged.topics if _usable(topic).value}
        if not usable or len(usable) > most:
            return Reading.invalid(f"it must list 1 to {most} topics, each with a label and a description")
        return Reading(list(usable.values()), "as is")

    return parsed(text, _Merged, listed)


def _usable(topic: _Topic) -> Reading[_Topic]:
    if not topic.label.strip() or not topic.description.strip():
        return Reading.invalid("label and description must say something")
    if len(topic.line) > LONGEST:
        return Reading.invalid("the topic is described at too great a length")
    return Reading(_Topic(" ".join(topic.label.split()), " ".join(topic.description.split())), "as is")


def _numbered(topics: Sequence[_Topic]) -> str:
    return numbered(topic.line for topic in topics)
