from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from overton.statistics.partial_pooling import drawn_chances

SIGNS = np.broadcast_to(np.array([(1, 1), (1, 1), (-1, 1), (1, -1), (-1, -1), (1, -1)], float), (30, 6, 2))


def answered(chances: NDArray[np.float64], n: int, seed: int = 0) -> NDArray[np.int64]:
    return np.random.default_rng(seed).binomial(n, chances)


def drawn(chances: NDArray[np.float64], n: int, draws: int = 300) -> NDArray[np.float64]:
    counts = answered(chances, n)
    return drawn_chances(counts, np.full_like(counts, n), SIGNS[: len(counts)], draws, np.random.default_rng(1))


def spread(letter: float = 0.0, seed: int = 3) -> NDArray[np.float64]:
    lean = np.random.default_rng(seed).normal(0, 1, 30)[:, None, None]
    effect = np.array([0.0, 2.0, -2.0])[:, None]
    return np.asarray(expit(lean + effect + letter * SIGNS[:, None, :, 0]))


DATASETS = range(4)


@pytest.mark.parametrize("letter", [0.0, 1.0])
def test_chances_are_nearer_the_truth_than_shares_of_few_answers(letter: float) -> None:
    """Half the error was measured over 16 data sets, 0.61 and 0.72 times at the worst."""
    plain, pooled = 0.0, 0.0
    for seed in DATASETS:
        truth = spread(letter, seed)
        plain += np.square(answered(truth, 2).mean(-1) / 2 - truth.mean(-1)).mean()
        pooled += np.square(drawn(truth, 2).mean((0, -1)) - truth.mean(-1)).mean()
    assert pooled < 0.65 * plain


def test_limits_from_draws_cover_the_truth_about_as_often_as_they_say() -> None:
    """93 and 95 in a hundred were measured over 16 data sets, from 82 to 100 in one: they share fitted numbers."""
    held = []
    for seed in DATASETS:
        truth = spread(0.0, seed).mean(-1)
        low, high = np.quantile(drawn(spread(0.0, seed), 2).mean(-1), (0.025, 0.975), axis=0)
        held.append(((low <= truth) & (truth <= high)).mean())
    assert np.mean(held) > 0.88


def test_answers_that_repeat_leave_no_doubt() -> None:
    truth = np.random.default_rng(2).integers(0, 2, (30, 3, 6)).astype(float)
    made = drawn(truth, 2)
    assert np.abs(made.mean(0) - truth).max() < 0.1
    assert made.mean(-1).std(0).mean() < 0.02


def test_many_answers_outweigh_the_prior() -> None:
    truth = spread()
    assert np.abs(drawn(truth, 400).mean(0) - answered(truth, 400) / 400).max() < 0.05


def test_things_without_answers_are_as_wide_as_all_others_are_apart() -> None:
    counts = answered(spread(), 20)
    answers = np.full_like(counts, 20)
    counts[0], answers[0] = 0, 0
    made = drawn_chances(counts, answers, SIGNS, 300, np.random.default_rng(1)).mean(-1)
    assert made[:, 0].std(0).min() > 2 * made[:, 1:].std(0).mean()


@pytest.mark.parametrize("things", [1, 2])
def test_one_or_two_things_are_enough_to_draw(things: int) -> None:
    made = drawn(spread()[:things], 2)
    assert made.shape == (300, things, 3, 6)
    assert ((made >= 0) & (made <= 1)).all()
