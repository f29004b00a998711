"""Measures of many of a judge's labels, corrected by the labels that people gave to some of its rows.

`label_shares` corrects the share of each label. How measures of many labels rest on them differs between studies, which
declare it (`Correcting`): `people_labels` has the labels as values, `CorrectionCase` is a study's part of correction,
and `placed` puts corrected numbers where an analysis has plain ones.

If people labelled whole units (conversations, threads in a condition), each unit's own values are corrected; otherwise
the judge's errors are undone label by label (`overton.statistics.misclassification`).
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
"""The place of a number in an analysis: the names of fields, keys and indices of tuples on the way to it."""


def placed(value: Value, numbers: Mapping[Place, Variants]) -> Value:
    """A value made of structs, mappings and tuples, in which some estimates are replaced by those that lead, with their
    variants; the rest is unchanged. The judge's own variant is the one that was there before.

    Raises:
        KeyError, AttributeError, IndexError: there is no such place.
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
    """A number that rests on many of a judge's labels: a measure over some units [U].

    group     whom or what it describes, '' for everything; None if it is reported in its place only
    name      the measure
    place     where an analysis has it, None if nowhere
    model     whose it is, '' for all models together
    compared  the measure's name if models are compared by it, '' if not
    """

    group: str | None
    name: str
    units: Flags
    place: Place | None = None
    model: str = ""
    compared: str = ""


@dataclass(frozen=True)
class NumberOverItems:
    """A number over some items, and what moves it by item; None if it has no interval. `alone` says why it cannot be
    compared with numbers of other groups, '' if it can."""

    variants: Variants
    moved: CorrectedInfluence | None
    alone: str = ""


@dataclass(frozen=True)
class LabelledUnits:
    """Judged rows [R] that belong to units [U], and what people say of the rows at `place` [n].

    `unit` [R] numbers each row's unit; intervals are over the groups into which `resampling` puts the units.
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

    @cached_property
    def chance(self) -> Floats:
        """How likely each unit was to be drawn [U], if they were drawn whole."""
        chance = np.ones(len(self.whole))
        chance[self.unit[self.place]] = self.people.chance
        return chance

    def readings(self, judged: Ints, outcomes: int) -> DoublyLabelled:
        """The rows that both labelled; `judged` [R] are the judge's labels, each one of so many `outcomes`."""
        _, group = np.unique(self.unit[self.place], return_inverse=True)
        return DoublyLabelled(self.people.value, judged[self.place], 1 / self.people.chance, group, outcomes)

    def draw(self, complete: Flags, resampling: Resampling) -> LabelDraw:
        """The draw of units that are completely labelled: `complete` [U]."""
        return LabelDraw(complete, self.chance, resampling.cluster.astype(np.int64))

    def plans(  # noqa: PLR0917
        self, undone: CorrectedSums, of_people: Floats, of_judge: Floats, complete: Flags, units: Flags, width: float
    ) -> tuple[LabelCount, ...]:
        """How many labels bring the interval of a measure of `units` [U] to a width: of single rows, of whole units.

        Until three units are `complete` [U], the judge is assumed to say nothing about a unit's value.
        """
        rows = rows_for_width(gaps_of(undone, self.resampling), len(self.people.id), len(self.unit), width)
        judged = of_judge[units]
        pilot = (of_people[complete], of_judge[complete]) if complete.sum() > 2 else (judged, np.zeros(len(judged)))
        size = len(self.unit) / len(self.whole)
        return rows, units_for_width(*pilot, judged, width, size=size, level=self.resampling.level)


