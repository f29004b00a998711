"""A judge's proportions, corrected with human labels that were sampled with unequal probabilities. Strata are corrected
first, then summed.

All rows with the same label from the judge form a stratum. The stratum's size is known. Within the stratum, the
proportion by human labels has Wilson's limits. The limits of the sum over strata follow from the limits of each stratum
(MOVER: Zou and Donner 2008, Statistics in Medicine 27:1693, equation 7). A common variance for all strata would be
wrong for such samples, because a stratum's error rate and its sampling probability may be related. Each stratum's own
observed variance would be too small for strata without an observed error. docs/judge-reference.md has the coverage with
a common variance and with observed variances.
"""

from __future__ import annotations

import itertools
from math import hypot, sqrt
from typing import NamedTuple

import numpy as np

from overton.statistics.arrays import Floats, Ints
from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
from overton.statistics.proportions import wilson_limits

_ZERO = 1e-18
_CHANCE_TOLERANCE = 1e-9
_DIGITS = 12
_VARIED_CHANCE = -1.0
"""The probability recorded for a label whose rows were sampled with different probabilities."""


class StratifiedShare(NamedTuple):
    """A proportion, its limits and standard error, and the proportion by human labels in each stratum. A stratum
    without human labels has the judge's proportion."""

    value: float
    low: float
    high: float
    error: float
    by_stratum: Floats


def strata_of(draw: LabelDraw, labels: JudgeAndHumanValues) -> Ints:
    """The stratum of each row [N], numbered from 0.

    Two rows are in one stratum if the judge gave them the same value, and their labels have the same sampling
    probability. If this probability varies within some labels, these labels are treated as if they had a common
    probability. If a label has no human-labelled row, its sampling probability is unknown. If exactly one stratum has
    the same value from the judge, the label's rows join this stratum. Otherwise they form their own stratum.
    """
    label = draw.label if draw.label is not None else np.zeros(len(draw.labelled), np.int64)
    kinds, kind = np.unique(np.stack([labels.judged, label]), axis=1, return_inverse=True)
    kind, values = kind.reshape(-1), kinds[0].tolist()
    chance, drawn = draw.chance[draw.labelled], kind[draw.labelled]
    lowest, highest = np.full(len(values), np.inf), np.zeros(len(values))
    np.minimum.at(lowest, drawn, chance)
    np.maximum.at(highest, drawn, chance)
    rows = np.bincount(drawn, minlength=len(values))
    varies = highest - lowest > _CHANCE_TOLERANCE * highest
    varies |= varies.any() & (rows == 1)  # one row cannot show that its label has one chance
    chances = [_VARIED_CHANCE if some else round(most, _DIGITS) for some, most in zip(varies, highest, strict=True)]
    keys = list(zip(values, chances, strict=True))
    strata = {key: number for number, key in enumerate(dict.fromkeys(itertools.compress(keys, rows)))}
    found = []
    for number, (value, _) in enumerate(keys):
        same = [key for key in strata if key[0] == value]
        joined = keys[number] if rows[number] else same[0] if len(same) == 1 else (value, number + 2.0)
        found.append(strata.setdefault(joined, len(strata)))
    return np.array(found, np.int64)[kind]


def stratified_share(
    draw: LabelDraw,
    labels: JudgeAndHumanValues,
    stratum: Ints,
    level: float,
    lent: Floats | None = None,
    *,
    alone: bool = False,
) -> StratifiedShare:
    """The corrected proportion over all rows: the mean of the strata's proportions, weighted by their numbers of rows.

    `stratum` [N] has the index of each row's stratum. A stratum without human labels has the limits 0 and 1. Its
    proportion is taken from `lent` [strata], or from the judge's labels if `lent` is None. With `alone`, the sizes of
    strata come from the labelled rows, each weighted by 1 / chance. These sizes are uncertain unless all rows are
    labelled.
    """
    shown, many = draw.labelled, int(stratum.max()) + 1 if lent is None else len(lent)
    of, people, weight = stratum[shown], labels.people[shown], 1 / draw.chance[shown]
    rows, stood_for = np.bincount(stratum, minlength=many), np.bincount(of, weight, many)
    size, by_labels = rows / len(stratum), stood_for / stood_for.sum()
    sizes_vary = alone and not np.allclose(by_labels, size, rtol=0, atol=_CHANCE_TOLERANCE)
    size = by_labels if alone else size
    inside = weight / stood_for[of]
    others = np.bincount(stratum, labels.judged, many) / np.maximum(rows, 1) if lent is None else lent
    share = np.where(stood_for > 0, np.bincount(of, inside * people, many), others)
    value, residue, missed = float(size @ share), people - share[of], np.ones(len(of))
    if draw.these:  # if only some sampled rows were labelled, a row's chance of a label is below its chance in `draw`
        missed -= np.minimum(draw.chance[shown] * (stood_for / np.maximum(rows, 1))[of], 1)
    by_people, by_sizes = np.zeros(len(shown)), np.zeros(len(shown))
    by_people[shown] = size[of] * inside * np.sqrt(missed) * residue
    if sizes_vary:
        by_sizes[shown] = size[of] * inside * np.sqrt(missed) * (share[of] - value)
    elif not draw.these:
        by_sizes += (share[stratum] - value) / len(shown)
    by_weights = np.bincount(of, inside**2 * missed, many) * _relative_label_variance(of, people, many)
    by_residues = np.bincount(of, inside**2 * missed * residue**2, many) / np.maximum(share * (1 - share), _ZERO)
    spread = np.maximum(by_weights, by_residues) * _design_effects(draw, stratum, by_people, by_sizes, many)
    strata = _Strata(size, share, np.where(stood_for > 0, spread, np.inf))
    return _add_strata(strata, draw, draw.variance(by_sizes), level)


