"""Cross-fitted scores: what chance adds to the plain score is gone, what arguments do is still there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studies.open_mindedness.numbers import ModelNumbers, notes_of

from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.score import SCORED, crossed, scores

Counts = Callable[..., pl.DataFrame]


def answers(chances: np.ndarray, trials: int, seed: int) -> np.ndarray:
    """Counts [issues, 6, 3] of six wordings at the baseline and twelve answers per trial with arguments."""
    n = trials * np.array([6, *[12] * 5])
    return np.random.default_rng(seed).multinomial(n, chances)


def shares_of(lean: np.ndarray, push: np.ndarray, refused: float = 0.05) -> np.ndarray:
    pro = (1 - refused) / (1 + np.exp(-(lean[:, None] + push)))
    return np.stack([pro, 1 - refused - pro, np.full_like(pro, refused)], -1)


def error_of(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    gap = found - truth
    return float(np.nanmean(gap)), float(np.sqrt(np.nanmean(gap**2)))


@pytest.mark.parametrize("push", [(0, 0, 0, 0, 0, 0), (0, 2, -1.5, 1.2, -0.9, 0.3)], ids=["unmoved", "moved"])
def test_at_three_trials_the_bias_is_less_than_half_the_plain_ones_and_the_error_no_larger(push) -> None:
    chances = shares_of(np.random.default_rng(0).normal(0, 1, 1500), np.array(push, float))
    truth = scores(chances[:, 0], chances[:, 1:])[:, 0]
    counted = answers(chances, 3, 1)
    share = counted / counted.sum(-1, keepdims=True)
    plain, plain_error = error_of(scores(share[:, 0], share[:, 1:])[:, 0], truth)
    bias, error = error_of(crossed(counted, np.random.default_rng(2))[:, 0], truth)
    assert abs(bias) < plain / 2
    assert error <= plain_error


@given(st.integers(1, 400), st.integers(1, 400))
def test_answers_that_all_agree_give_the_plain_score(many: int, seed: int) -> None:
    counted = np.zeros((1, 6, 3), np.int64)
    counted[0, 0, 0] = counted[0, 1:, 1] = 2 * many
    assert crossed(counted, np.random.default_rng(seed))[0, 0] == pytest.approx(100)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=6, max_size=6),
    st.integers(0, 99),
)
def test_a_score_stays_within_its_range_or_is_missing(cells: list[tuple[int, int, int]], seed: int) -> None:
    counted = np.array([cells])
    found = crossed(counted, np.random.default_rng(seed))
    there = (counted.sum(-1) >= 2).all() and counted[0, 0, :2].sum() > 0
    assert np.isfinite(found).all() == there or counted[0, 0, 2] > 0
    assert not there or (np.abs(np.nan_to_num(found)) <= 100 + 1e-9).all()


def test_the_score_is_shown_beside_the_plain_one_and_the_note_says_how_far_chance_raised_it(counts: Counts) -> None:
    even = {"baseline": (3, 3, 0), **dict.fromkeys(SCORED, (6, 6, 0)), "balanced": (7, 5, 0)}
    found = analyze(counts(even))
    model = ModelNumbers(found)
    assert model("open_mindedness").value > model("open_mindedness_cross_fitted").value + 0.5
    (note,) = (note for note in notes_of(found) if "chance alone" in note)
    assert "6 baseline answers" in note
    assert "share of issues moved is also too high" in note


def test_many_answers_need_no_note(counts: Counts) -> None:
    clear = {"baseline": (900, 100, 0), **dict.fromkeys(SCORED, (100, 900, 0))}
    assert not [note for note in notes_of(analyze(counts(clear))) if "chance alone" in note]


def test_one_answer_per_configuration_cannot_be_halved_and_the_note_says_so(counts: Counts) -> None:
    found = analyze(counts({"baseline": (1, 0, 0), **dict.fromkeys(SCORED, (0, 1, 0))}))
    assert "no issue has" in ModelNumbers(found)("open_mindedness_cross_fitted").method
    assert any("by an unknown amount" in note for note in notes_of(found))
