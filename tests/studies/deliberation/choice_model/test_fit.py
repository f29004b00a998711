"""Guarantees of a fit to its caller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import exp, log
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import norm, t

from overton.studies.deliberation.choice_model import ALL_MODELS, ChoiceFit, Decisions, fit
from overton.studies.deliberation.choice_model.estimators import FittedCoefficients, fit_taste, fit_taste_by_model
from overton.studies.deliberation.choice_model.identification import Estimable, estimable_part

Simulated = Callable[..., Decisions]


@pytest.fixture(scope="module")
def decisions(simulated: Simulated) -> Decisions:
    return simulated(21, 40)


@pytest.fixture(scope="module")
def found(decisions: Decisions) -> ChoiceFit:
    return fit(decisions, estimator="random")


def numbers(made: ChoiceFit) -> list[float]:
    named = [*(made.inertia[m] for m in "ABC"), made.previous[ALL_MODELS], made.within[ALL_MODELS]]
    liked = [made.preference[m][v] for m in "ABC" for v in sorted(made.preference[m])]
    return [number for one in named + liked if one.reason is None for number in (one.estimate, one.se)]


@pytest.mark.parametrize("estimator", ["random", "penalised", "taste_by_model", "taste", "as_published"])
def test_the_order_of_decisions_and_the_numbers_of_dilemmas_do_not_matter(simulated: Simulated, estimator: Any) -> None:
    decisions = simulated(22, 12)
    mixed = np.random.default_rng(0).permutation(len(decisions))
    arrays = {k: v[mixed] for k, v in vars(decisions).items() if isinstance(v, np.ndarray)}
    arrays["dilemma"] = 1000 + (7 if estimator == "as_published" else -7) * arrays["dilemma"]  # it draws dilemmas
    first, second = (fit(one, estimator=estimator, refits=3) for one in (decisions, replace(decisions, **arrays)))
    assert numbers(first) == pytest.approx(numbers(second), abs=1e-5)


def test_the_order_of_verdicts_and_models_does_not_matter(decisions: Decisions, found: ChoiceFit) -> None:
    verdicts, models = np.array([3, 0, 4, 1, 2]), np.array([2, 0, 1])
    place, seat = np.argsort(verdicts), np.argsort(models)
    other = Decisions(
        model=seat[decisions.model],
        dilemma=decisions.dilemma,
        discussion=decisions.discussion,
        own_previous=np.where(decisions.own_previous >= 0, place[decisions.own_previous], -1),
        n_prev=decisions.n_prev[:, verdicts],
        n_within=decisions.n_within[:, verdicts],
        choice=place[decisions.choice],
        models=tuple(decisions.models[m] for m in models),
        verdicts=tuple(decisions.verdicts[v] for v in verdicts),
    )
    again = fit(other, estimator="random")
    (first, errors), (second, _) = (np.reshape(numbers(made), (-1, 2)).T for made in (found, again))
    assert np.all(np.abs(first - second) < 0.02 * errors)  # the points of the integrals lie a little differently
    assert found.dilemma_spread is not None
    assert again.dilemma_spread is not None
    assert found.dilemma_spread.estimate == pytest.approx(again.dilemma_spread.estimate, rel=0.01)


def test_intervals_are_walds_and_odds_ratios_their_exponentials(decisions: Decisions, found: ChoiceFit) -> None:
    """Those of Student's t with a degree of freedom less than dilemmas; normal ones without random effects."""
    narrow, free = fit(decisions, estimator="taste", level=0.8), fit(decisions, estimator="penalised")
    for level, made, errors in ((0.95, found, t(39)), (0.8, narrow, t(39)), (0.95, free, norm)):
        one = made.inertia["A"]
        half = errors.ppf((1 + level) / 2) * one.se
        assert one.interval == pytest.approx((one.estimate - half, one.estimate + half))
        assert one.odds_ratio == pytest.approx(exp(one.estimate))


def test_the_spreads_interval_is_symmetric_for_its_logarithm(found: ChoiceFit) -> None:
    spread = found.dilemma_spread
    assert spread is not None
    low, high = spread.interval
    assert log(spread.estimate) == pytest.approx((log(low) + log(high)) / 2)
    assert low > 0


def test_conformity_by_model_is_that_of_models_fitted_alone_where_nothing_else_is_shared(simulated: Simulated) -> None:
    """Dilemmas alike, and a large penalty on nothing: then models share no parameter."""
    decisions = simulated(23, 1, design=(("round-robin", "AB"), ("round-robin", "BA")) * 60, spread=0.0)
    both = fit(decisions, conformity="by model")
    mine = decisions.model == 0
    alone = {k: v[mine] for k, v in vars(decisions).items() if isinstance(v, np.ndarray)}
    single = fit(replace(decisions, **alone))
    assert both.within["A"].estimate == pytest.approx(single.within[ALL_MODELS].estimate, abs=1e-4)
    assert both.previous["A"].se == pytest.approx(single.previous[ALL_MODELS].se, rel=1e-3)
    assert both.within.keys() == {"A", "B"}


def test_a_fit_goes_through_json_and_back(decisions: Decisions, found: ChoiceFit) -> None:
    assert msgspec.json.decode(msgspec.json.encode(found), type=ChoiceFit) == found
    assert (found.n, found.dilemmas, found.converged) == (len(decisions), 40, True)


def test_random_beats_taking_all_dilemmas_for_alike(simulated: Simulated) -> None:
    """Left out, the dilemmas' effects look like inertia and conformity."""
    decisions = simulated(24, 60)
    alike = fit(replace(decisions, dilemma=np.zeros_like(decisions.dilemma)))
    assert alike.dilemma_spread is None
    assert fit(decisions).within[ALL_MODELS].estimate < alike.within[ALL_MODELS].estimate - 0.1


def test_few_decisions_give_the_effects_of_dilemmas_one_spread_for_all_verdicts(simulated: Simulated) -> None:
    """Fewer than 750, where each model's tastes have a spread; by `taste` any covariance from 30 dilemmas on."""
    few = simulated(25, 40, design=(("synchronous", "AB"),))
    many = simulated(25, 40)
    assert len(few) < 750 < len(many)

    def factors(decisions: Decisions, fitted: Callable[[Estimable], FittedCoefficients]) -> int:
        return len(fitted(estimable_part(decisions, "shared")).dilemma)

    assert factors(few, fit_taste_by_model) == 1
    assert factors(few, fit_taste) == factors(many, fit_taste_by_model) == 10
