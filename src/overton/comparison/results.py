"""The parts of a comparison: every pair's numbers, differences and verdicts, and the places of several models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

from overton.comparison.differences import Difference
from overton.comparison.labels import Corrected
from overton.comparison.sources import MissingCounts
from overton.statistics import Estimate
from overton.statistics.comparison import POWER, Gap, ItemsToDecide, PossibleRanks, Verdict
from overton.studies.document import SCHEMA, interval_of, number_of, plain
from overton.studies.measures import Measure

Bounds = tuple[float, float] | None


BONFERRONI = "Bonferroni"
MAX_T = "max-t over shared items"
"""How simultaneous intervals were made."""


class MoreTrials(NamedTuple):
    """How many `trials` of each item in total would decide, how many `more` that is, and what these would cost in US
    dollars if that is known; or `why` there is no such number."""

    trials: int | None = None
    more: int | None = None
    cost: float | None = None
    why: str | None = None


@dataclass(frozen=True)
class Compared:
    """One measure of a pair, over the `items` that both have.

    `alone` has the intervals of this difference, `together` the simultaneous ones of all pairs of the measure (None if
    there is one pair), made as `joint` says. `worst` is what the difference could be whatever was lost, refused or
    never asked. `needed` is how many items in total would decide, `price` what the additional ones would cost in US
    dollars if that is known; `trials` is how many trials of the same items would. If people labelled what both are
    based on, `corrected` has the three variants; if it leads, all numbers here are the corrected ones.
    """

    measure: Measure
    items: int
    base: Estimate
    candidate: Estimate
    alone: Gap
    together: Gap | None
    margin: float
    verdict: Verdict
    worst: Bounds
    needed: ItemsToDecide | None
    price: float | None
    corrected: Corrected | None = None
    trials: MoreTrials | None = None
    joint: str = ""
    refused: str = ""
    as_with: int | None = None

    @property
    def why(self) -> str | None:
        """The reason if the verdict can only be 'undecided'; None if the numbers could have given another."""
        own = self.alone.own
        return own.method if isnan(own.value) or isnan(own.low) else None

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "title": self.measure.title,
            "items": self.items,
            "base": number_of(self.base),
            "candidate": number_of(self.candidate),
            "difference": {
                **number_of(self.alone.own),
                "level": self.alone.own.level,
                "equivalence": _interval_json(self.alone.equivalence),
                "simultaneous": None if self.together is None else _simultaneous_json(self.together, self.joint),
                "worst_case": None if self.worst is None else plain(list(self.worst)),
            },
            "margin": self.margin,
            "verdict": self.verdict,
            "why": self.why,
            "needed": None if self.needed is None else self._needed_json(self.needed),
            **({} if self.as_with is None else {"as_with_trials": self.as_with}),
            **({} if self.corrected is None else {"labels": self.corrected.to_json()}),
        }

    def _needed_json(self, needed: ItemsToDecide) -> dict[str, Any]:
        more = needed.items - self.items
        return {
            "items": needed.items,
            "more": more,
            "verdict": needed.verdict,
            "power": POWER,
            "cost": None if self.price is None else plain(self.price),
            "trials": None if self.trials is None else plain(self.trials._asdict()),
        }


def _interval_json(estimate: Estimate) -> dict[str, Any]:
    return {"level": estimate.level, **interval_of(estimate)}


def _simultaneous_json(gap: Gap, method: str) -> dict[str, Any]:
    return {**_interval_json(gap.own), "equivalence": _interval_json(gap.equivalence), "method": method}


@dataclass(frozen=True)
class Pair:
    """Two of those compared, candidate minus base."""

    base: str
    candidate: str
    measures: Mapping[str, Compared]


@dataclass(frozen=True)
class Standing:
    """One of several models by a measure: its number over its own items, and the places that it could have."""

    name: str
    value: Estimate
    places: PossibleRanks


@dataclass(frozen=True)
class Comparison:
    """Models compared by one study; see `overton.compare`.

    `differing` says what differs, `although` why they were compared anyway. `lost` is by name, `ranks` by measure.
    """

    study: str
    title: str
    unit: str
    level: float
    seed: int
    pairs: Sequence[Pair]
    ranks: Mapping[str, Sequence[Standing]]
    lost: Mapping[str, MissingCounts]
    differing: Sequence[Difference]
    although: str

    def to_json(self) -> dict[str, Any]:
        """As JSON values: `["pairs"][0]["measures"][MEASURE]` has `base`, `candidate`, `difference` (`estimate`,
        `interval`, ...) and `verdict`; docs/compare.md describes the rest."""
        return {
            "schema": SCHEMA,
            "study": self.study,
            "level": self.level,
            "seed": self.seed,
            "although": self.although or None,
            "differing": [difference._asdict() for difference in self.differing],
            "pairs": [
                {
                    "base": pair.base,
                    "candidate": pair.candidate,
                    "study": self.study,
                    "measures": {name: measure.to_json() for name, measure in pair.measures.items()},
                }
                for pair in self.pairs
            ],
            "ranks": {
                name: [
                    {"name": standing.name, "value": number_of(standing.value), "places": list(standing.places)}
                    for standing in standings
                ]
                for name, standings in self.ranks.items()
            },
            "lost": {name: plain(counts) for name, counts in self.lost.items()},
        }