class _Strata(NamedTuple):
    """For each stratum: `size` is its proportion of all rows, `share` the human proportion p in it, and `spread` the
    variance of p divided by p (1 - p). The spread is infinite if the stratum has no labelled row."""

    size: Floats
    share: Floats
    spread: Floats


def _relative_label_variance(of: Ints, people: Floats, many: int) -> Floats:
    """The variance of human values in each stratum, relative to that of values 0 and 1 with the same mean. One more
    error is added to both. The ratio is below 1 if people differ, because some values are then between 0 and 1."""
    rows = np.maximum(np.bincount(of, minlength=many), 1)
    mean = np.bincount(of, people, many) / rows
    varies = np.bincount(of, (people - mean[of]) ** 2, many)
    return (varies + 1) / (rows * mean * (1 - mean) + 1)


def _design_effects(draw: LabelDraw, stratum: Ints, by_people: Floats, by_sizes: Floats, many: int) -> Floats:
    """The factor by which clusters raise the variance of each stratum's proportion (Kish's design effect), at least 1.
    If all labels in a stratum are equal, rows of one cluster are assumed to be always equal."""
    if draw.by_row:
        return np.ones(many)
    alone = np.bincount(stratum, by_people**2, many)
    inside = [np.where(stratum == number, by_people, 0.0) for number in range(many)]
    clustered = np.maximum([draw.variance(moved) for moved in inside], alone)
    found = np.ones(many)
    for number in range(many):
        rows = draw.labelled & (stratum == number)
        alike = rows.sum() / max(len(np.unique(draw.cluster[rows])), 1)
        found[number] = clustered[number] / alone[number] if alone[number] > _ZERO else max(alike, 1.0)
    jointly = draw.variance(by_people + by_sizes) - draw.variance(by_sizes)
    return found * max(1.0, jointly / max(float(clustered.sum()), _ZERO))


def _add_strata(strata: _Strata, draw: LabelDraw, of_sizes: float, level: float) -> StratifiedShare:
    """The sum over strata with its limits; `of_sizes` is the variance that comes from the strata's sizes."""
    size, share, spread = strata
    freedom = None if draw.by_row else max(draw.independent - 1.0, 1.0)
    is_unknown, rows, value = np.isinf(spread), int(draw.labelled.sum()), float(size @ share)
    with np.errstate(divide="ignore"):
        limits = wilson_limits(share, 1 / spread, level, freedom)
    lows, highs = np.where(is_unknown, 0.0, limits[0]), np.where(is_unknown, 1.0, limits[1])
    below, above = size * (share - lows), size * (highs - share)
    if of_sizes > _ZERO:
        least, most = wilson_limits(value, _bernoulli_variance(np.array(value), rows) / of_sizes, level, freedom)
        below, above = np.append(below, value - least), np.append(above, most - value)
    variance = np.where(is_unknown, 0.25, _bernoulli_variance(share, rows) * np.where(is_unknown, 1, spread))
    error = sqrt(float(size**2 @ variance) + of_sizes)
    low, high = max(value - hypot(*below), 0.0), min(value + hypot(*above), 1.0)
    return StratifiedShare(value, low, high, error, share)


def _bernoulli_variance(share: Floats, rows: int) -> Floats:
    """p (1 - p), with p kept away from 0 and 1."""
    least = 1 / (2 * rows + 4)
    some = np.clip(share, least, 1 - least)
    return np.asarray(some * (1 - some))
