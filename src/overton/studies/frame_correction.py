"""Correction of declared measures with human labels, for units that have one label each.

A study computes its units' values from the judge's labels. Then it computes the values as if all units had the same
label, once for each possible label. From these values, Overton corrects the number of every model and condition, in the
analysis and in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.estimate import SHARE, Range
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.misclassification import WHOLE, DoublyLabelled
from overton.studies.correction import JudgedNumber, LabelledUnits, Place, UnitCase
from overton.studies.grouping import Frame
from overton.studies.measures import Grouping, Measure, key_in
from overton.studies.people_labels import People


@dataclass(frozen=True)
class FrameCase(UnitCase):
    """Declared measures of units that have one label each, from the judge and from people.

    measures  the measures that are corrected
    sides     the facet of measures that are a difference between two sides, and the names of both sides; empty if there
              is no such measure
    settings  [U] each unit's model and condition
    judge     by measure, each unit's value from the judge's labels [U], NaN if the unit has no value
    human     by measure, each unit's value for each label that people could have given [U, S]
    label     [U] the index of the judge's label; S if the judge gave no label
    usual     the condition that is not named in keys and groups

    A unit that the judge's other labels exclude, such as a pair in which no answer complies, is left out of `judge` and
    of `human`.
    """

    measures: Sequence[Measure]
    settings: Sequence[tuple[str, str]]
    judge: Mapping[str, Floats]
    human: Mapping[str, Floats]
    label: Ints
    people: People
    place: Ints
    resampling: Resampling
    items: Sequence[str]
    usual: str
    sides: Sequence[str] = ()
    seed: int = 0
    draws: int = 0

    @classmethod
    def of(  # noqa: PLR0917
        cls,
        frames: Sequence[Frame],
        headlines: tuple[Grouping, Grouping],
        kind: str,
        judged: pl.DataFrame,
        labels: Sequence[str],
        people: People,
        usual: str,
    ) -> FrameCase:
        """Make a case from frames with the same units in the same order. The first frame uses the judge's labels. There
        is one further frame for each possible label; in it, all units have this label.

        The first of the two `headlines` has measures over all units. The second has differences between two sides,
        which are corrected only if at least one unit belongs to a side. `judged` has the judge's label of each unit of
        the `kind`, by the unit's `id`. Each label is one of `labels`. Keys of numbers name every condition except
        `usual`. Human labels for other ids are ignored.
        """
        of_units, of_sides = headlines
        has_sides = frames[0].has_units(of_sides)
        tables = [frame.values_by_id(kind, headlines if has_sides else [of_units]) for frame in frames]
        judge, cluster = tables[0], frames[0].units[kind].cluster
        at = {name: place for place, name in enumerate(judge["id"].to_list())}
        own = people.where(np.array([name in at for name in people.id], bool))
        items = judge[cluster].unique().sort().to_list()
        number = judge[cluster].replace_strict(items, range(len(items)), return_dtype=pl.Int64).to_numpy()
        numbers = {label: place for place, label in enumerate(labels)}
        given = dict(judged.select("id", "label").rows())
        measures = [*of_units.measures, *(of_sides.measures if has_sides else ())]

        def values(table: pl.DataFrame, measure: Measure) -> Floats:
            return table[measure.name].cast(pl.Float64).fill_null(np.nan).to_numpy()

        return cls(
            measures=measures,
            settings=judge.select("model", "condition").rows(),
            judge={measure.name: values(judge, measure) for measure in measures},
            human={
                measure.name: np.column_stack([values(table, measure) for table in tables[1:]]) for measure in measures
            },
            label=np.array([numbers.get(given.get(name, ""), len(labels)) for name in at], np.int64),
            people=own,
            place=np.array([at[name] for name in own.id], np.int64),
            resampling=frames[0].jackknife.over(number),
            items=items,
            usual=usual,
            sides=frames[0].sides_of(of_sides) if has_sides else (),
            seed=frames[0].jackknife.seed,
        )

    @property
    def how(self) -> str:
        """The method of correction, for units that have one label each."""
        return "single labels"

    @property
    def clustering(self) -> str:
        """Empty, because units with one label cannot have clustered errors."""
        return ""

    @cached_property
    def labelled(self) -> LabelledUnits:
        """The units, with one row for each unit."""
        return LabelledUnits(self.people, self.place, np.arange(len(self.settings)), self.resampling)

    @property
    def readings(self) -> DoublyLabelled:
        """The units that both the judge and people labelled."""
        return self.labelled.readings(self.label, self.people.value.shape[1] + 1)

    @property
    def plain(self) -> Mapping[str, Floats]:
        """Each measure from the judge's labels alone [U]."""
        return self.judge

    @cached_property
    def of_people(self) -> Mapping[str, Floats]:
        """Each measure's values [U] from human labels alone. If the labels of a unit differ, its value is the mean over
        them."""
        found = {name: np.full(len(self.settings), np.nan) for name in self.human}
        for name, values in self.human.items():
            found[name][self.place] = (values[self.place] * self.people.value).sum(1)
        return found

    def absent(self, name: str) -> str:
        """The reason for a missing corrected number."""
        return f"{len(self.place)} units have human labels, and {WHOLE} are needed"

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """Each unit's model and condition."""
        return {kind: [setting[at] for setting in self.settings] for at, kind in enumerate(("model", "condition"))}

    def numbers(self) -> Iterator[JudgedNumber]:
        """Every measure of each model and condition."""
        for model, condition in sorted(set(self.settings)):
            units = np.array([setting == (model, condition) for setting in self.settings])
            group = model if condition == self.usual else f"{model} / {condition}"
            for measure in self.measures:
                key = key_in(measure.name, condition, self.usual)
                place: Place = (measure.name, model, condition or None, None, None)
                if measure.signed:
                    facet, first, second = self.sides
                    place = (measure.name, model, f"{condition} / {first}", facet, second)
                yield JudgedNumber(group, measure.name, units, place, model, key)

    def within(self, name: str) -> Range:
        """The range of a measure."""
        return self._declared(name).within

    def is_share(self, name: str) -> bool:
        """Whether a measure is a proportion of units."""
        return self.within(name) == SHARE

    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """The uncorrected number of some units, as the analysis has it."""
        known = self._measured_units(name, units)
        cluster = np.unique(self.resampling.cluster[known], return_inverse=True)[1]
        if not known.any():
            return not_computed(self._declared(name).nothing, level=self.resampling.level)
        values = (self.judge[name][known], np.ones(len(cluster)))
        sums = ClusterSums(*(np.bincount(cluster, part).astype(float) for part in values))
        over = Jackknife(self.resampling.level, unit=self.resampling.unit).over(int(cluster.max()) + 1)
        return over.ratio(sums, self._declared(name).nothing, self.within(name))

    def _measured_units(self, name: str, units: Flags) -> Flags:
        return units & np.isfinite(self.judge[name])

    def _declared(self, name: str) -> Measure:
        return next(measure for measure in self.measures if measure.name == name)
