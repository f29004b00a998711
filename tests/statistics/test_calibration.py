from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from overton.statistics.calibration import Calibration, calibration

Array = NDArray[np.float64]


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


def test_answers_much_surer_than_the_probabilities_differ_with_a_slope_above_1() -> None:
    one = found(2, sharper=3.0)
    assert one.verdict == "differ"
    assert one.slope.low > 1
    assert one.outward.low > 0


def test_refusals_without_probability_differ_and_those_that_were_agree() -> None:
    assert found(3, other=0.3).verdict == "differ"
    assert found(3, other=0.3, told_other=0.3, answers=60).verdict == "agree"


def test_few_answers_decide_nothing_and_the_reason_has_the_possible_error() -> None:
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


def verdicts(true: Callable[[Array, np.random.Generator], Array], prompts: int, answers: int) -> Counter[str]:
    """Verdicts on 200 models with probabilities from beta(0.4, 0.4), and `true` of these as proportions of answers."""
    rng = np.random.default_rng(0)
    found: Counter[str] = Counter()
    for _ in range(200):
        p = rng.beta(0.4, 0.4, prompts)
        x = rng.binomial(answers, np.clip(true(p, rng), 0, 1))
        found[calibration(np.c_[p, 1 - p], np.c_[x, answers - x]).verdict] += 1
    return found


def test_agreeing_models_seldom_differ_over_many_simulations() -> None:
    assert verdicts(lambda p, rng: p, 20, 10)["differ"] <= 10
    enough = verdicts(lambda p, rng: p, 50, 20)
    assert enough["differ"] <= 10
    assert enough["agree"] >= 160


def test_bump_that_no_line_follows_seldom_agrees() -> None:
    found = verdicts(lambda p, rng: p + 0.25 * np.exp(-(((p - 0.5) / 0.1) ** 2)), 20, 10)
    assert found["agree"] <= 40


def test_prompts_that_are_off_either_way_differ_though_their_mean_does_not() -> None:
    found = verdicts(lambda p, rng: p + 0.25 * rng.choice([-1, 1], p.shape), 20, 10)
    assert found["agree"] == 0
    assert found["differ"] >= 120


def test_one_answer_at_each_prompt_cannot_show_agreement_of_single_prompts() -> None:
    found = verdicts(lambda p, rng: p, 200, 1)
    assert found["agree"] == 0
    p = np.linspace(0.1, 0.9, 50)
    x = np.random.default_rng(1).random(50) < p
    one = calibration(np.c_[p, 1 - p], np.c_[x, ~x])
    assert "each prompt has one answer" in one.why
    assert np.isnan(one.typical.value)
    assert one.needed is None


def test_typical_difference_is_the_weighted_mean_square_without_chance() -> None:
    # 5 prompts of 4 answers. At p = 0.5: d^2 is estimated by x (x - 1) / 12 - 2 p x / 4 + p^2, 0.25 if x is 4 or 0 and
    # -1/12 if x is 2; its weight is 0.5. At p = 0.2, x = 2: 1/6 - 0.2 + 0.04 = 1/150; its weight is 0.4.
    p, x = np.array([0.5, 0.5, 0.5, 0.5, 0.2]), np.array([4, 0, 2, 2, 2])
    one = calibration(np.c_[p, 1 - p], np.c_[x, 4 - x])
    square = (0.5 * (0.25 + 0.25 - 1 / 12 - 1 / 12) + 0.4 / 150) / 2.4
    assert one.typical.value == pytest.approx(np.sqrt(square))
    assert one.typical.n == 5


def test_typical_difference_of_three_options_is_the_probability_that_moves() -> None:
    p, x = np.tile([0.2, 0.3, 0.5], (400, 1)), np.tile([30, 20, 50], (400, 1))
    one = calibration(p, x)  # 0.1 moves from the second to the first; 100 answers each, all with the same counts
    chance = (0.3 * 0.7 + 0.2 * 0.8 + 0.5 * 0.5) / 2 / 99
    assert one.typical.value == pytest.approx(np.sqrt(0.01 - chance))


def test_open_verdict_has_the_number_of_answers_that_would_decide() -> None:
    p = np.linspace(0.05, 0.95, 20)
    x = np.random.default_rng(1).binomial(10, p)
    one = calibration(np.c_[p, 1 - p], np.c_[x, 10 - x])
    assert one.verdict == "cannot tell"
    assert "typical difference of a prompt may reach" in one.why
    assert one.needed is not None
    assert 600 <= one.needed <= 1500


def test_three_options_are_compared_together() -> None:
    rng = np.random.default_rng(5)
    p = rng.dirichlet([1, 1, 1], 20)
    x = np.array([rng.multinomial(20, row) for row in p])
    assert calibration(p, x).verdict != "differ"
    assert calibration(p, 1000 * p).verdict == "agree"
    assert calibration(p, np.array([rng.multinomial(20, row[::-1]) for row in p])).verdict == "differ"
