"""What clusterings share: opinions in, clusters and counts of what went wrong out, and how the writer is asked."""

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
    """One viewpoint: its summary, and the places of its opinions in the list that was clustered, in any order."""

    summary: str
    members: tuple[int, ...]


class ClusteringFaults(msgspec.Struct):
    """What went wrong while opinions were clustered.

    asked_again  unusable replies that were retried (an unknown cluster, broken JSON, ...)
    unread       requests without a usable reply in the end
    own          opinions in a cluster of their own because no reply named a cluster that exists
    regrouped    opinions that the grouping of the bootstrap sample left out, and that were then assigned one by one
    noise        opinions that a density method left outside all clusters, each a cluster of its own
    replaced     clusters with an opinion's text in place of a summary that could not be obtained
    """

    asked_again: int = 0
    unread: int = 0
    own: int = 0
    regrouped: int = 0
    noise: int = 0
    replaced: int = 0


class Clustered(msgspec.Struct, frozen=True):
    """Every opinion in exactly one cluster; clusters in the order in which they were made."""

    clusters: tuple[Cluster, ...]
    counts: ClusteringFaults


class Clustering(Protocol):
    """A way to put opinions into clusters. There is at least one, and no two are the same."""

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; random choices and calls are the writer's.

        Raises:
            CallFailed: a call failed permanently.
        """
        ...


def plain_text(text: str) -> str:
    """A text as it is compared: ignoring letter case, spacing, and marks around it and at its end."""
    return " ".join(text.casefold().split()).strip(" .!\"'“”‘’")


S = TypeVar("S")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_ATTEMPTS = 2
"""An unusable reply is retried once."""


@dataclass(frozen=True)
class WriterRequest(Generic[T_co]):
    """A request to the writer, and how its reply's text is read."""

    messages: tuple[Message, ...]
    read: Callable[[str], Reading[T_co]]
    form: Form | None = None


@dataclass(frozen=True)
class Writer:
    """The writer while it clusters the opinions on one thread, and `counts` of what went wrong.

    ask    asks it, and an embedder
    title  the thread's
    draw   the random choices of the trial for one purpose: `Trial.draw`
    """

    ask: Ask
    title: str
    draw: Callable[[str], Draw]
    counts: ClusteringFaults = field(default_factory=ClusteringFaults)

    def request(
        self, file: str, key: str, read: Callable[[str], Reading[T]], form: Form, **values: object
    ) -> WriterRequest[T]:
        """A request about the thread in the words of a prompt file."""
        return WriterRequest(prompts.messages(file, key, title=self.title, **values), read, form)

    async def answer(self, wanted: WriterRequest[T]) -> T | None:
        """The answer to one request; see `answers`."""
        return (await self.answers([wanted]))[0]

    async def answers(self, wanted: Sequence[WriterRequest[T]]) -> list[T | None]:
        """The answers, requested side by side.

        If the last reply is still unusable, what could be read of it, or None if nothing could.

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

        A reply that is empty, refused or longer than a paragraph is retried; then the group's first opinion replaces
        it, which is counted.
        """
        found = await self.answers([WriterRequest(prompts.published("summarize", some), _read) for some in groups])
        self.counts.replaced += found.count(None)
        return [summary or group[0] for summary, group in zip(found, groups, strict=True)]

    async def summarised(self, texts: Sequence[str], groups: Sequence[Sequence[int]]) -> Clustered:
        """Groups of places as clusters, each with its summary."""
        found = await self.summaries([[texts[place] for place in group] for group in groups])
        clusters = [Cluster(summary, tuple(group)) for summary, group in zip(found, groups, strict=True)]
        return Clustered(tuple(clusters), self.counts)


@dataclass(frozen=True)
class WriterSettings:
    """An `Ask` whose writer is asked with these settings on top of its own, as the paper asks at temperature 0."""

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
"""The most characters of a summary, a viewpoint or a property."""


def parsed(text: str, kind: type[S], usable: Callable[[S], Reading[T]]) -> Reading[T]:
    """The value that is `usable` of the JSON in a reply."""
    reading = parse_json(text, kind)
    if reading.value is None:
        return Reading.invalid(f"it cannot be read ({reading.problem})")
    return usable(reading.value)


class _Number(msgspec.Struct):
    cluster: int | str


def number_form(most: int) -> Form:
    """The number of one of `most` clusters, 0 for none of them."""
    return Form(schema=object_schema(cluster={"type": "integer", "enum": list(range(most + 1))}))


def list_form(key: str, items: dict[str, Any], least: int, most: int) -> Form:
    """An object with one list of `least` to `most` members."""
    return Form(schema=object_schema(**{key: list_schema(items, least, most)}))


def read_number(text: str, most: int) -> Reading[int]:
    """The number of an existing cluster, from 1, or 0; otherwise None and why."""

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
    """Distinct, non-empty texts with white space collapsed, none longer than `LONGEST`; otherwise None and why."""
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
