"""Correction of measures that depend on many of a judge's labels, with human labels for some of the judged rows.

`label_shares` corrects the proportion of each label. With `Correcting`, studies declare how their other measures depend
on the labels. `people_labels` converts human labels to values, `CorrectionCase` is a study's part of the correction,
and `placed` replaces uncorrected numbers in an analysis by corrected ones.

If whole units (conversations, threads in a condition) have human labels, the correction compares units' values by the
judge and by people. Otherwise it inverts the judge's confusion matrix of single labels
(`overton.statistics.misclassification`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any, TypeVar

import msgspec
import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import Flags, Floats, Ints
from overton.statistics.estimate import Range
from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.judge_error_tests import EqualErrors, ErrorClustering, equal_errors, error_clustering
from overton.statistics.label_draws import LabelDraw
from overton.statistics.misclassification import (
    WHOLE,
    CorrectedInfluence,
    CorrectedSums,
    DoublyLabelled,
    LabelCount,
    corrected_ratio,
    gaps_of,
    moved_by,
    moved_by_units,
    rows_for_width,
    units_for_width,
    whole_units,
)
from overton.statistics.prediction_powered import difference
from overton.studies.label_shares import LabelledNumbers, Variants, leading
from overton.studies.people_labels import People

Value = TypeVar("Value")

Place = tuple[str | int | None, ...]
"""The location of a number in an analysis: the field names, keys and tuple indices that lead to it."""


def placed(value: Value, numbers: Mapping[Place, Variants]) -> Value:
    """Replace the estimates of `value` at the locations in `numbers`. Each new estimate keeps the replaced estimate as
    its uncorrected variant. `value` consists of structs, mappings and tuples.

    Raises:
        KeyError, AttributeError, IndexError: `value` lacks one of the locations.
    """
    made: Any = numbers.get(())
    if made is not None:
        return made.led(value)  # type: ignore[no-any-return]
    inner: dict[str | int | None, dict[Place, Variants]] = {}
    for (first, *rest), number in numbers.items():
        inner.setdefault(first, {})[tuple(rest)] = number
    return _replace_parts(value, inner) if inner else value


def _replace_parts(value: Any, inner: Mapping[str | int | None, Mapping[Place, Variants]]) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {str(name): placed(getattr(value, str(name)), some) for name, some in inner.items()}
        return msgspec.structs.replace(value, **fields)
    if isinstance(value, Mapping):
        return {**value, **{name: placed(value[name], some) for name, some in inner.items()}}
    if hasattr(value, "_replace"):
        return value._replace(**{str(name): placed(getattr(value, str(name)), some) for name, some in inner.items()})
    return tuple(placed(member, inner[place]) if place in inner else member for place, member in enumerate(value))


@dataclass(frozen=True)
class JudgedNumber:
    """A number that depends on many of a judge's labels: a measure over some units [U].

    group     the group that the number describes, '' for everything; None if the number is reported only at its `place`
    name      the measure
    place     the number's location in the analysis, None if the analysis lacks the number
    model     the model that the number describes, '' for all models together
    compared  the measure's name if Overton compares models on this measure, otherwise ''
    """

    group: str | None
    name: str
    units: Flags
    place: Place | None = None
    model: str = ""
    compared: str = ""


@dataclass(frozen=True)
class NumberOverItems:
    """A number over some items, and each item's influence on it. `moved` is None if the number has no interval. `alone`
    is the reason why the number cannot be compared with numbers of other groups, '' if it can."""

    variants: Variants
    moved: CorrectedInfluence | None
    alone: str = ""


@dataclass(frozen=True)
class LabelledUnits:
    """Judged rows [R] that belong to units [U], and human labels for some of the rows.

    `people` has the human labels, and `place` [n] the indices of the rows with these labels. `unit` [R] has the index
    of each row's unit. Intervals are over the groups of units in `resampling`.
    """

    people: People
    place: Ints
    unit: Ints
    resampling: Resampling

    @cached_property
    def whole(self) -> Flags:
        """The units [U] in which every row has a human label."""
        many = len(self.resampling.cluster)
        labelled = np.bincount(self.unit[self.place], minlength=many)
        return np.asarray(labelled == np.bincount(self.unit, minlength=many))

    @cached_property
    def by_units(self) -> bool:
        """Whether enough units are labelled, and none of them only in part."""
        some = np.unique(self.unit[self.place])
        return len(some) >= WHOLE and bool(self.whole[some].all())

    @cached_property
    def chance(self) -> Floats:
        """The probability with which each unit was sampled for human labels [U], if whole units were sampled."""
        chance = np.ones(len(self.whole))
        chance[self.unit[self.place]] = self.people.chance
        return chance

    def readings(self, judged: Ints, outcomes: int) -> DoublyLabelled:
        """The rows that both the judge and people labelled. `judged` [R] has the judge's labels as numbers from 0 to
        `outcomes` - 1."""
        _, group = np.unique(self.unit[self.place], return_inverse=True)
        return DoublyLabelled(self.people.value, judged[self.place], 1 / self.people.chance, group, outcomes)

    def draw(self, complete: Flags, resampling: Resampling) -> LabelDraw:
        """The sample of completely labelled units, which `complete` [U] marks."""
        return LabelDraw(complete, self.chance, resampling.cluster.astype(np.int64))

    def plans(  # noqa: PLR0917
        self, undone: CorrectedSums, of_people: Floats, of_judge: Floats, complete: Flags, units: Flags, width: float
    ) -> tuple[LabelCount, ...]:
        """The numbers of labels that would bring the interval of a measure of `units` [U] to a given width. The first
        number applies to labels of single rows, the second to labels of whole units.

        If fewer than three units are `complete` [U], the calculation assumes that the judge's labels carry no
        information on a unit's value.
        """
        rows = rows_for_width(gaps_of(undone, self.resampling), len(self.people.id), len(self.unit), width)
        judged = of_judge[units]
        pilot = (of_people[complete], of_judge[complete]) if complete.sum() > 2 else (judged, np.zeros(len(judged)))
        size = len(self.unit) / len(self.whole)
        return rows, units_for_width(*pilot, judged, width, size=size, level=self.resampling.level)


class CorrectionCase(ABC):
    """The numbers of a study that depend on a judge's labels, and human labels for some of the judged rows."""

    people: People
    seed: int

    @property
    @abstractmethod
    def readings(self) -> DoublyLabelled:
        """The rows that both the judge and people labelled; rows of one unit form one group."""

    @property
    @abstractmethod
    def labelled(self) -> LabelledUnits:
        """The units, and which of their rows have human labels."""

    @abstractmethod
    def numbers(self) -> Iterator[JudgedNumber]:
        """All numbers that are corrected."""

    @abstractmethod
    def corrected(self, resting: JudgedNumber) -> Variants:
        """A number in three variants: uncorrected, corrected, and from human labels alone."""

    def over(self, resting: JudgedNumber, items: Sequence[str], resampling: Resampling) -> NumberOverItems:
        """A number for comparing models, over some items. `resampling` identifies an item by its index in `items`."""
        raise NotImplementedError(f"{resting.name} is declared as compared, but its correction does not define 'over'")

    @property
    def by_units(self) -> bool:
        """Whether the correction compares values of whole units, and not single labels."""
        return self.labelled.by_units

    @property
    def how(self) -> str:
        """The method of correction, as in `LabelledNumbers`."""
        return "whole units" if self.by_units else "errors undone"

    @property
    def clustering(self) -> str:
        """A sentence on whether the judge's errors cluster within units."""
        return str(self.together) if len(self.people.id) else "Nothing is labelled."

    @cached_property
    def together(self) -> ErrorClustering:
        """A test of whether the judge's errors cluster within units."""
        return error_clustering(self.readings, self.seed)

    @property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The group of each unit [U], by kind of group: for 'model' the unit's model, for 'condition' its condition.
        Overton tests whether the judge errs more often in some groups."""
        return {}

    @cached_property
    def equal_errors(self) -> tuple[EqualErrors, ...]:
        """For each kind of group, test whether the judge's errors depend on the group; empty if no unit is labelled."""
        if not len(self.people.id):
            return ()
        of = self.labelled.unit[self.labelled.place]
        several = {kind: names for kind, names in self.kinds.items() if len(set(names)) > 1}
        groups = {kind: [names[unit] for unit in of.tolist()] for kind, names in several.items()}
        return equal_errors(self.readings, groups, self.seed)

    def depends_on(self, kinds: Collection[str]) -> str:
        """The reason why numbers of different groups cannot be compared: the judge's errors depend on a kind of group
        in `kinds`. The reason is '' if the errors depend on none of these kinds, or if whole units are labelled."""
        if self.by_units:
            return ""
        return next(
            (equal_error.why for equal_error in self.equal_errors if equal_error.by in kinds and equal_error.fails), ""
        )

    @cached_property
    def listed(self) -> list[JudgedNumber]:
        """All numbers in order."""
        return list(self.numbers())

    @cached_property
    def found(self) -> list[Variants]:
        """The variants of each number in `listed`."""
        return [self.corrected(number) for number in self.listed]

    def summary(self) -> LabelledNumbers:
        """The numbers that describe groups, by group and measure."""
        groups: dict[str, dict[str, Variants]] = {}
        for number, found in zip(self.listed, self.found, strict=True):
            if number.group is not None:
                groups.setdefault(number.group, {})[number.name] = found
        return LabelledNumbers(
            self.how,
            len(self.people.id),
            self.people.cannot_tell,
            int(self.labelled.whole.sum()),
            self.clustering,
            groups,
            self.equal_errors,
        )

    def placed(self) -> dict[Place, Variants]:
        """The corrected numbers, by their location in the analysis."""
        pairs = zip(self.listed, self.found, strict=True)
        return {number.place: found for number, found in pairs if number.place is not None}


