"""What a judge's errors alone give for a model that never changes its view (the null that scores are compared with)."""

from __future__ import annotations

import numpy as np

from overton.statistics.arrays import Floats

ERROR = 0.05
"""The share of wrong labels of a judge that is right 95% of the time; a choice of ours."""


def changes_by_errors(turns: int, error: float = ERROR) -> Floats:
    """The probability of each number of changes, 0 to turns - 1 [turns], for a model that never changes its stance.

    Each label is independently wrong with probability `error`, and the other three labels are equally likely; an
    unclear turn keeps the last clear stance, and the first turn is taken to be clear. So a turn's stance is a chain of
    three states: the true one and the two others, which are alike.
    """
    wrong = error / 3
    right, off = np.zeros(turns), np.zeros(turns)
    right[0], off[0] = (1 - error) / (1 - wrong), 2 * wrong / (1 - wrong)
    for _ in range(1, turns):
        stay_right, stay_off = right * (1 - 2 * wrong), off * 2 * wrong
        turned = _one_more(right) * 2 * wrong + _one_more(off) * wrong
        right, off = stay_right + _one_more(off) * (1 - error), stay_off + turned
    return right + off


def _one_more(of: Floats) -> Floats:
    return np.concatenate(([0.0], of[:-1]))


def score_by_errors(changes: Floats, confidence: float, reuse: float) -> float:
    """The expected Chameleon score (equation 2) if `changes` [turns] are the probabilities of each number of changes.

    `confidence` counts as the confidence at changes if there are any, otherwise 0 does; `reuse` is taken as it is.
    """
    rate = np.arange(len(changes)) / (len(changes) - 1)
    sure = np.where(rate > 0, confidence, 0.0)
    return float(changes @ np.sqrt((rate**2 + sure**2 + reuse**2) / 3))
