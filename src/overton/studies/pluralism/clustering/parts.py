"""Parts that all clustering methods share: opinions as input, clusters and counts of problems as output, and requests
to the writer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from overton.calls import Ask, Draw, Form, Message, Question, Reply, Settings
from overton.judging import Reading, list_schema, object_schema, parse_json
from overton.studies import asking
from overton.studies.pluralism.prompts import reference as prompts


class Opinion(msgspec.Struct, frozen=True):
    """An atomic opinion, and the ids of the comments that state it in these words (an opinion unit of eq. 1)."""

    text: str
    comments: tuple[str, ...]


class Cluster(msgspec.Struct, frozen=True):
    """One viewpoint: its summary, and the indices of its opinions in the input list, in any order."""

    summary: str
    members: tuple[int, ...]


class ClusteringFaults(msgspec.Struct):
    """Counts of problems while clustering opinions.

    asked_again  unusable replies that were retried (an unknown cluster, broken JSON, ...)
    unread       requests without a usable reply after all retries
    own          opinions in a separate cluster because no reply named an existing cluster
    regrouped    opinions that the bootstrap's grouping left out, so that they were assigned one by one
    noise        opinions that a density method left outside all clusters; each becomes a separate cluster
    replaced     clusters with an opinion's text as their summary, because the writer gave no usable summary
    """

    asked_again: int = 0
    unread: int = 0
    own: int = 0
    regrouped: int = 0
    noise: int = 0
    replaced: int = 0


class Clustered(msgspec.Struct, frozen=True):
    """The result of a clustering method: clusters in the order in which they were made, with every opinion in exactly
    one cluster."""

    clusters: tuple[Cluster, ...]
    counts: ClusteringFaults


class Clustering(Protocol):
    """A method for clustering opinions. Its input has at least one opinion, and no two are the same."""

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions. Random choices and calls are made through `writer`.

        Raises:
            CallFailed: a call failed permanently.
        """
        ...


def plain_text(text: str) -> str:
    """A text for comparison: in lower case, without extra spaces, and without quotation marks, full stops and
    exclamation marks at both ends."""
    return " ".join(text.casefold().split()).strip(" .!\"'“”‘’")


S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_ATTEMPTS = 2
"""An unusable reply is retried once."""


@dataclass(frozen=True)
class WriterRequest(Generic[T_co]):
    """A request to the writer, and the function that reads the reply's text."""

    messages: tuple[Message, ...]
    read: Callable[[str], Reading[T_co]]
    form: Form | None = None


@dataclass(frozen=True)
class Writer:
    """The writer for clustering the opinions on one thread, with `counts` of problems.

    ask    asks the writer or an embedder
    title  the thread's title
    draw   the trial's random choices for one purpose: `Trial.draw`
    """

    ask: Ask
    title: str
    draw: Callable[[str], Draw]
    counts: ClusteringFaults = field(default_factory=ClusteringFaults)

    def request(
        self, file: str, key: str, read: Callable[[str], Reading[T]], form: Form, **values: object
    ) -> WriterRequest[T]:
        """A request about the thread, with the words of a prompt file."""
        return WriterRequest(prompts.messages(file, key, title=self.title, **values), read, form)

    async def answer(self, wanted: WriterRequest[T]) -> T | None:
        """The answer to one request; see `answers`."""
        return (await self.answers([wanted]))[0]

    async def answers(self, wanted: Sequence[WriterRequest[T]]) -> list[T | None]:
        """The values read from the writer's replies to several requests. The requests are made in parallel.

        If the last reply to a request is still unusable, the value is the part that could be read, or None.

        Raises:
            CallFailed: a call failed permanently.
        """
        requests = [
            asking.ReadableRequest("writer", request.messages, asking.unless_refused(request.read), request.form)
            for request in wanted
        ]
        answered = await asking.ask_all_until_read(
            self.ask, requests, attempts=_ATTEMPTS, complaint=prompts.complaint, all_or_none=True
        )
        for reply in answered:
            if reply.failure:
                raise reply.failure
            self.counts.asked_again += reply.attempts - 1
            self.counts.unread += reply.value is None
        return [reply.value for reply in answered]

    async def summaries(self, groups: Sequence[Sequence[str]]) -> list[str]:
        """One sentence per group of opinions, requested side by side.

        A reply that is empty, refused or longer than a paragraph is retried. If the retry fails too, the group's first
        opinion replaces the summary, and this is counted.
        """
        found = await self.answers([WriterRequest(prompts.published("summarize", some), _read) for some in groups])
        self.counts.replaced += found.count(None)
        return [summary or group[0] for summary, group in zip(found, groups, strict=True)]

    async def summarised(self, texts: Sequence[str], groups: Sequence[Sequence[int]]) -> Clustered:
        """Groups of indices as clusters, each with its summary."""
        found = await self.summaries([[texts[place] for place in group] for group in groups])
        clusters = [Cluster(summary, tuple(group)) for summary, group in zip(found, groups, strict=True)]
        return Clustered(tuple(clusters), self.counts)


@dataclass(frozen=True)
class WriterSettings:
    """An `Ask` that adds settings, such as the paper's temperature 0, to the writer's own settings."""

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


LONGEST = 1_000
"""The maximum length of a summary, a viewpoint or a property, in characters."""


def parsed(text: str, kind: type[S], usable: Callable[[S], Reading[T]]) -> Reading[T]:
    """The value that `usable` reads from the JSON of a reply."""
    reading = parse_json(text, kind)
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    return usable(reading.value)


class _Number(msgspec.Struct):
    cluster: int | str


def number_form(most: int) -> Form:
    """A reply format for a cluster's number, from 1 to `most`, or 0 for no cluster."""
    return Form(schema=object_schema(cluster={"type": "integer", "enum": list(range(most + 1))}))


def list_form(key: str, items: dict[str, Any], least: int, most: int) -> Form:
    """A reply format for an object with one list of `least` to `most` members."""
    return Form(schema=object_schema(**{key: list_schema(items, least, most)}))


def read_number(text: str, most: int) -> Reading[int]:
    """Read the number of an existing cluster (counted from 1), or 0 for no cluster. For any other reply, return None
    and the reason."""

    def usable(named: _Number) -> Reading[int]:
        said = str(named.cluster).strip()
        if not (said.isascii() and said.isdigit()):
            return Reading.invalid(f"{said[:40]!r} is not a number")
        number = int(said[:20])
        if number > most:
            return Reading.invalid(f"there is no number {said[:20]}; there are 1 to {most}, and 0")
        return Reading(number, "as is")

    return parsed(text, _Number, usable)


def read_texts(values: Sequence[str], what: str, most: int) -> Reading[list[str]]:
    """Read at most `most` distinct, non-empty texts, with white space collapsed. If there is no such text, or one is
    longer than `LONGEST`, return None and the reason."""
    found = list(dict.fromkeys(" ".join(value.split()) for value in values if value.strip()))
    if not found:
        return Reading.invalid(f"it names no {what}")
    if any(len(line) > LONGEST for line in found):
        return Reading.invalid(f"one {what} is longer than {LONGEST} characters")
    return Reading(found[:most], "as is")


def _read(text: str) -> Reading[str]:
    said = " ".join(text.split())
    if len(said) > 1 and said[0] in "\"'“" and said[-1] in "\"'”":
        said = said[1:-1].strip()
    if not said:
        return Reading.invalid("it is empty")
    return Reading(said, "as is") if len(said) <= LONGEST else Reading.invalid("it is longer than one concise sentence")
