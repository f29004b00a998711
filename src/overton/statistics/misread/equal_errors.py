"""Does a judge err equally often for all models, and in all conditions? Undoing its errors assumes that it does.

A number of one model is corrected by the judge's errors in the labels of all models. If the judge errs more often for
one of two models, a difference between them that does not exist remains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.statistics.judge_errors import EqualErrors
from overton.statistics.misread.confusion import Readings
from overton.statistics.proportions import difference_limits

__all__ = ["equal_errors"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

_PERMUTED = 2_000
_NOTHING = 1e-12


def equal_errors(readings: Readings, groups: Mapping[str, Sequence[str]], seed: int = 0) -> tuple[EqualErrors, ...]:
    """Test each kind of group: `groups` has, by kind, the name of each labelled row's group [n].

    All rows of a unit (`readings.group`) belong to one group. A residue is an error less the rate of errors for the
    row's true label. The statistic is the sum over groups of the squared sum of residues over the number of rows,
    compared with its values if whole units were exchanged between groups, since errors may cluster in units.
    """
    random = np.random.default_rng(seed)
    found = [_test(readings, kind, names, random) for kind, names in groups.items()]
    known = sorted((one.p, place) for place, one in enumerate(found) if not isnan(one.p))
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        found[place] = msgspec.structs.replace(found[place], p=least)
    return tuple(found)


def _test(readings: Readings, by: str, names: Sequence[str], random: np.random.Generator) -> EqualErrors:
    kinds, code = np.unique(np.array(names, str), return_inverse=True)
    labels = np.bincount(code, minlength=len(kinds))
    wrong = np.bincount(code, readings.errors, len(kinds))
    rates = {str(name): float(rate) for name, rate in zip(kinds, wrong / np.maximum(labels, 1), strict=True)}
    counts = {str(name): int(many) for name, many in zip(kinds, labels, strict=True)}
    residues = readings.residues
    if len(kinds) < 2 or float(residues @ residues) < _NOTHING:
        return EqualErrors(by, rates, counts, nan, nan)
    _, first, unit = np.unique(readings.group, return_index=True, return_inverse=True)
    sums, sizes = np.asarray(np.bincount(unit, residues), float), np.bincount(unit)
    own = code[first]
    exchanged = random.permuted(np.tile(own, (_PERMUTED, 1)), axis=1)
    seen = float(_distance(own[None], sums, sizes, len(kinds))[0])
    as_much = int((_distance(exchanged, sums, sizes, len(kinds)) >= seen - 1e-9).sum())
    alike = max(1.0, float(sums @ sums) / float(residues @ residues))
    most = max(_most(wrong[one], labels[one], wrong.sum(), labels.sum(), alike) for one in range(len(kinds)))
    return EqualErrors(by, rates, counts, (as_much + 1) / (_PERMUTED + 1), most)


def _distance(groups: Ints, sums: Array, sizes: Ints, many: int) -> Array:
    """The statistic for groups of units [some, U]."""
    total = np.zeros(len(groups))
    for number in range(many):
        inside = groups == number
        total += (inside @ sums) ** 2 / np.maximum(inside @ sizes, 1)
    return total


def _most(wrong: float, labels: int, all_wrong: float, all_labels: int, alike: float) -> float:
    """The furthest limit of the difference between one group's rate and that of the others (Newcombe 1998), for as
    many independent labels as those that are `alike` in units are worth."""
    others = all_labels - labels
    low, high = difference_limits(wrong / labels, labels / alike, (all_wrong - wrong) / others, others / alike)
    return max(abs(float(low)), abs(float(high)))
