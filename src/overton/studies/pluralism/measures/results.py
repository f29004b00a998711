"""From units to results: every measure, contrast and count in every scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from overton.statistics import Estimate
from overton.statistics.resampling import Resampling, Sums
from overton.studies.pluralism.measures.analysis import Against, Contrast, Result, Shift
from overton.studies.pluralism.measures.comparing import SHIFTS, comparisons, in_order, named
from overton.studies.pluralism.measures.contrasting import contrast
from overton.studies.pluralism.measures.scopes import Cells, Scope
from overton.studies.pluralism.measures.sums import NOTHING, gap, sums
from overton.studies.pluralism.measures.units import Names, Units, summed

__all__ = ["results"]

_SIGNED = ("spearman", "kendall")
_SHIFT = ("suppression", "amplification", "asymmetry")


@dataclass(frozen=True)
class _Columns:
    """Estimates and counts of every measure, by scope and condition."""

    measures: Mapping[str, list[Estimate]]
    counts: Mapping[str, list[int]]

    def at(self, place: int) -> tuple[dict[str, Estimate], dict[str, int]]:
        """Those of one condition in one scope."""
        return (
            {name: column[place] for name, column in self.measures.items()},
            {name: column[place] for name, column in self.counts.items()},
        )


def results(units: Units, names: Names, resampling: Resampling) -> dict[Scope, dict[str, Result]]:
    """The results of every condition, in every scope that has it."""
    cells, pairs = Cells(names, len(units.conditions)), comparisons(units.conditions)
    columns = _Columns(_measured(units, cells, resampling), _counted(units, cells))
    contrasts = contrast(units, pairs, names, resampling)
    made: dict[Scope, dict[str, Result]] = {}
    for scope, key in enumerate(cells.scopes):
        made[key] = {}
        for name in in_order(units.conditions):
            condition = units.conditions.index(name)
            measures, counts = columns.at(scope * len(units.conditions) + condition)
            mine = [(kind, pair) for kind, pair in enumerate(pairs) if pair.condition == condition]
            if counts["threads"]:
                found = {pair.against: contrasts[scope, kind] for kind, pair in mine}
                others = {pair.against: units.conditions[pair.other] for _, pair in mine}
                made[key][name] = _result(name, measures, counts, found, others)
    return made


def _result(
    name: str,
    measures: dict[str, Estimate],
    counts: dict[str, int],
    found: Mapping[Against, Mapping[str, Contrast]],
    others: dict[Against, str],
) -> Result:
    own = named(name)
    contrasts = {
        against: {measure: one for measure, one in held.items() if measure not in _SHIFT}
        for against, held in found.items()
    }
    return Result(own.arm, own.setting, measures, contrasts, others, dict(_shifts(own.arm, found)), counts)


def _shifts(arm: str, found: Mapping[Against, Mapping[str, Contrast]]) -> Iterator[tuple[Against, Shift]]:
    for against, held in found.items():
        if arm in SHIFTS and against != "twin" and "suppression" in held:
            yield against, Shift(*(held[name].difference for name in _SHIFT))


def _measured(units: Units, cells: Cells, resampling: Resampling) -> dict[str, list[Estimate]]:
    counts = sums(cells, units.where, units.above, units.below, resampling)
    compared = {name for _, *both in units.gaps for name in both}
    found: dict[str, list[Estimate]] = {}
    kept: dict[str, Sums] = {}
    for name, one in zip(units.measures, counts, strict=True):
        (found[name],) = resampling.ratios([one], NOTHING, share=name not in _SIGNED)
        kept |= {name: one} if name in compared else {}
    return found | {name: gap(kept[first], kept[second], resampling) for name, first, second in units.gaps}


def _counted(units: Units, cells: Cells) -> dict[str, list[int]]:
    """Sums of the counts, and how many units there are."""
    cell = cells.number(units.where)
    columns = {"threads": np.ones(len(cell)), **dict(zip(units.counted, units.counts.T, strict=True))}
    sums = {name: cells.over(summed(cell, cells.many, column)) for name, column in columns.items()}
    return {name: np.rint(column).astype(int).tolist() for name, column in sums.items()}
