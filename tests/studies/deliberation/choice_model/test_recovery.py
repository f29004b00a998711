"""Known parameters are found again; benchmarks/recovery.py does this a thousand times and larger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from overton.studies.deliberation.choice_model import ALL_MODELS, ChoiceFit, Decisions, Estimator, fit
from overton.studies.deliberation.choice_model.newton import climb
from overton.studies.deliberation.choice_model.quadrature import gauss_hermite

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


@pytest.mark.long
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
    random, taste = fit(decisions, estimator="random"), fit(decisions, estimator="taste")
    assert fit(decisions, against=False).estimator == "taste_by_model"
    assert random.likelihood_ratio is not None
    assert random.likelihood_ratio.statistic == pytest.approx(2 * (taste.loglik - random.loglik), abs=3)
    assert random.inertia["A"].estimate > taste.inertia["A"].estimate + 0.1
    assert np.all(np.abs(named(taste)[:, 0] - TRUTHS) < 3 * named(taste)[:, 1])
    assert taste.taste_spread is not None
    assert abs(taste.taste_spread.estimate - 1) < 3 * taste.taste_spread.se
    assert taste.loglik > random.loglik + 10


ALIKE: dict[str, Any] = {
    "design": (("synchronous", "ABC"),),
    "preference": dict.fromkeys("ABC", tuple(np.log([0.2, 0.5, 0.15, 0.1, 0.05]))),
    "inertia": dict.fromkeys("ABC", 0.0),
    "previous": 0.0,
    "within": 0.0,
}
"""Three models at once that like the same verdicts, without inertia or conformity."""


@pytest.mark.long
def test_tastes_of_unequal_strength_are_not_taken_for_inertia(simulated: Simulated) -> None:
    """Spreads of 0.3, 1 and 1.7 and no inertia: with one spread for all, C would seem to have 0.4 of it."""
    away, spreads, common = [], [], []
    for seed in range(8):
        decisions = simulated(400 + seed, 80, **ALIKE, taste=(0.3, 1.0, 1.7))
        found = fit(decisions, against=False)
        assert found.estimator == "taste_by_model"
        away.append([one.estimate / one.se for one in found.inertia.values()])
        spreads.append([one.estimate for one in found.taste_spreads.values()])
        common.append([one.estimate for one in fit(decisions, estimator="taste", against=False).inertia.values()])
    assert np.all(np.abs(np.mean(away, axis=0)) < 3 / 8**0.5)
    assert np.sum(np.abs(away) > 2) <= 4
    # Three standard errors of a mean of eight, each known to about 0.34. C has 2.00 here, and 1.985 with 528 points.
    assert np.mean(spreads, axis=0) == pytest.approx([0.3, 1.0, 1.7], abs=0.36)
    assert np.mean(common, axis=0)[2] > 0.25
    assert np.mean(common, axis=0)[0] < -0.1


@pytest.mark.long
def test_standard_errors_with_strong_tastes_are_those_of_many_more_points(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the model with the strongest tastes, here estimated at 2.1, compared with seven points in each of four
    dimensions.

    Three spheres of 120 points make this standard error 4% too small.
    """
    decisions = simulated(502, 100, **ALIKE, taste=(0.3, 1.0, 1.7))
    ours = fit(decisions, estimator="taste_by_model", against=False).inertia["C"]
    monkeypatch.setattr(
        "overton.studies.deliberation.choice_model.estimators.finest", lambda width: gauss_hermite(width, 7)
    )
    finer = fit(decisions, estimator="taste_by_model", against=False).inertia["C"]
    assert ours.se == pytest.approx(finer.se, rel=0.01)
    assert ours.estimate == pytest.approx(finer.estimate, abs=0.05 * finer.se)


@pytest.mark.long
def test_the_likelihood_ratio_of_spreads_tells_unequal_tastes_from_equal_ones(simulated: Simulated) -> None:
    """It is the same from either fit, and the difference between both."""
    unequal = simulated(400, 120, **ALIKE, taste=(0.3, 1.0, 2.5))
    own, common = fit(unequal), fit(unequal, estimator="taste")
    assert own.likelihood_ratio_of_spreads is not None
    assert common.likelihood_ratio_of_spreads is not None
    assert own.likelihood_ratio_of_spreads.p < 0.01
    for made in (own, common):
        assert made.likelihood_ratio_of_spreads.statistic == pytest.approx(2 * (own.loglik - common.loglik), abs=0.1)
    assert any("one spread of tastes per model against one for all" in one for one in common.warnings)
    assert not any("likelihood ratio" in one for one in own.warnings)
    assert fit(unequal, against=False).likelihood_ratio_of_spreads is None
    equal = fit(simulated(401, 80, **ALIKE, taste=1.0)).likelihood_ratio_of_spreads
    assert equal is not None
    assert equal.p > 0.05


@pytest.mark.long
def test_the_search_for_a_spread_of_all_tastes_starts_near_where_it_ends(
    simulated: Simulated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the sites of a nearby fit, and inertia half moved to where it ends: C seems to have 0.7 more of it."""
    starts = []

    def noted(at: Any, parameters: Any, latent: Any, *more: Any) -> Any:
        starts.append((parameters, latent))
        return climb(at, parameters, latent, *more)

    monkeypatch.setattr("overton.studies.deliberation.choice_model.estimators.climb", noted)
    unequal = simulated(400, 120, **ALIKE, taste=(0.3, 1.0, 2.5))
    own = fit(unequal, against=False).inertia["C"].estimate
    before = len(starts)
    fit(unequal)
    parameters, latent = starts[2 * before]
    assert all(one.shape[1] == 3 * (4 * 4 + 4) for one in latent)
    common = fit(unequal, estimator="taste", against=False).inertia["C"].estimate
    place = int(np.argmin(np.abs(starts[before - 1][0] - own)))
    assert common > own + 0.4
    assert abs(parameters[place] - common) < 0.6 * (common - own)


@pytest.mark.long
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


@pytest.mark.long
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


def test_both_estimators_agree_without_tastes(simulated: Simulated) -> None:
    decisions = simulated(4, 40)
    random, taste = fit(decisions, estimator="random"), fit(decisions)
    assert np.all(np.abs(named(taste)[:, 0] - named(random)[:, 0]) < named(random)[:, 1])
    assert taste.taste_spread is not None
    assert taste.taste_spread.estimate < 0.4


@pytest.mark.long
def test_conformity_that_differs_between_models_is_found_by_model(simulated: Simulated) -> None:
    """With equal truths, the shared estimate lies among the three."""
    decisions = simulated(5, 100)
    shared, apart = fit(decisions), fit(decisions, conformity="by model")
    each = [apart.within[m].estimate for m in "ABC"]
    assert min(each) < shared.within[ALL_MODELS].estimate < max(each)
    assert all(abs(one.estimate - 0.87) < 3 * one.se for one in apart.within.values())
