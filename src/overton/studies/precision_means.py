"""How precise means over conversations are so far: what studies share that stop once they are precise.

A headline of such a study is a mean of one value per conversation, a yes or no or a number with bounds. In a run that
stops, items have unequal numbers of conversations. A headline's limits are those of its mean over arms (an item in a
condition), each with its weight in the whole design (`overton.statistics.stopping`), which allow for having stopped.
The usual measures have the same weights (`overton.studies.arm_weights`), and the usual intervals over items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from overton.studies.precision import Arm, Judged, Limit, Looked

__all__ = ["SHARE", "Answered", "Mean", "judged_by_means", "too_few_trials", "twice"]

SHARE = "share"
"""The name that every such study gives to its shares of yes in each arm."""
_FEWEST = 3


class Answered(NamedTuple):
    """The answers of an arm, on [0, 1]: their sum, their number, and the sum of squares about their mean."""

    total: float = 0.0
    many: float = 0.0
    within: float = 0.0


class Mean(NamedTuple):
    """A headline: its name and title, the answers and weight of each arm that has it, its range, and whether its
    answers are numbers, whose spread has to be estimated; otherwise each is yes or no."""

    name: str
    title: str
    answers: Mapping[Arm, Answered]
    weights: Mapping[Arm, float]
    low: float = 0.0
    high: float = 1.0
    numbers: bool = False


def twice(condition: str) -> int:
    """The blocks of a condition in the first round: one conversation does not show how another would go."""
    return 2


def too_few_trials(trials: int) -> str:
    """Why a run of at most so many trials has nowhere to stop, '' if it has."""
    if trials >= _FEWEST:
        return ""
    return f"the first round asks everything twice: allow {_FEWEST} or more"


def judged_by_means(
    looked: Looked, wanted: Mapping[str, float], means: Sequence[Mean], shares: Mapping[Arm, Answered], title: str
) -> Judged:
    """What is known of the requested headlines (the first if none is requested), and of `shares` if they are.

    Several of `means` may have the same name (one per model): each of them then has to be as precise.
    """
    limits, wide = _shares(looked, shares, wanted[SHARE], title) if SHARE in wanted else ([], frozenset())
    named = {name for name in wanted if name != SHARE} or (set() if wanted else {means[0].name})
    variance = dict.fromkeys(looked.records, 0.0)
    any_wide = False
    whole = []
    for one in means:
        if one.name not in named:
            continue
        limit, parts = _limit(looked, one, wanted.get(one.name))
        whole.append(limit)
        if limit.wanted is None or not limit.half <= limit.wanted:
            any_wide = True
            for arm, part in parts.items():
                variance[arm] += part / (limit.wanted or 1.0) ** 2
    return Judged([*whole, *limits], wide, any_wide, variance)


def _limit(looked: Looked, mean: Mean, wanted: float | None) -> tuple[Limit, dict[Arm, float]]:
    """A headline's limits, and how much of its variance rests on each arm. Conditions differ, so only arms of the same
    condition inform each other."""
    from math import sqrt

    if not any(one.many for one in mean.answers.values()):
        return Limit(mean.name, mean.title, float("nan"), mean.low, mean.high, wanted), {}
    whole = sum(mean.weights.values())
    value = variance = 0.0
    parts: dict[Arm, float] = {}
    for name in sorted({arm.name for arm in mean.answers}):
        arms = sorted(arm for arm in mean.answers if arm.name == name)
        known = _condition(mean, arms, whole)
        value, variance = value + known[0], variance + known[1]
        parts |= dict(zip(arms, known[2], strict=True))
    wide, half = mean.high - mean.low, looked.reach * sqrt(variance)
    low, high = (mean.low + wide * min(max(value + side * half, 0.0), 1.0) for side in (-1, 1))
    scaled = {arm: part * wide**2 for arm, part in parts.items()}
    return Limit(mean.name, mean.title, mean.low + wide * value, low, high, wanted), scaled


def _condition(mean: Mean, arms: Sequence[Arm], whole: float) -> tuple[float, float, list[float]]:
    """Mean, variance and its parts [arms], for one condition's part of a headline."""
    import numpy as np

    from overton.statistics.stopping import mean_of_strata

    sums, counts, within = np.array([mean.answers[arm] for arm in arms], float).T
    weights = np.array([mean.weights[arm] / whole for arm in arms])
    known = mean_of_strata(sums, counts, weights, within if mean.numbers else None)
    return known.mean, known.variance, known.parts.tolist()


def _shares(
    looked: Looked, shares: Mapping[Arm, Answered], width: float, title: str
) -> tuple[list[Limit], frozenset[Arm]]:
    """Exact limits of each arm; an answer between yes and no, made of several, counts as the worse one."""
    from math import ceil, floor

    from overton.statistics.stopping import divided, exact_limits

    level = divided(looked.level, looked.arm_looks)
    found, wide = [], set()
    for arm in looked.records:
        one = shares.get(arm, Answered())
        low, _ = exact_limits(floor(one.total), one.many, level)
        _, high = exact_limits(ceil(one.total), one.many, level)
        value = one.total / one.many if one.many else float("nan")
        found.append(Limit(SHARE, title, value, float(low), float(high), width, *arm))
        if found[-1].half > width:
            wide.add(arm)
    return found, frozenset(wide)
