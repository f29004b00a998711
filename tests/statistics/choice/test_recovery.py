"""Known parameters are found again; benchmarks/recovery.py does this a thousand times and larger."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from overton.statistics.choice import ALL_MODELS, ChoiceFit, Decisions, Estimator, fit

Simulated = Callable[..., Decisions]
TRUTHS = np.array([1.98, 1.42, 1.19, 0.14, 0.87])


def named(found: ChoiceFit) -> np.ndarray:
    """Estimate, standard error and limits of the five, [5, 4]."""
    five = [*(found.inertia[m] for m in "ABC"), found.previous[ALL_MODELS], found.within[ALL_MODELS]]
    return np.array([(one.estimate, one.se, *one.interval) for one in five])


@pytest.mark.parametrize("seed", [1, 2])
def test_the_default_finds_the_truth(simulated: Simulated, seed: int) -> None:
    found = fit(simulated(seed, 150))
    estimates, errors = named(found)[:, :2].T
    assert found.converged
    assert np.all(errors < 0.12)
    assert np.all(np.abs(estimates - TRUTHS) < 3 * errors)
    assert found.dilemma_spread is not None
    assert found.dilemma_spread.estimate == pytest.approx(1, abs=0.15)


def test_intervals_cover_the_truth_as_often_as_they_say(simulated: Simulated) -> None:
    """Fourteen data sets, five parameters each: 66 of 70 expected. Those of `penalised` hold it far less often."""
    covered: dict[Estimator, int] = {"random": 0, "penalised": 0}
    for seed in range(14):
        decisions = simulated(
            100 + seed, 60, design=(("synchronous", "AB"), ("round-robin", "CA"), ("round-robin", "BCA"))
        )
        for estimator in covered:
            limits = named(fit(decisions, estimator=estimator, against=False))[:, 2:]
            covered[estimator] += int(np.sum((limits[:, 0] <= TRUTHS) & (limits[:, 1] >= TRUTHS)))
    assert covered["random"] >= 61
    assert covered["penalised"] < 56


def test_lasting_tastes_are_distinguished_from_inertia(simulated: Simulated) -> None:
    decisions = simulated(3, 40, taste=1.0)
    random, taste = fit(decisions, estimator="random"), fit(decisions)
    assert taste.estimator == "taste"
    assert random.likelihood_ratio is not None
    assert random.likelihood_ratio.statistic == pytest.approx(2 * (taste.loglik - random.loglik), abs=3)
    assert random.inertia["A"].estimate > taste.inertia["A"].estimate + 0.1
    assert np.all(np.abs(named(taste)[:, 0] - TRUTHS) < 3 * named(taste)[:, 1])
    assert taste.taste_spread is not None
    assert abs(taste.taste_spread.estimate - 1) < 3 * taste.taste_spread.se
    assert taste.loglik > random.loglik + 10


def test_errors_with_tastes_are_as_large_as_they_say(simulated: Simulated) -> None:
    """Five data sets, six parameters each, in standard errors from the truth."""
    away = []
    for seed in range(5):
        found = fit(simulated(200 + seed, 40, taste=1.0), estimator="taste")
        assert found.taste_spread is not None
        low, high = np.log(found.taste_spread.interval)
        of_taste = np.log(found.taste_spread.estimate) / ((high - low) / (2 * 1.96))
        away.append([*((named(found)[:, 0] - TRUTHS) / named(found)[:, 1]), of_taste])
    assert np.all(np.abs(np.mean(away, axis=0)) < 3 / 5**0.5)
    assert 11 < np.sum(np.square(away)) < 62  # 30 expected; between them lie 99.9% of chi-squared


def test_where_there_is_neither_inertia_nor_conformity_the_default_takes_no_taste_for_them(
    simulated: Simulated,
) -> None:
    """Ten data sets, five parameters each, whose truth is nothing: within 2.5 standard errors but for a few."""
    nothing = dict.fromkeys("ABC", 0.0)
    away = []
    for seed in range(10):
        found = fit(simulated(300 + seed, 30, taste=1.5, inertia=nothing, previous=0.0, within=0.0))
        away.append(named(found)[:, 0] / named(found)[:, 1])
    assert np.all(np.abs(np.mean(away, axis=0)) < 3 / 10**0.5)
    assert np.sum(np.abs(away) > 2.5) <= 3


def test_where_there_are_no_tastes_both_agree(simulated: Simulated) -> None:
    decisions = simulated(4, 40)
    random, taste = fit(decisions, estimator="random"), fit(decisions)
    assert np.all(np.abs(named(taste)[:, 0] - named(random)[:, 0]) < named(random)[:, 1])
    assert taste.taste_spread is not None
    assert taste.taste_spread.estimate < 0.4


def test_conformity_that_differs_between_models_is_found_by_model(simulated: Simulated) -> None:
    """With equal truths, the shared estimate lies among the three."""
    decisions = simulated(5, 100)
    shared, apart = fit(decisions), fit(decisions, conformity="by model")
    each = [apart.within[m].estimate for m in "ABC"]
    assert min(each) < shared.within[ALL_MODELS].estimate < max(each)
    assert all(abs(one.estimate - 0.87) < 3 * one.se for one in apart.within.values())
