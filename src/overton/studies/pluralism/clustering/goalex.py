"""Propose, assign, select: in the manner of GoalEx (Wang, Shang and Zhong 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from overton.judging import Reading
from overton.studies.pluralism.clustering.parts import (
    Cluster,
    Clustered,
    Writer,
    list_form,
    parsed,
    read_texts,
)
from overton.studies.prompts import numbered

if TYPE_CHECKING:
    from scipy.optimize import LinearConstraint


class _Proposed(msgspec.Struct):
    viewpoints: list[str]


class _Supported(msgspec.Struct):
    supports: list[int]


@dataclass
class _Candidates:
    """Viewpoints proposed so far; and for each opinion, the viewpoints that it supports, the best fit first."""

    texts: list[str] = field(default_factory=list)
    supports: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class GoalEx:
    """The writer proposes viewpoints from batches of opinions, and names those that each opinion supports. Then GoalEx
    selects the viewpoints that cover the opinions best with the least overlap. Uncovered opinions go through the same
    steps again, for `rounds` rounds in all.

    The original GoalEx needs the number of clusters in advance. Here, instead, each selected viewpoint costs as much as
    `cost` uncovered opinions. An opinion that supports several selected viewpoints belongs to the first one named. An
    opinion that supports none of them becomes a separate cluster, summarised by its own words.
    """

    batch: int = 40
    most: int = 10
    rounds: int = 2
    overlap: float = 0.5
    cost: float = 0.5

    async def __call__(self, texts: Sequence[str], writer: Writer) -> Clustered:
        """Cluster the opinions; see `Clustering`."""
        found = _Candidates(supports=[[] for _ in texts])
        chosen: set[int] = set()
        uncovered = list(range(len(texts)))
        for number in range(self.rounds):
            order = writer.draw(f"batches/{number}").shuffle(uncovered)
            proposed = await self._propose([texts[place] for place in order], writer)
            await _assign(texts, [text for text in proposed if text not in found.texts], found, writer)
            chosen = select(found.supports, len(found.texts), overlap=self.overlap, cost=self.cost)
            uncovered = [place for place, named in enumerate(found.supports) if not chosen.intersection(named)]
            if not uncovered:
                break
        writer.counts.own += len(uncovered)
        return Clustered(_committed(texts, found, chosen, uncovered), writer.counts)

    async def _propose(self, texts: Sequence[str], writer: Writer) -> list[str]:
        """Distinct viewpoints for these opinions."""
        form = list_form("viewpoints", {"type": "string"}, 1, self.most)
        batches = [texts[start : start + self.batch] for start in range(0, len(texts), self.batch)]
        listed = ["\n".join(f"- {text}" for text in batch) for batch in batches]
        proposed = await writer.answers(
            [writer.request("goalex", "propose", self._read, form, opinions=some, most=self.most) for some in listed]
        )
        return list(dict.fromkeys(text for some in proposed for text in some or ()))

    def _read(self, text: str) -> Reading[list[str]]:
        return parsed(text, _Proposed, lambda found: read_texts(found.viewpoints, "viewpoint", self.most))


async def _assign(texts: Sequence[str], new: Sequence[str], found: _Candidates, writer: Writer) -> None:
    """Ask for every opinion which of the new viewpoints it supports."""
    if not new:
        return
    shown, count = numbered(new), len(new)
    form = list_form("supports", {"type": "integer", "enum": list(range(1, count + 1))}, 0, count)

    def usable(said: _Supported) -> Reading[list[int]]:
        named = list(dict.fromkeys(said.supports))
        known = [number for number in named if 1 <= number <= count]
        if known == named:
            return Reading(known, "as is")
        return Reading(known or None, "as is" if known else "invalid", f"there are viewpoints 1 to {count} only")

    def read(text: str) -> Reading[list[int]]:
        return parsed(text, _Supported, usable)

    answers = await writer.answers(
        [writer.request("goalex", "assign", read, form, clusters=shown, opinion=text) for text in texts]
    )
    for place, named in enumerate(answers):
        found.supports[place] += [len(found.texts) + number - 1 for number in named or ()]
    found.texts += new


def select(supports: Sequence[Sequence[int]], candidates: int, *, overlap: float, cost: float) -> set[int]:
    """The candidates that cover opinions best. They minimise (uncovered opinions) + `overlap` * (repeated coverings) +
    `cost` * (selected candidates).

    `supports` has the candidates (from 0) that each opinion supports. The solution is exact, as in GoalEx, which uses
    integer linear programming (its section 3.3). Among equally good selections, one with earlier candidates wins.
    """
    import numpy as np
    from scipy.optimize import Bounds, milp

    count = len(supports)
    if not candidates or not any(supports):
        return set()
    ties = 0.01 * np.arange(candidates) / candidates**2  # in sum smaller than any real difference of cost
    price = np.concatenate([cost + ties, np.ones(count), np.full(count, overlap)])
    whole = np.concatenate([np.ones(candidates), np.zeros(2 * count)])
    above = np.concatenate([np.ones(candidates), np.full(2 * count, np.inf)])
    rules = _covers(supports, candidates)
    solved = milp(price, integrality=whole, bounds=Bounds(0, above), constraints=rules, options={"mip_rel_gap": 0})
    return {place for place in range(candidates) if solved.x[place] > 0.5}


def _covers(supports: Sequence[Sequence[int]], candidates: int) -> LinearConstraint:
    """Constraints for each opinion: (number of covers) + (1 if uncovered) - (number of covers beyond the first) = 1."""
    from scipy.optimize import LinearConstraint
    from scipy.sparse import eye, hstack, lil_matrix

    covers = lil_matrix((len(supports), candidates))
    for place, named in enumerate(supports):
        covers[place, list(named)] = 1
    side = eye(len(supports))
    return LinearConstraint(hstack([covers, side, -side]).tocsc(), 1, 1)


def _committed(
    texts: Sequence[str], found: _Candidates, chosen: set[int], uncovered: Sequence[int]
) -> tuple[Cluster, ...]:
    members: dict[int, list[int]] = {candidate: [] for candidate in sorted(chosen)}
    for place, named in enumerate(found.supports):
        if best := [candidate for candidate in named if candidate in chosen]:
            members[best[0]].append(place)
    shared = [Cluster(found.texts[candidate], tuple(places)) for candidate, places in members.items() if places]
    return (*shared, *(Cluster(texts[place], (place,)) for place in uncovered))
