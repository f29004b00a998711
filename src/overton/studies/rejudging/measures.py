"""How steady a judge is: its labels compared with those of the run, with its own in another order, and with people's.

All comparisons are over the same rows. A row to which one of two gave no label is left out of their `same` and `kappa`,
and in `same_at_least` it counts as one on which they differ, so that refusals do not flatter. Rows that people labelled
have the weight of their draw (1 / chance), others are a plain draw; rows of one group are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from overton.judging.annotators import RowWeights, judge_agreement, mean_gap, mean_of
from overton.statistics import Estimate
from overton.statistics.prediction_powered import difference
from overton.studies.measuring import How
from overton.studies.rejudging.units import READINGS, JudgedUnit
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "AGAIN",
    "ORDER",
    "PEOPLE",
    "RUN",
    "Analysis",
    "Between",
    "Compared",
    "Drift",
    "Steady",
    "Without",
    "measure",
]

RUN, PEOPLE = "the run's judge", "people"
AGAIN, ORDER = READINGS
_MOST_SHOWN = 20

_Said = Mapping[str, float]


class Compared(msgspec.Struct, frozen=True):
    """Two who labelled the same rows: `rows` with a label from both, and `without` one from either.

    `same` is the share of equal labels, `kappa` Cohen's, `same_at_least` the share if they differ wherever one gave
    none.
    """

    a: str
    b: str
    rows: int
    without: int
    same: Estimate
    kappa: Estimate
    same_at_least: Estimate


class Without(msgspec.Struct, frozen=True):
    """What got no label in one condition: of all `units` of the run, `by_run` from its own judge; of the readings that
    this one was `asked` for, `unlabelled`, of which `refused` (flagged by the endpoint), `failed` calls, `unread`."""

    condition: str
    units: int
    by_run: int
    asked: int
    unlabelled: int
    refused: int
    failed: int
    unread: int


class Unlabelled(msgspec.Struct, frozen=True):
    """A reading without a label: its unit, why, and the last reply, cut."""

    unit: str
    condition: str
    reading: str
    why: str
    said: str


class Steady(msgspec.Struct, frozen=True):
    """One judge on one run's units. `of` is who judged in the run, `by` who is asked again: the same one, or another.

    `shares` has for each label its share by each of those who labelled: over the rows that both the run's judge and
    this one labelled, and for people those that they labelled. `first_unlabelled` shows at most 20 units to which this
    judge gave no label.
    """

    run: str
    what: str
    of: str
    by: str
    units: int
    rows: int
    by_people: int
    compared: tuple[Compared, ...]
    shares: dict[str, dict[str, Estimate]]
    without: tuple[Without, ...]
    first_unlabelled: tuple[Unlabelled, ...]


class Between(msgspec.Struct, frozen=True):
    """One label: how much more often run `b` has it than run `a` by their own judges, by the one judge of both, and how
    much of the difference is the judges' (the first minus the second): an interval without 0 indicates drift."""

    by_own: Estimate
    by_one: Estimate
    drift: Estimate


class Drift(msgspec.Struct, frozen=True):
    """Two runs judged by one judge, to distinguish a difference of judges from a difference of models."""

    by: str
    a: str
    b: str
    labels: dict[str, Between]


class Analysis(msgspec.Struct, frozen=True):
    """How steady judges are, for each judge and run; and drift, for every two runs that one judge was asked about."""

    steady: tuple[Steady, ...]
    drift: tuple[Drift, ...]


def measure(results: Results, how: How) -> Analysis:
    """Every judge on every run's units."""
    units: dict[str, JudgedUnit] = {one.id: one for one in results.items}
    judged = [
        _Judged(by, run, rows, how.level)
        for (by,), records in results.records.partition_by("model", as_dict=True, maintain_order=True).items()
        for run, rows in _by_run(records, units).items()
    ]
    return Analysis(
        tuple(one.steady() for one in judged),
        tuple(_drift(a, b) for a, b in combinations(judged, 2) if a.by == b.by and a.what == b.what),
    )


@dataclass(frozen=True)
class _Row:
    """One row with the label of everybody who gave one, and the replies without a label."""

    unit: JudgedUnit
    weight: float
    said: Mapping[str, _Said]
    readings: Sequence[Mapping[str, object]]


def _by_run(records: pl.DataFrame, units: Mapping[str, JudgedUnit]) -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for (name, row), some in records.partition_by("id", "row", as_dict=True, maintain_order=True).items():
        unit = units[str(name)]
        found.setdefault(unit.run, []).append(_row(unit, str(row), list(some.iter_rows(named=True))))
    return found


