"""People's labels as a table, and numbers that rest on a judge three times: as judged, corrected, as people label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.judging.labelling import CANNOT_TELL, Labels
from overton.statistics import Estimate
from overton.statistics.correction import Draw
from overton.statistics.misread import (
    WHOLE,
    Plan,
    Readings,
    Undone,
    gaps_of,
    rows_for_width,
    together,
    units_for_width,
    whole_units,
)
from overton.statistics.resampling import Range, Resampling

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CorrectedMeasures", "LabelledUnits", "People", "Variants", "people_table", "read_people"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SHOWN = 20


class Variants(msgspec.Struct, frozen=True):
    """A measure by the judge's labels, corrected by people's, and of the units that people labelled whole alone."""

    plain: Estimate
    corrected: Estimate
    labelled: Estimate

    @property
    def leads(self) -> str:
        """Which one to take: the corrected one where it has an interval."""
        return "plain" if isnan(self.corrected.low) else "corrected"


class CorrectedMeasures(msgspec.Struct, frozen=True):
    """Measures of many labels, corrected.

    groups       by group ('' for everything), then by measure
    how          'whole units' are corrected by their own values, or the judge's 'errors undone' label by label
    labels       how many rows people labelled; `whole` units of them wholly; `cannot_tell` rows without a label
    together     whether errors of one unit come together, in a sentence
    """

    groups: dict[str, dict[str, Variants]]
    how: Literal["whole units", "errors undone"]
    labels: int
    whole: int
    cannot_tell: int
    together: str


@dataclass(frozen=True)
class People:
    """What people say of n units: `value` [n, S] adds up to one; `chance` [n] is how likely each was to be drawn.

    `cannot_tell` counts units of which nobody could tell the label; they are not among the n.
    """

    id: Sequence[str]
    value: Array
    chance: Array
    cannot_tell: int


@dataclass(frozen=True)
class LabelledUnits:
    """Judged rows [R] that belong to units [U], and what people say of the rows at `place` [n].

    `unit` [R] numbers each row's unit; intervals are over what `resampling` puts the units into.
    """

    people: People
    place: Ints
    unit: Ints
    resampling: Resampling

    @cached_property
    def whole(self) -> Flags:
        """The units [U] of which people labelled every row."""
        many = len(self.resampling.cluster)
        labelled = np.bincount(self.unit[self.place], minlength=many)
        return np.asarray(labelled == np.bincount(self.unit, minlength=many))

    @cached_property
    def by_units(self) -> bool:
        """Whether units were labelled whole or not at all, and enough of them."""
        some = np.unique(self.unit[self.place])
        return len(some) >= WHOLE and bool(self.whole[some].all())

    def readings(self, judged: Ints, outcomes: int) -> Readings:
        """The rows that both labelled; `judged` [R] is the judge's, one of so many `outcomes`."""
        _, group = np.unique(self.unit[self.place], return_inverse=True)
        return Readings(self.people.value, judged[self.place], 1 / self.people.chance, group, outcomes)

    def measures(self, groups: Mapping[str, dict[str, Variants]], readings: Readings, seed: int) -> CorrectedMeasures:
        """All that is told of measures by group."""
        return CorrectedMeasures(
            dict(groups),
            "whole units" if self.by_units else "errors undone",
            len(self.people.id),
            int(self.whole.sum()),
            self.people.cannot_tell,
            str(together(readings, seed)) if len(self.people.id) else "Nothing is labelled.",
        )

    def from_units(
        self, told: Flags, of_people: Array, of_judge: Array, units: Flags, within: Range
    ) -> tuple[Estimate, Estimate]:
        """A measure of some `units` [U] corrected by those that are `told` [U] whole, and of these alone."""
        chance = np.ones(len(units))
        chance[self.unit[self.place]] = self.people.chance
        drawn = Draw(told, chance, self.resampling.cluster.astype(np.int64)).of(units)
        three = whole_units(drawn, of_people[units], of_judge[units], within, self.resampling.level)
        return three.corrected, three.labelled

    def plans(  # noqa: PLR0917
        self, undone: Undone, of_people: Array, of_judge: Array, told: Flags, units: Flags, width: float
    ) -> tuple[Plan, ...]:
        """How many labels bring the interval of a measure of `units` [U] to a width: of single rows, of whole units.

        Until three units are `told` [U] whole, the judge is taken to tell nothing of a unit's value.
        """
        rows = rows_for_width(gaps_of(undone, self.resampling), len(self.people.id), len(self.unit), width)
        judged = of_judge[units]
        pilot = (of_people[told], of_judge[told]) if told.sum() > 2 else (judged, np.zeros(len(judged)))
        size = len(self.unit) / len(self.whole)
        return rows, units_for_width(*pilot, judged, width, size=size, level=self.resampling.level)


def people_table(labels: Labels) -> pl.DataFrame:
    """What people said, a row for each unit and label: `id`, `label`, `share`, `chance`, `group`."""
    import polars as pl

    rows = [
        (asked.id, label, share, asked.chance, asked.group)
        for place, shares in labels.shares().items()
        for asked in (labels.task.rows[place],)
        for label, share in shares.items()
    ]
    return pl.DataFrame(rows, schema=_kinds(), orient="row")


def _kinds() -> dict[str, type[pl.DataType]]:
    import polars as pl

    return {"id": pl.String, "label": pl.String, "share": pl.Float64, "chance": pl.Float64, "group": pl.String}


def read_people(people: pl.DataFrame, labels: Sequence[str]) -> People:
    """The values of a table as `people_table` makes them; who could not tell is left out of a unit's value.

    Raises:
        InputError: a label that is none of `labels`, or a chance or share that is not in (0, 1].
    """
    import polars as pl

    people = people.select(pl.col(name).cast(kind) for name, kind in _kinds().items())
    told = people.filter(pl.col("label") != CANNOT_TELL)
    if unknown := sorted(set(told["label"].to_list()) - set(labels))[:_SHOWN]:
        reason = f"is none of {', '.join(labels)}"
        raise InputError([Problem("people", repr(one), reason) for one in unknown])
    if not people.select(((pl.col("chance") > 0) & (pl.col("chance") <= 1) & (pl.col("share") > 0)).all()).item():
        raise InputError([Problem("people", "chance", "and share must be above 0, and a chance at most 1")])
    given = {f"{place}": pl.col("label") == label for place, label in enumerate(labels)}
    sums = [(pl.col("share") * one).sum().alias(name) for name, one in given.items()]
    units = told.group_by("id", maintain_order=True).agg(*sums, pl.col("chance").first())
    value = units.select([*given]).to_numpy().astype(float)
    value = value / value.sum(axis=1, keepdims=True)
    lost = people["id"].n_unique() - units.height
    return People(units["id"].to_list(), value, units["chance"].to_numpy().astype(float), lost)
