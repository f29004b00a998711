"""The authors' estimator: its slope by differences, AdamW by hand, and what its settings make of few decisions."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, sqrt

import numpy as np
import pytest

from overton.studies.deliberation.choice_model import ALL_MODELS, Decisions, fit
from overton.studies.deliberation.choice_model.estimators import _adamw, _DecisionArrays

Simulated = Callable[..., Decisions]


@pytest.fixture(scope="module")
def decisions(simulated: Simulated) -> Decisions:
    return simulated(31, 10)


@pytest.mark.parametrize("conformity", ["shared", "by model"])
def test_the_slope_is_that_of_the_mean_loss(decisions: Decisions, conformity: str) -> None:
    rows = _DecisionArrays.of(decisions, conformity)
    vector = np.random.default_rng(1).normal(0, 0.5, len(rows.pull)).astype(np.float32)
    slope = rows.slope(vector)
    for place in (0, 7, 20, 40, len(vector) - 8, len(vector) - 3, len(vector) - 1):
        step = np.zeros_like(vector)
        step[place] = 0.05
        difference = (rows.loss(vector + step) - rows.loss(vector - step)) / 0.1 / len(rows)
        assert slope[place] == pytest.approx(difference, abs=2e-4)


def test_priors_have_the_published_spreads(decisions: Decisions) -> None:
    rows = _DecisionArrays.of(decisions, "shared")
    pull = rows.pull * len(rows)
    assert pull == pytest.approx([1.0] * (5 * (3 + 10)) + [4.0] * (3 + 2))


def test_adamw_takes_the_steps_that_one_computes_by_hand() -> None:
    """Two steps with the rate 0.1 and slopes 2 and -1."""
    vector = np.array([0.5], np.float32)
    step = _adamw(vector, 0.1)
    step(np.array([2.0], np.float32))
    first = 0.5 * (1 - 0.001) - 0.1 * 2 / 2
    assert vector[0] == pytest.approx(first, abs=1e-6)
    step(np.array([-1.0], np.float32))
    mean = (0.9 * 0.1 * 2 + 0.1 * -1) / (1 - 0.9**2)
    square = (0.999 * 0.001 * 4 + 0.001 * 1) / (1 - 0.999**2)
    assert vector[0] == pytest.approx(first * (1 - 0.001) - 0.1 * mean / sqrt(square), abs=1e-5)


def test_few_decisions_make_one_step_an_epoch_which_cannot_lead_far(decisions: Decisions) -> None:
    """Sixty steps of 0.01 or so: made for 72,000 decisions, of which there are nine steps to an epoch."""
    found = fit(decisions, estimator="as_published", refits=0)
    assert 0.2 < found.inertia["A"].estimate < 0.65
    assert any("further from zero than 0.6" in warning for warning in found.warnings)
    assert fit(decisions, estimator="penalised").inertia["A"].estimate > 1.2


def test_intervals_are_percentiles_of_refits_on_drawn_dilemmas(decisions: Decisions) -> None:
    found = fit(decisions, estimator="as_published", refits=20, level=0.9)
    one = found.inertia["A"]
    assert one.se > 0
    assert one.interval[0] < one.interval[1]
    assert one.interval[1] - one.interval[0] < 4 * one.se
    assert found.preference["A"]["NTA"].reason is None


def test_without_refits_there_are_estimates_and_no_intervals(decisions: Decisions) -> None:
    found = fit(decisions, estimator="as_published", refits=0)
    one = found.within[ALL_MODELS]
    assert one.estimate > 0
    assert isnan(one.se)
    assert "refits" in str(one.reason)
    again = fit(decisions, estimator="as_published", refits=3)
    assert again.within[ALL_MODELS].estimate == one.estimate


def test_published_estimates_can_be_reproduced(decisions: Decisions) -> None:
    first, second = (fit(decisions, estimator="as_published", refits=4) for _ in range(2))
    assert first.inertia == second.inertia