def _row(unit: JudgedUnit, name: str, readings: Sequence[Mapping[str, object]]) -> _Row:
    row = unit.rows[name]
    said: dict[str, _Said] = {} if row.judged is None else {RUN: {row.judged: 1.0}}
    said |= {str(one["reading"]): {str(one["label"]): 1.0} for one in readings if one["label"] is not None}
    if row.people:
        said[PEOPLE] = row.people
    return _Row(unit, 1 / row.chance, said, readings)


@dataclass(frozen=True)
class _Judged:
    """What one judge said about the rows of one run."""

    by: str
    run: str
    rows: Sequence[_Row]
    level: float

    @property
    def what(self) -> str:
        return self.rows[0].unit.what

    def steady(self) -> Steady:
        first = self.rows[0].unit
        return Steady(
            self.run,
            self.what,
            first.judge,
            self.by,
            units=len({one.unit.id for one in self.rows}),
            rows=len(self.rows),
            by_people=sum(PEOPLE in one.said for one in self.rows),
            compared=tuple(self._compared()),
            shares={label: self._shares(label) for label in self.labels()},
            without=tuple(self._without(name, *counts) for name, counts in sorted(first.conditions.items())),
            first_unlabelled=tuple(self._unlabelled())[:_MOST_SHOWN],
        )

    def labels(self) -> list[str]:
        return sorted({label for one in self.rows for said in one.said.values() for label in said})

    def _compared(self) -> Iterator[Compared]:
        known = [who for who in (PEOPLE, RUN, AGAIN, ORDER) if any(who in one.said for one in self.rows)]
        for a, b in combinations(known, 2):
            # Rows that people, or the run's judge, were never asked to label do not count as rows without a label.
            asked = [one for one in self.rows if all(who in one.said for who in (a, b) if who in (PEOPLE, RUN))]
            both = [one for one in asked if a in one.said and b in one.said]
            pair = [one.said[a] for one in both], [one.said[b] for one in both]
            same, kappa = judge_agreement(*pair, _weighed(both), level=self.level)
            least = mean_of([_alike(one, a, b) for one in asked], _weighed(asked), level=self.level)
            yield Compared(a, b, len(both), len(asked) - len(both), same, kappa, least)

    def paired(self) -> list[_Row]:
        """The rows that both the run's judge and, word for word, this one labelled."""
        return [one for one in self.rows if RUN in one.said and AGAIN in one.said]

    def _shares(self, label: str) -> dict[str, Estimate]:
        rows = {who: [one for one in self.paired() if who in one.said] for who in (RUN, AGAIN, ORDER, PEOPLE)}
        return {who: self.share(label, who, some) for who, some in rows.items() if some}

    def share(self, label: str, who: str, rows: Sequence[_Row]) -> Estimate:
        """How often `who` gives a label."""
        return mean_of([one.said[who].get(label, 0.0) for one in rows], _weighed(rows), level=self.level)

    def gap(self, label: str) -> Estimate:
        """How much more often the run's judge gives a label than this one, row for row."""
        rows = self.paired()
        gaps = [one.said[RUN].get(label, 0.0) - one.said[AGAIN].get(label, 0.0) for one in rows]
        return mean_gap(gaps, _weighed(rows), level=self.level)

    def _without(self, condition: str, units: int, by_run: int) -> Without:
        asked = [one for row in self.rows if row.unit.condition == condition for one in row.readings]
        none = [one for one in asked if one["label"] is None]
        reasons = [_why(one) for one in none]
        counts = {why: reasons.count(why) for why in ("refused", "failed", "unread")}
        return Without(condition, units, by_run, len(asked), len(none), **counts)

    def _unlabelled(self) -> Iterator[Unlabelled]:
        for row in self.rows:
            for one in row.readings:
                if one["label"] is None:
                    said = str(one["failure"] or one["said"])
                    yield Unlabelled(row.unit.unit, row.unit.condition, str(one["reading"]), _why(one), said)


def _why(reading: Mapping[str, object]) -> str:
    """Why a reading has no label: the call failed, the endpoint says that the judge refused, or it cannot be read."""
    return "failed" if reading["failure"] is not None else "refused" if reading["refused"] else "unread"


def _alike(row: _Row, a: str, b: str) -> float:
    one, other = row.said.get(a, {}), row.said.get(b, {})
    return sum(share * other.get(label, 0.0) for label, share in one.items())


def _weighed(rows: Sequence[_Row]) -> RowWeights:
    return RowWeights([one.weight for one in rows], [one.unit.group for one in rows])


def _drift(a: _Judged, b: _Judged) -> Drift:
    labels = sorted({*a.labels(), *b.labels()})
    return Drift(a.by, a.run, b.run, {label: _between(a, b, label) for label in labels})


def _between(a: _Judged, b: _Judged, label: str) -> Between:
    by_own, by_one = (
        difference(b.share(label, who, b.paired()), a.share(label, who, a.paired())) for who in (RUN, AGAIN)
    )
    return Between(by_own, by_one, difference(b.gap(label), a.gap(label)))
