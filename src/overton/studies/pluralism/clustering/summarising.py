"""A cluster's summary: the published prompt 9 over all its members."""

from __future__ import annotations

from collections.abc import Sequence

from overton.calls import Ask
from overton.judging import Reading
from overton.studies.pluralism.clustering.asking import Wanted, answers
from overton.studies.pluralism.clustering.forms import LONGEST
from overton.studies.pluralism.clustering.parts import Cluster, Clustered, Counts, Opinion
from overton.studies.pluralism.prompts import reference as prompts

__all__ = ["named", "summaries"]


async def summaries(ask: Ask, groups: Sequence[Sequence[str]], counts: Counts) -> list[str]:
    """One sentence a group of opinions, asked for side by side.

    A reply that is empty, refused or longer than a paragraph is asked for again; then the group's first opinion stands
    in its place, and is counted.
    """
    wanted = [Wanted(prompts.published("summarize", group), _read) for group in groups]
    found = await answers(ask, wanted, counts)
    counts.replaced += found.count(None)
    return [summary or group[0] for summary, group in zip(found, groups, strict=True)]


async def named(ask: Ask, opinions: Sequence[Opinion], groups: Sequence[Sequence[int]], counts: Counts) -> Clustered:
    """Groups of places as clusters, each with its summary."""
    found = await summaries(ask, [[opinions[place].text for place in group] for group in groups], counts)
    return Clustered(
        tuple(Cluster(summary, tuple(group)) for summary, group in zip(found, groups, strict=True)), counts
    )


def _read(text: str) -> Reading[str]:
    said = " ".join(text.split())
    if len(said) > 1 and said[0] in "\"'“" and said[-1] in "\"'”":
        said = said[1:-1].strip()
    if not said:
        return Reading.invalid("it is empty")
    return Reading(said, "as is") if len(said) <= LONGEST else Reading.invalid("it is longer than one concise sentence")