class UnitCase(CorrectionCase):
    """Units [U], with one value for each unit and measure. The values depend on the judge's labels of the units' rows.

    `place` has the indices of the rows with human labels. `items` has the names of the items that intervals are over,
    and `resampling.cluster` the index of each unit's item in `items`.
    """

    place: Ints
    resampling: Resampling
    items: Sequence[str]
    draws: int

    unit = "unit"
    """The word for a unit in sentences."""

    @property
    @abstractmethod
    def plain(self) -> Mapping[str, Floats]:
        """Each measure's values [U] from the judge's labels alone; NaN for units without a value."""

    @property
    @abstractmethod
    def of_people(self) -> Mapping[str, Floats]:
        """Each measure's values [U] from human labels alone; NaN for units that people did not label completely."""

    @property
    def undone(self) -> Mapping[str, CorrectedSums]:
        """Each measure with the judge's errors corrected; measures for which this is impossible are left out."""
        return {}

    @abstractmethod
    def within(self, name: str) -> Range:
        """The range of a measure."""

    @abstractmethod
    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """The uncorrected number of some units, as the analysis has it."""

    def absent(self, name: str) -> str:
        """The reason why the judge's errors in a measure cannot be corrected."""
        return "the judge hardly distinguishes the labels" if len(self.place) else "nothing is labelled"

    def flaw(self, name: str) -> str:
        """The reason why a measure corrected label by label has no interval; '' if it has one."""
        return ""

    def is_share(self, name: str) -> bool:
        """Whether a measure is a proportion of units."""
        return False

    def differs_between(self, name: str) -> Collection[str]:
        """The kinds of groups that a measure compares, if it is a difference between groups."""
        return ()

    def _why_incomparable(self, units: Flags) -> str:
        """The reason why the number of these units cannot be compared with numbers of other units, '' if it can. Such
        comparisons are impossible if the judge's errors depend on a kind of group and these units come from only some
        groups of that kind."""
        inside = {kind: {names[unit] for unit in np.flatnonzero(units).tolist()} for kind, names in self.kinds.items()}
        return self.depends_on([kind for kind, names in self.kinds.items() if inside[kind] != set(names)])

    def complete(self, name: str) -> Flags:
        """The units [U] with all human labels that a measure needs."""
        return self.labelled.whole

    def corrected(self, resting: JudgedNumber) -> Variants:
        """One of the numbers, in three variants."""
        return self.variant(resting.name, resting.units)

    def variant(self, name: str, units: Flags, resampling: Resampling | None = None) -> Variants:
        """A measure of some units [U], in three variants."""
        over = resampling or self.resampling
        whole, alone = self._correct_by_units(name, units, over)
        corrected = whole if self.by_units else self._undo_errors(name, units, over)
        return Variants(leading(corrected, len(self.people.id)), self.judged_alone(name, units), corrected, alone)

    def over(self, resting: JudgedNumber, items: Sequence[str], resampling: Resampling) -> NumberOverItems:
        """A number over some items."""
        places = {name: place for place, name in enumerate(items)}
        at = np.array([places.get(name, -1) for name in self.items], np.int64)[self.resampling.cluster]
        units = resting.units & (at >= 0)
        among = over_clusters(resampling, np.where(at >= 0, at, len(items) - 1))
        found = self.variant(resting.name, units, among)
        moved = None if isnan(found.corrected.low) else self._influence_of(resting.name, units, among)
        return NumberOverItems(found, moved, self._why_incomparable(resting.units))

    def _correct_by_units(self, name: str, units: Flags, over: Resampling) -> tuple[Estimate, Estimate]:
        """The measure corrected with the completely labelled units, and the measure from these units alone."""
        known, complete = self._measured_units(name, units), self.complete(name)
        if not (complete & known & np.isfinite(self.of_people[name])).any():
            none = not_computed(f"no {self.unit} is completely labelled here", level=over.level)
            return none, none
        draw = self.labelled.draw(complete, over).of(known)
        values = self.of_people[name][known], self.plain[name][known]
        three = whole_units(draw, *values, self.within(name), over.level, share=self.is_share(name))
        return three.corrected, three.labelled

    def _undo_errors(self, name: str, units: Flags, over: Resampling) -> Estimate:
        if name not in self.undone:
            return not_computed(self.absent(name), level=over.level)
        if why := self.depends_on(self.differs_between(name)):
            return not_computed(why, level=over.level)
        flaw = self.flaw(name) or self._why_incomparable(units)
        return corrected_ratio(self.undone[name].of(units), self.within(name), over, len(self.people.id), flaw)

    def _measured_units(self, name: str, units: Flags) -> Flags:
        return units & (np.isfinite(self.plain[name]) | np.isfinite(self.of_people[name]))

    def _influence_of(self, name: str, units: Flags, over: Resampling) -> CorrectedInfluence:
        if not self.by_units:
            return moved_by(self.undone[name].of(units), over)
        known = self._measured_units(name, units)
        draw = self.labelled.draw(self.complete(name), over).of(known)
        values = self.of_people[name][known], self.plain[name][known]
        return moved_by_units(draw, *values, self.within(name), share=self.is_share(name))


