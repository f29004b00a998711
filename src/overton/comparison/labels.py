"""Comparison of numbers that are corrected by human labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isnan
from typing import TYPE_CHECKING

from msgspec import structs

from overton.analysis.labels import cases_of
from overton.runs.run import Run
from overton.statistics import Estimate
from overton.statistics.comparison import Gap, equivalence_level
from overton.statistics.jackknife import Jackknife, Resampling
from overton.studies.contributions import Contribution, Sides
from overton.studies.label_shares import Variants
from overton.studies.measurement import How
from overton.studies.results import Results

if TYPE_CHECKING:
    from overton.studies.correction import NumberOverItems

    Correction = Callable[[Sequence[str], Resampling], NumberOverItems]


@dataclass(frozen=True)
class Corrected:
    """A pair's measure in three variants (the judge alone, corrected, and the labelled units alone), over the items
    that both models have.

    `base`, `candidate` and `difference` have the three variants by name. `alone` has the corrected difference's
    intervals for this pair alone, and `together` its simultaneous intervals for all pairs of the measure. If `leads` is
    True, the corrected difference is the preferred estimate. This requires enough labels for both models, and an
    interval for the difference.
    """

    base: Variants
    candidate: Variants
    difference: Mapping[str, Estimate]
    alone: Gap
    together: Gap | None
    leads: bool


def with_labels(sides: Sides, run: Run, results: Results, how: How) -> Sides:
    """Every model's contributions. A contribution also has the corrected number if some of its units have human
    labels."""
    found = {
        (entry.model, entry.compared): (partial(case.over, entry), task)
        for task, case in cases_of(run, results, how)
        for entry in case.listed
        if entry.compared
    }
    return {
        model: [_add_correction(contribution, found.get((model, contribution.measure.name))) for contribution in own]
        for model, own in sides.items()
    }


def _add_correction(contribution: Contribution, found: tuple[Correction, str] | None) -> Contribution:
    return contribution if found is None else replace(contribution, corrected=found[0], labels=found[1])


def correct_difference(
    both: tuple[Contribution, Contribution],
    items: Sequence[str],
    jackknife: Jackknife,
    difference: Estimate,
    pairs: int,
) -> Corrected | None:
    """The corrected numbers of a pair over shared items, next to the judge's `difference`; None if a model has no
    corrected numbers, or if no items are shared.

    If several pairs are compared, their simultaneous intervals use Bonferroni's inequality.
    """
    if both[0].corrected is None or both[1].corrected is None or not items:
        return None
    made = _PairByLevel(both, items, jackknife)
    base, candidate = (number.variants for number in made.over(jackknife.level))
    alone, labelled = made.gap(jackknife.level)
    together = made.gap(1 - (1 - jackknife.level) / pairs)[0] if pairs > 1 else None
    leads = base.leads == candidate.leads == "corrected" and not isnan(alone.own.low)
    difference_by = {"plain": difference, "corrected": alone.own, "labelled": labelled}
    return Corrected(base, candidate, difference_by, alone, together, leads)


@dataclass(frozen=True)
class _PairByLevel:
    """The corrected numbers of a pair over shared items, at any confidence level."""

    both: tuple[Contribution, Contribution]
    items: Sequence[str]
    jackknife: Jackknife

    def over(self, level: float) -> tuple[NumberOverItems, NumberOverItems]:
        """The corrected numbers of base and candidate."""
        resampling = replace(self.jackknife, level=level).over(len(self.items))
        base, candidate = (
            contribution.corrected(self.items, resampling)
            for contribution in self.both
            if contribution.corrected is not None
        )
        return base, candidate

    def gap(self, level: float) -> tuple[Gap, Estimate]:
        """The corrected difference with its equivalence interval, and the difference over the labelled units."""
        alike, within = self.both[0].labels == self.both[1].labels, self.both[0].measure.within
        from overton.studies.correction import corrected_difference

        inner = equivalence_level(level)
        own, labelled = corrected_difference(*self.over(level), within, level, alike=alike)
        every = (own, corrected_difference(*self.over(inner), within, inner, alike=alike)[0], labelled)
        counted = [structs.replace(estimate, n=len(self.items)) for estimate in every]
        return Gap(*counted[:2]), counted[2]
