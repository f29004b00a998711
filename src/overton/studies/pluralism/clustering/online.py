"""Algorithm 1: clusters that grow opinion by opinion, each known by its summary; and prompts 8 and 9 in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from overton.calls import Ask
from overton.studies.pluralism.clustering.asking import Wanted, answer
from overton.studies.pluralism.clustering.forms import number_form, read_number
from overton.studies.pluralism.clustering.grouping import group
from overton.studies.pluralism.clustering.parts import Cluster, Clustered, Counts, Drawing, Opinion
from overton.studies.pluralism.clustering.summarising import named, summaries
from overton.studies.pluralism.items import Thread
from overton.studies.pluralism.prompts import reference as prompts

__all__ = ["Online", "SingleShot"]


@dataclass
class _Growing:
    """A cluster while the algorithm runs."""

    members: list[int]
    summary: str


@dataclass(frozen=True)
class Online:
    """PluralEval, algorithm 1. `alpha` is the share of opinions that the bootstrap takes (line 2; the paper has 0.2).

    What the paper leaves open: an opinion that the grouping of the bootstrap leaves out is assigned like the others;
    a cluster of one opinion is summarised like any other; a reply that names no cluster, or one that does not exist, is
    asked for again, and then the opinion makes a cluster of its own.
    """

    alpha: float = 0.2

    async def __call__(self, thread: Thread, opinions: Sequence[Opinion], ask: Ask, draw: Drawing) -> Clustered:
        """Cluster the opinions; see `Clustering`. One call after another but for the bootstrap's summaries."""
        counts = Counts()
        texts = [opinion.text for opinion in opinions]
        clusters = await self._bootstrap(texts, ask, draw, counts)
        taken = {place for cluster in clusters for place in cluster.members}
        for place in draw("order").shuffle([place for place in range(len(texts)) if place not in taken]):
            chosen = await _choose(thread.title, texts[place], clusters, ask, counts)
            if chosen is None:
                clusters.append(chosen := _Growing([], ""))
            chosen.members.append(place)
            (chosen.summary,) = await summaries(ask, [[texts[member] for member in chosen.members]], counts)
        return Clustered(tuple(Cluster(one.summary, tuple(one.members)) for one in clusters), counts)

    async def _bootstrap(self, texts: Sequence[str], ask: Ask, draw: Drawing, counts: Counts) -> list[_Growing]:
        """Lines 2 and 3."""
        size = ceil(self.alpha * len(texts) - 1e-9)  # 0.2 * 35 is 7.000000000000001
        sample = draw("bootstrap").sample(range(len(texts)), size)
        found = await group(ask, [texts[place] for place in sample], counts)
        counts.regrouped += len(found.left_out)
        groups = [[sample[place] for place in members] for members in found.groups]
        said = await summaries(ask, [[texts[place] for place in members] for members in groups], counts)
        return [_Growing(members, summary) for members, summary in zip(groups, said, strict=True)]


async def _choose(title: str, text: str, clusters: Sequence[_Growing], ask: Ask, counts: Counts) -> _Growing | None:
    """Line 5: the cluster that the opinion belongs to, None for a new one."""
    if not clusters:
        return None
    shown = prompts.numbered(cluster.summary for cluster in clusters)
    request = prompts.messages("assign", "ask", title=title, clusters=shown, opinion=text)
    most = len(clusters)
    number = await answer(ask, Wanted(request, lambda said: read_number(said, most), number_form(most)), counts)
    counts.own += number is None
    return clusters[number - 1] if number else None


@dataclass(frozen=True)
class SingleShot:
    """Prompt 8 over all opinions at once, then prompt 9 over each group ('Cluster-Summarize Method').

    Opinions that the reply leaves out, asked for again, are clusters of their own.
    """

    async def __call__(self, thread: Thread, opinions: Sequence[Opinion], ask: Ask, draw: Drawing) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        counts = Counts()
        order = draw("order").shuffle(range(len(opinions)))
        found = await group(ask, [opinions[place].text for place in order], counts)
        counts.own += len(found.left_out)
        groups = [*found.groups, *((place,) for place in found.left_out)]
        return await named(ask, opinions, [[order[place] for place in members] for members in groups], counts)