def over_clusters(resampling: Resampling, cluster: Ints) -> Resampling:
    """Apply a resampling rule to other clusters."""
    return Jackknife(resampling.level, unit=resampling.unit).over(cluster)


def corrected_difference(
    base: NumberOverItems, candidate: NumberOverItems, within: Range, level: float, *, alike: bool
) -> tuple[Estimate, Estimate]:
    """Candidate minus base over the same items: the corrected difference, and the difference from human labels alone.

    The jackknife leaves each item out of both numbers at once. With `alike`, the same labels correct both numbers. If
    this jackknife is impossible, the limits come from the two numbers' intervals (MOVER). If the judge's errors differ
    between the groups, there is no corrected difference.
    """
    of_candidate, of_base = candidate.variants, base.variants
    labelled = difference(of_candidate.labelled, of_base.labelled)
    if why := base.alone or candidate.alone:
        return not_computed(why, level=level), labelled
    apart = difference(of_candidate.corrected, of_base.corrected)
    if candidate.moved is None or base.moved is None:
        return apart, labelled
    if len(candidate.moved.influence.parts) != len(base.moved.influence.parts):
        return apart, labelled
    moved = replace(candidate.moved.minus(base.moved, alike=alike), value=apart.value)
    if moved.gaps(level).spread == (0.0, 0.0):
        return apart, labelled
    low, high = within[0] - within[1], within[1] - within[0]
    return moved.estimate(level, (low, high), "corrected, paired over items"), labelled
