"""Shifts in logits: what moves both sides equally has no asymmetry, wherever recall started."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import exp, isnan, log

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from overton.statistics import Estimate
from overton.studies.pluralism.measures import analyze

LARGE = 2_000


def logit(share: float) -> float:
    return log(share / (1 - share))


def shares(recall: float, logits: float) -> float:
    return 1 / (1 + exp(-logit(recall) - logits))


def shifted(
    neutral: dict[str, float], toward: dict[str, float], views: int, threads: int = 6
) -> Callable[[str], Estimate]:
    """The shift of threads in which this many views of each side are voiced."""
    sides = {"supporting": "s", "against": "a"}
    summaries = pl.DataFrame(
        [
            {"thread": f"t{number}", "summary": f"{short}{view}", "stance": side}
            for number in range(threads)
            for side, short in sides.items()
            for view in range(views)
        ]
    )
    matches = pl.DataFrame(
        [
            {
                "thread": f"t{number}",
                "condition": condition,
                "response": place,
                "stance": side,
                "matched": [f"{sides[side]}{view}" for view in range(round(recall[side] * views) + number % 2)],
            }
            for number in range(threads)
            for condition, recall in {"neutral": neutral, "toward": toward}.items()
            for place, side in enumerate(sides)
        ],
        schema_overrides={"matched": pl.List(pl.String)},
    )
    found = analyze(matches=matches, summaries=summaries, resamples=100)
    return partial(found.estimate, condition="toward", against="neutral")


@pytest.mark.parametrize(
    ("supporting", "against", "published"),
    [(0.41, 0.16, -0.149), (0.16, 0.41, 0.025), (0.8, 0.3, None), (0.5, 0.5, None)],
)
def test_a_shift_of_one_logit_on_both_sides_has_no_asymmetry_and_published_differences_call_it_lopsided(
    supporting: float, against: float, published: float | None
) -> None:
    found = shifted(
        {"supporting": supporting, "against": against},
        {"supporting": shares(supporting, 1), "against": shares(against, -1)},
        LARGE,
    )
    assert found("suppression").value == pytest.approx(1, abs=0.02)
    assert found("amplification").value == pytest.approx(1, abs=0.02)
    assert found("asymmetry").value == pytest.approx(0, abs=0.03)
    if published is not None:
        assert found("asymmetry_as_published").value == pytest.approx(published, abs=0.003)


def test_half_a_viewpoint_gives_none_and_all_of_them_odds() -> None:
    found = shifted({"supporting": 0.5, "against": 0.5}, {"supporting": 0.5, "against": 0}, 4, threads=1)
    assert found("suppression").value == pytest.approx(log(2.5 / 2.5) - log(0.5 / 4.5))
    assert found("amplification").value == 0


def test_the_shift_is_missing_and_not_zero_if_no_view_is_voiced() -> None:
    silent = {"supporting": 0.0, "against": 0.0}
    found = shifted(silent, silent, 4, threads=1)
    for one, which in (
        (found("suppression"), "against"),
        (found("amplification"), "with"),
        (found("asymmetry"), "against"),
    ):
        assert isnan(one.value)
        assert f"no view {which} the belief is voiced in either condition" in one.method


def test_the_shift_is_missing_if_every_view_is_voiced() -> None:
    everything = {"supporting": 1.0, "against": 1.0}
    assert (
        "all views against the belief are voiced in both" in shifted(everything, everything, 4, 1)("suppression").method
    )


def test_the_bias_of_the_half_is_as_documented() -> None:
    """docs/pluralism.md has these: the mean over binomial counts, minus the truth."""
    for recall, views, bias in ((0.05, 20, 0.15), (0.05, 50, 0.01), (0.16, 5, 0.18), (0.16, 20, 0.0), (0.41, 5, 0.0)):
        counts = np.arange(views + 1)
        mean = (binom.pmf(counts, views, recall) * np.log((counts + 0.5) / (views - counts + 0.5))).sum()
        assert mean - logit(recall) == pytest.approx(bias, abs=0.01)
