"""Intervals of shares that are means of probabilities: from few prompts, and from prompts that all agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit

from overton.studies.open_mindedness.answer_counts import cells_from_records
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.shares import answered_shares, between_prompts, share_estimates

Floats = NDArray[np.float64]


def told(pro: Floats, refused: NDArray[np.bool_]) -> pl.DataFrame:
    """Records of what replies said: P(pro) [issues, configurations, prompts of a mirrored pair], none if refused."""
    issue, place, prompt = (part.ravel() for part in np.indices(pro.shape))
    a_pro = prompt % 2 == 0
    chance, none = pro.ravel(), refused.ravel()
    p_a = np.where(none, 0.0, np.where(a_pro, chance, 1 - chance))
    stance = np.where(none, "other", np.where(chance > 0.5, "pro", "con"))
    return pl.DataFrame(
        {
            "model": "m",
            "trial": [f"{number}" for number in range(issue.size)],
            "issue": [f"i{number:04}" for number in issue],
            "topic": pl.Series([None] * issue.size, dtype=pl.String),
            "condition": [PUBLISHED[one] for one in place],
            "wording": 1,
            "template": np.where(a_pro, 2, 5),
            "repetition": prompt // 2 + 1,
            "draw": pl.Series([None] * issue.size, dtype=pl.Int64),
            "arguments": [[]] * issue.size,
            "last_argument": pl.Series([None] * issue.size, dtype=pl.String),
            "a_is": np.where(a_pro, "pro", "con"),
            "pro_first": a_pro,
            "a_first": True,
            "stance": stance,
            "stance_published": stance,
            "refused": False,
            "failure": pl.Series([None] * issue.size, dtype=pl.String),
            "faults": pl.Series([[]] * issue.size, dtype=pl.List(pl.String)),
            "shares": "probabilities",
            "p_a": p_a,
            "p_b": np.where(none, 0.0, 1 - p_a),
            "letter": pl.Series([None if one else "A" for one in none], dtype=pl.String),
            "sampled": pl.Series([None] * issue.size, dtype=pl.List(pl.String)),
        }
    )


def held(noise: float, refusal: float, prompts: int, issues: int = 150) -> tuple[float, float]:
    """How many intervals of pro shares cover the truth, and their mean width."""
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((issues, len(PUBLISHED), 1))
    drawn = expit(logits + noise * rng.standard_normal((issues, len(PUBLISHED), prompts)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(31)
    truth = (1 - refusal) * (expit(logits + noise * nodes) * weights).sum(-1) / weights.sum()
    cells = cells_from_records(told(drawn, rng.random(drawn.shape) < refusal), weighed=True)
    rows = share_estimates(answered_shares(cells, 0), 0.95, "")
    found = [(one[0].low, one[0].high) for row in rows for one in row if one is not None]
    low, high = np.array(found).T
    return float(((low <= truth.ravel()) & (truth.ravel() <= high)).mean()), float((high - low).mean())


@pytest.mark.parametrize(("noise", "refusal"), [(0.5, 0.0), (1.5, 0.0), (1.5, 0.1)])
@pytest.mark.parametrize("prompts", [2, 8])
def test_intervals_cover_the_truth_from_two_prompts_on_for_any_spread_of_prompts(
    noise: float, refusal: float, prompts: int
) -> None:
    covered, _ = held(noise, refusal, prompts)
    assert covered > 0.93


def test_where_all_prompts_of_many_cells_tell_the_same_intervals_are_narrow_and_of_one_cell_wide() -> None:
    assert held(0.0, 0.0, 2)[1] < 0.03
    assert held(0.0, 0.0, 2, issues=1)[1] > 5 * held(0.0, 0.0, 2)[1]


def test_more_prompts_make_narrower_intervals() -> None:
    widths = [held(1.0, 0.05, prompts)[1] for prompts in (2, 4, 8, 40)]
    assert widths == sorted(widths, reverse=True)


def _sums(chances: Floats) -> tuple[Floats, Floats]:
    """Sums over prompts of shares and of their products, for chances [cells, templates, prompts, 3]."""
    return chances.sum(-2), np.einsum("...ns,...nu->...su", chances, chances)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([None, (1.0, -1.0, 0.0), (0.0, 0.0, 1.0)]))
def test_variances_are_finite_where_there_are_prompts_and_hang_on_no_order(
    prompts: int, seed: int, coefficients: Any
) -> None:
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([1, 1, 0.2], (3, 2, prompts))
    combined = None if coefficients is None else np.array(coefficients)
    found = between_prompts(_sums(chances)[0], combined, _sums(chances)[1])
    assert np.isfinite(found).all()
    assert (found > 0).all()
    turned = rng.permuted(chances, axis=2) if prompts == 1 else chances[:, :, ::-1]
    assert between_prompts(_sums(turned)[0], combined, _sums(turned)[1]) == pytest.approx(found)
    back = between_prompts(_sums(chances[::-1])[0], combined, _sums(chances[::-1])[1])
    assert back[::-1] == pytest.approx(found)


def test_a_template_without_prompts_has_no_variance_to_speak_of() -> None:
    chances = np.random.default_rng(1).dirichlet([1, 1, 0.2], (2, 2, 3))
    sums, products = _sums(chances)
    sums[0, 1], products[0, 1] = 0.0, 0.0
    assert np.isinf(between_prompts(sums, None, products)[0, 1])
