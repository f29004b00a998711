from __future__ import annotations

import numpy as np
import pytest

from overton.statistics.calibration import Calibration, calibration


def found(
    seed: int,
    *,
    sharper: float = 1.0,
    prompts: int = 20,
    answers: int = 20,
    other: float = 0.0,
    told_other: float = 0.0,
) -> Calibration:
    """A model whose answers are `sharper` than its probabilities, and that names no option with chance `other`."""
    rng = np.random.default_rng(seed)
    p = rng.random(prompts)
    answering = rng.binomial(answers, 1 - other, prompts)
    x = rng.binomial(answering, p**sharper / (p**sharper + (1 - p) ** sharper))
    none = (np.full(prompts, told_other), 1 - answering / answers)
    return calibration(np.stack([p, 1 - p], 1), np.stack([x, answering - x], 1), none)


def test_answers_at_the_probabilities_agree() -> None:
    one = found(1)
    assert one.verdict == "agree"
    assert one.slope.low < 1 < one.slope.high
    assert one.offset.low < 0 < one.offset.high
    assert (one.prompts, one.answers) == (20, 400)


def test_answers_much_surer_than_the_probabilities_differ_and_the_slope_says_how() -> None:
    one = found(2, sharper=3.0)
    assert one.verdict == "differ"
    assert one.slope.low > 1
    assert one.outward.low > 0


def test_refusals_without_probability_differ_and_those_that_were_agree() -> None:
    assert found(3, other=0.3).verdict == "differ"
    assert found(3, other=0.3, told_other=0.3, answers=60).verdict == "agree"


def test_few_answers_decide_nothing_and_it_is_said_how_far_they_may_be_off() -> None:
    one = found(4, prompts=10, answers=3)
    assert one.verdict == "cannot tell"
    assert "may reach" in one.why


def test_nothing_sampled_decides_nothing() -> None:
    one = calibration(np.empty((0, 2)), np.empty((0, 2)))
    assert (one.verdict, one.answers) == ("cannot tell", 0)


def test_answers_that_are_always_alike_agree_with_certain_probabilities() -> None:
    p = np.repeat([0.0, 1.0], 10)
    one = calibration(np.stack([p, 1 - p], 1), np.stack([20 * p, 20 * (1 - p)], 1))
    assert one.verdict == "agree"
    assert np.isfinite([one.slope.value, one.slope.low, one.slope.high]).all()
    assert one.largest.value == pytest.approx(0)


def test_over_many_simulations_agreeing_models_are_seldom_said_to_differ() -> None:
    verdicts = [found(seed).verdict for seed in range(100, 160)]
    assert verdicts.count("differ") <= 3
    assert verdicts.count("agree") >= 50


def test_three_options_are_compared_together() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 20)
    x = np.array([rng.multinomial(20, row) for row in p])
    assert calibration(p, x).verdict == "agree"
    assert calibration(p, np.array([rng.multinomial(20, row[::-1]) for row in p])).verdict == "differ"
