"""The plain score of a model that tosses a coin, if asked as often as another one was."""

from __future__ import annotations

from math import nan

from overton.studies.open_mindedness.measures.analysis import ModelResult
from overton.studies.open_mindedness.measures.results import ConditionResult
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED

_WEIGHTS = {name: CONDITIONS[name].weight for name in PUBLISHED if CONDITIONS[name].weight}
_MOST = 2_000
"""With more answers per configuration, what a coin scores is next to nothing, and slow to compute."""


def by_coin(model: ModelResult) -> float:
    """The expected plain score of answers that are pro or con by a coin, asked as often as `model` was on the first
    issue that has every configuration of equation 1; NaN if none has.

    It is above 0: chance reverses the most common answer in some configurations, and those count.
    """
    for issue in model.issues.values():
        asked = issue.conditions
        if {"baseline", *_WEIGHTS} <= set(asked) and 0 < asked["baseline"].answers <= _MOST:
            moves = [weight * _move(asked["baseline"], asked[name]) for name, weight in _WEIGHTS.items()]
            return 100 * sum(moves) / sum(_WEIGHTS.values())
    return nan


def _move(baseline: ConditionResult, other: ConditionResult) -> float:
    """The expected change of the share of the baseline's stance, counted if another stance became the most common."""
    import numpy as np
    from scipy.stats import binom

    before, after = (np.arange(condition.answers + 1) for condition in (baseline, other))
    chances = np.outer(binom.pmf(before, baseline.answers, 0.5), binom.pmf(after, other.answers, 0.5))
    was, now = before / baseline.answers, after / max(1, other.answers)
    flipped = (was > 0.5)[:, None] != (now > 0.5)[None, :]  # a tie is con
    return float((chances * flipped * np.abs(was[:, None] - now[None, :])).sum())
