"""Two clustering methods. Algorithm 1 adds opinions one by one to clusters that it knows by their summaries. The other
method uses prompts 8 and 9 in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil

import msgspec

from overton.calls import Form
from overton.judging import Reading, list_schema
from overton.studies.pluralism.clustering.parts import (
    Cluster,
    Clustered,
    Writer,
    WriterRequest,
    number_form,
    parsed,
    plain_text,
    read_number,
)
from overton.studies.pluralism.prompts import reference as prompts
from overton.studies.prompts import numbered


@dataclass
class _Growing:
    """A cluster while the algorithm runs."""

    members: list[int]
    summary: str


@dataclass(frozen=True)
class Online:
    """PluralEval's algorithm 1. `alpha` is the proportion of opinions in the bootstrap (line 2; 0.2 in the paper).

    The paper leaves some cases open, which Overton decides as follows. Opinions that the bootstrap's grouping leaves
    out are assigned one by one like later opinions. A cluster of one opinion is summarised like any other. If a reply
    names no existing cluster, Overton retries. If the retry fails, the opinion becomes a separate cluster.
    """

    alpha: float = 0.2

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; see `Clustering`. Calls are made one after another, except for the bootstrap's
        summaries."""
        clusters = await self._bootstrap(texts, writer)
        taken = {place for cluster in clusters for place in cluster.members}
        for place in writer.draw("order").shuffle([place for place in range(len(texts)) if place not in taken]):
            chosen = await _choose(texts[place], clusters, writer)
            if chosen is None:
                clusters.append(chosen := _Growing([], ""))
            chosen.members.append(place)
            (chosen.summary,) = await writer.summaries([[texts[member] for member in chosen.members]])
        made = tuple(Cluster(cluster.summary, tuple(cluster.members)) for cluster in clusters)
        return Clustered(made, writer.counts)

    async def _bootstrap(self, texts: Sequence[str], writer: Writer) -> list[_Growing]:
        """Lines 2 and 3 of the algorithm."""
        size = ceil(self.alpha * len(texts) - 1e-9)  # 0.2 * 35 is 7.000000000000001
        sample = writer.draw("bootstrap").sample(range(len(texts)), size)
        found = await _group([texts[place] for place in sample], writer)
        writer.counts.regrouped += len(found.left_out)
        groups = [[sample[place] for place in members] for members in found.groups]
        said = await writer.summaries([[texts[place] for place in members] for members in groups])
        return [_Growing(members, summary) for members, summary in zip(groups, said, strict=True)]


async def _choose(text: str, clusters: Sequence[_Growing], writer: Writer) -> _Growing | None:
    """The cluster that the opinion belongs to, None if it needs a new cluster (line 5)."""
    if not clusters:
        return None
    shown, most = numbered(cluster.summary for cluster in clusters), len(clusters)
    read, form = partial(read_number, most=most), number_form(most)
    number = await writer.answer(writer.request("assign", "ask", read, form, clusters=shown, opinion=text))
    writer.counts.own += number is None
    return clusters[number - 1] if number else None


@dataclass(frozen=True)
class SingleShot:
    """Prompt 8 for all opinions at once, then prompt 9 for each group ('Cluster-Summarize Method').

    Opinions that even the retried reply leaves out become separate clusters.
    """

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        order = writer.draw("order").shuffle(range(len(texts)))
        found = await _group([texts[place] for place in order], writer)
        writer.counts.own += len(found.left_out)
        groups = [*found.groups, *((place,) for place in found.left_out)]
        return await writer.summarised(texts, [[order[place] for place in members] for members in groups])


_MOST_NAMED = 5


class Grouping(msgspec.Struct, frozen=True):
    """Groups of texts, as indices in the list of texts, and the indices of the texts that are in no group."""

    groups: tuple[tuple[int, ...], ...]
    left_out: tuple[int, ...]


async def _group(texts: Sequence[str], writer: Writer) -> Grouping:
    """Group `texts` by prompt 8.

    The reply repeats the texts. Overton recognises a text whatever its letter case, spacing and closing marks. A reply
    is retried if it leaves out a text, repeats a text, or contains unknown texts. In the last reply, a text that occurs
    twice belongs to the first of its groups, and unknown texts are ignored.
    """
    places = {plain_text(text): place for place, text in enumerate(texts)}
    usable = partial(_grouped, texts=texts, places=places)
    group = list_schema({"type": "string", "enum": list(texts)}, 1, len(texts))
    wanted = WriterRequest(
        prompts.published("cluster", texts),
        lambda text: parsed(text, list[list[str]], usable),
        Form(schema=list_schema(group, 1, len(texts))),
    )
    return await writer.answer(wanted) or Grouping((), tuple(range(len(texts))))


def _grouped(listed: Sequence[Sequence[str]], texts: Sequence[str], places: dict[str, int]) -> Reading[Grouping]:
    taken: set[int] = set()
    groups, twice, strange = [], 0, 0
    for said in listed:
        known = [place for member in said if (place := places.get(plain_text(member))) is not None]
        new = [place for place in dict.fromkeys(known) if place not in taken]
        strange += len(said) - len(known)
        twice += len(known) - len(new)
        taken.update(new)
        if new:
            groups.append(tuple(new))
    left_out = tuple(place for place in range(len(texts)) if place not in taken)
    if not groups:
        return Reading.invalid("it holds none of the snippets")
    problem = _problem([texts[place] for place in left_out], twice, strange)
    return Reading(Grouping(tuple(groups), left_out), "as is", problem)


def _problem(missing: Sequence[str], twice: int, strange: int) -> str:
    found = []
    if missing:
        named = "; ".join(text[:80] for text in missing[:_MOST_NAMED])
        found.append(f"{len(missing)} of the snippets are missing ({named})")
    if twice:
        found.append(f"{twice} of the snippets stand more than once")
    if strange:
        found.append(f"{strange} texts are none of the snippets; repeat them word for word")
    return ", ".join(found)
