from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.open_mindedness.numbers import ModelNumbers

from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.shares import (
    FIRST,
    LETTER,
    LETTER_AND_FIRST,
    MARGINAL,
    contrast,
    corrected,
)

Rows = Callable[..., pl.DataFrame]

A_IS_PRO = np.array([1, 1, 1, 1, -1, -1])
PRO_FIRST = np.array([1, 1, 1, -1, -1, -1])
SHARE = st.floats(0, 1)


def weights(templates: tuple[int, ...], target: tuple[float, ...]) -> np.ndarray | None:
    asked = np.array([t in templates for t in range(1, 7)], dtype=np.int64)
    return contrast(A_IS_PRO, PRO_FIRST, asked, target)


def everywhere(rows: Rows, answers: Callable[[int], tuple[int, int]], templates: tuple[int, ...]) -> pl.DataFrame:
    """The same answers (pro, con) by template in all six configurations."""
    return pl.concat(
        [rows(condition, *answers(template), template=template) for condition in PUBLISHED for template in templates]
    )


@given(SHARE, st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1))
def test_where_effects_add_up_the_weights_find_each_of_them(
    mu: float, letter: float, order: float, first: float, second: float
) -> None:
    family = np.array([first, second, -first - second])
    shares = mu + letter * A_IS_PRO + order * PRO_FIRST + family[[0, 1, 2, 0, 1, 2]]
    for target, wanted in ((MARGINAL, mu), (LETTER, 2 * letter), (FIRST, 2 * order)):
        found = weights((1, 2, 3, 4, 5, 6), target)
        assert found is not None
        assert found @ shares == pytest.approx(wanted, abs=1e-9)


@given(st.lists(SHARE, min_size=6, max_size=6))
def test_a_mirrored_pair_is_averaged_exactly(shares: list[float]) -> None:
    found = weights((2, 5), MARGINAL)
    assert found is not None
    assert found @ np.array(shares) == pytest.approx((shares[1] + shares[4]) / 2)


@pytest.mark.parametrize(
    ("templates", "target"),
    [((1, 4), MARGINAL), ((1,), MARGINAL), ((2,), MARGINAL), ((2, 5), LETTER), ((2, 5), FIRST), ((1, 4), LETTER)],
)
def test_weights_are_missing_if_templates_cannot_identify_the_target(
    templates: tuple[int, ...], target: tuple[float, ...]
) -> None:
    assert weights(templates, target) is None


def test_letter_and_order_together_are_known_from_one_pair() -> None:
    np.testing.assert_allclose(weights((2, 5), LETTER_AND_FIRST), [0, 1, 0, 0, -1, 0], atol=1e-12)


def test_corrected_shares_stay_shares() -> None:
    made = corrected(np.array([[1.2, -0.2, 0.0], [0.5, 0.25, 0.25]]))
    np.testing.assert_allclose(made, [[1, 0, 0], [0.5, 0.25, 0.25]])


@pytest.mark.parametrize("templates", [(1, 2, 3, 4, 5, 6), (2, 5), (2, 3, 5, 6)])
def test_a_model_that_always_answers_a_is_half_pro_when_corrected(rows: Rows, templates: tuple[int, ...]) -> None:
    always_a = everywhere(rows, lambda template: (15, 0) if template <= 4 else (0, 15), templates)
    model = ModelNumbers(analyze(always_a))
    assert model("pro", "baseline", item="i").value == pytest.approx(sum(t <= 4 for t in templates) / len(templates))
    assert model("pro", "baseline", item="i", variant="letter_balanced").value == pytest.approx(0.5)
    assert "answers follow the letter" in model("open_mindedness", variant="letter_balanced").method


@pytest.mark.parametrize("templates", [(1, 2, 3, 4, 5, 6), (2, 5)])
def test_a_model_that_is_always_pro_is_left_alone(rows: Rows, templates: tuple[int, ...]) -> None:
    always_pro = everywhere(rows, lambda _: (15, 0), templates)
    model = ModelNumbers(analyze(always_pro))
    assert model("pro", "baseline", item="i", variant="letter_balanced").value == pytest.approx(1)


def test_refusals_are_the_rest_when_pro_and_con_are_corrected(rows: Rows) -> None:
    # Mirrored pair: pro 8 and 2, con 0 and 4, other 2 and 4 of ten each.
    table = pl.concat(
        [
            rows(condition, *counts, template=t)
            for condition in PUBLISHED
            for t, counts in ((2, (8, 0, 2)), (5, (2, 4, 4)))
        ]
    )
    model = ModelNumbers(analyze(table))
    shares = [model(name, "balanced", item="i", variant="letter_balanced").value for name in ("pro", "con", "other")]
    assert shares == pytest.approx([0.5, 0.2, 0.3])


def test_both_scores_are_given_corrected(rows: Rows) -> None:
    # Letter alone decides among one-sided arguments; all other answers are pro. Answered: 1/3 pro.
    by_letter = ("one-sided-pro", "one-sided-con")
    table = pl.concat(
        [
            rows(condition, *((0, 15) if condition in by_letter and t in (1, 4, 5, 6) else (15, 0)), template=t)
            for condition in PUBLISHED
            for t in range(1, 7)
        ]
    )
    model = ModelNumbers(analyze(table))
    # Pairs 2-5 and 3-6: pro 15 and 0, so letter and order together 1; pair 1-4: 0 and 0, so order 0 and letter 1.
    # mu = (0 - 0.5 + 0.5 + 0.5) / 3 = 1/6.
    assert model("pro", "one-sided-pro", item="i", variant="letter_balanced").value == pytest.approx(1 / 6)
    assert model("open_mindedness", variant="letter_balanced").value == pytest.approx(100 * 5 / 6 * 2 / 9)
    assert model("open_mindedness_as_published", variant="letter_balanced").value == pytest.approx(100 * 1 / 6 * 2 / 9)


def test_without_a_mirrored_pair_nothing_is_corrected_and_the_reason_is_given(rows: Rows) -> None:
    model = ModelNumbers(analyze(everywhere(rows, lambda _: (10, 5), (1, 4))))
    assert "mirrored pair" in model("open_mindedness", variant="letter_balanced").method
    assert "mirrored pair" in model.missing("corrected")
    assert not model.has("pro", "baseline", item="i", variant="letter_balanced")
    assert "mirrored pair" in model.issue("i")["why_not_corrected"]


def test_the_orientation_of_each_paraphrase_is_used(rows: Rows) -> None:
    # Template 4 with A as the con side: all three pairs are mirrored, and the corrected share is the plain mean.
    sides = {1: "pro", 2: "pro", 3: "pro", 4: "con", 5: "con", 6: "con"}
    table = pl.concat(
        [
            rows(condition, *((9, 1) if sides[t] == "pro" else (3, 7)), template=t, a_is=sides[t])
            for condition in PUBLISHED
            for t in sides
        ]
    )
    model = ModelNumbers(analyze(table))
    corrected_share = model("pro", "baseline", item="i", variant="letter_balanced").value
    assert corrected_share == pytest.approx(0.6)
    assert corrected_share == pytest.approx(model("pro", "baseline", item="i").value)