class CorrectionCase(ABC):
    """The numbers of a study that rest on a judge's labels, and human labels for some of these."""

    people: People
    seed: int

    @property
    @abstractmethod
    def readings(self) -> DoublyLabelled:
        """The rows that both labelled; rows of one unit form one group."""

    @property
    @abstractmethod
    def labelled(self) -> LabelledUnits:
        """The units, and which of their rows people labelled."""

    @abstractmethod
    def numbers(self) -> Iterator[JudgedNumber]:
        """All numbers that are corrected."""

    @abstractmethod
    def corrected(self, resting: JudgedNumber) -> Variants:
        """One of them, in three variants."""

    def over(self, resting: JudgedNumber, items: Sequence[str], resampling: Resampling) -> NumberOverItems:
        """A number by which models are compared, over some items; `resampling` has them by their place there."""
        raise NotImplementedError(f"{resting.name} is declared as compared, and its case does not say how")

    @property
    def by_units(self) -> bool:
        """Whether units are corrected by their own values."""
        return self.labelled.by_units

    @property
    def how(self) -> str:
        """How numbers are corrected: see `LabelledNumbers`."""
        return "whole units" if self.by_units else "errors undone"

    @property
    def clustering(self) -> str:
        """Whether errors in one unit cluster, in a sentence."""
        return str(self.together) if len(self.people.id) else "Nothing is labelled."

    @cached_property
    def together(self) -> ErrorClustering:
        """Whether errors in one unit cluster."""
        return error_clustering(self.readings, self.seed)

    @property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The groups of units, by kind: for 'model' the name of each unit's model [U], for 'condition' its condition.
        The judge may err more often for some of them, which is tested."""
        return {}

    @cached_property
    def equal_errors(self) -> tuple[EqualErrors, ...]:
        """For each kind of group whether errors depend on it; none if nothing is labelled."""
        if not len(self.people.id):
            return ()
        of = self.labelled.unit[self.labelled.place]
        several = {kind: names for kind, names in self.kinds.items() if len(set(names)) > 1}
        groups = {kind: [names[unit] for unit in of.tolist()] for kind, names in several.items()}
        return equal_errors(self.readings, groups, self.seed)

    def depends_on(self, kinds: Collection[str]) -> str:
        """Why numbers of one group are not compared with those of others of the same kind, if the judge's errors depend
        on one of these kinds; '' if they do not, or if whole units are corrected."""
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
        """Each of them, corrected."""
        return [self.corrected(number) for number in self.listed]

    def summary(self) -> LabelledNumbers:
        """The numbers of groups, by measure."""
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
        """The numbers that an analysis has, by their place in it."""
        pairs = zip(self.listed, self.found, strict=True)
        return {number.place: found for number, found in pairs if number.place is not None}


class UnitCase(CorrectionCase):
    """Units [U] that have values of their own, which rest on the judge's labels of their rows.

    `place` numbers the rows that people labelled. `items` names what intervals are over, by its number in
    `resampling.cluster`.
    """

    place: Ints
    resampling: Resampling
    items: Sequence[str]
    draws: int

    unit = "unit"
    """The word in a sentence for the thing that is labelled as a whole."""

    @property
    @abstractmethod
    def plain(self) -> Mapping[str, Floats]:
        """Each measure by the judge alone [U], NaN if a unit has none."""

    @property
    @abstractmethod
    def of_people(self) -> Mapping[str, Floats]:
        """Each measure by people alone [U], NaN if they did not label the whole unit."""

    @property
    def undone(self) -> Mapping[str, CorrectedSums]:
        """Each measure with the judge's errors undone; those for which this is impossible are left out."""
        return {}

    @abstractmethod
    def within(self, name: str) -> Range:
        """The range of a measure."""

    @abstractmethod
    def judged_alone(self, name: str, units: Flags) -> Estimate:
        """A measure of some units as the analysis has it."""

    def absent(self, name: str) -> str:
        """Why a measure's errors cannot be undone."""
        return "the judge hardly distinguishes the labels" if len(self.place) else "nothing is labelled"

    def flaw(self, name: str) -> str:
        """Why a measure whose errors were undone still has no interval; '' if it has one."""
        return ""

    def is_share(self, name: str) -> bool:
        """Whether a measure is a share of units, each of which has it or not."""
        return False

    def differs_between(self, name: str) -> Collection[str]:
        """The kinds of groups between which a measure is a difference."""
        return ()

    def _why_incomparable(self, units: Flags) -> str:
        """Why numbers of these units are not compared with those of others, if they are some groups of a kind on which
        the judge's errors depend."""
        inside = {kind: {names[unit] for unit in np.flatnonzero(units).tolist()} for kind, names in self.kinds.items()}
        return self.depends_on([kind for kind, names in self.kinds.items() if inside[kind] != set(names)])

    def complete(self, name: str) -> Flags:
        """The units [U] that people labelled completely, as far as a measure needs."""
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
        """Corrected by the units that are completely labelled, and by these alone."""
        known, complete = self._measured_units(name, units), self.complete(name)
        if not (complete & known & np.isfinite(self.of_people[name])).any():
            none = not_computed(f"no {self.unit} is labelled whole here", level=over.level)
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
    """The same rule over other clusters."""
    return Jackknife(resampling.level, unit=resampling.unit).over(cluster)


def corrected_difference(
    base: NumberOverItems, candidate: NumberOverItems, within: Range, level: float, *, alike: bool
) -> tuple[Estimate, Estimate]:
    """Candidate minus base over the same items: corrected, and by the labelled units alone.

    Both are moved by the same items, which are left out of both together; `alike` ones are corrected by the same
    labels. If the two cannot be combined in this way, limits come from both intervals (MOVER). There is no corrected
    difference of groups on which one judge's errors depend.
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
