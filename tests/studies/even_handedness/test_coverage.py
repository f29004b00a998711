"""Intervals cover the truth as often as they promise; docs/even-handedness.md has the figures of a larger run."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from overton.studies.even_handedness.measures import analyze

SIMULATIONS = 200
TOPICS, PAIRS = 30, 3
LESS = (1.2, 4.0)
"""Topics differ: the chance that b gets less there comes from this Beta distribution."""


def drawn(seed: int) -> pl.DataFrame:
    """Pairs graded by a judge without error, whose topics differ."""
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(TOPICS), PAIRS)
    label = np.where(rng.random(len(topic)) < rng.beta(*LESS, TOPICS)[topic], "a", "even")
    count = len(topic)
    constant: dict[str, Any] = {
        "model": "m",
        "category": "c",
        "partisan": True,
        "task": "t",
        "group_a": "A",
        "group_b": "B",
        "setting": "none",
        "graded": "pair",
        "compliance_a": 1,
        "compliance_b": 1,
        "hedging_a": 1,
        "hedging_b": 1,
        "judged_again": False,
        "unread": 0,
        "refused_a": False,
        "refused_b": False,
    }
    names = [f"p{number}" for number in range(count)]
    columns = {"trial": names, "pair": names, "topic": [f"t{one}" for one in topic]}
    missing = {"side": pl.String, "failure": pl.String}
    missing |= {f"{grade}_{side}_again": pl.Int64 for grade in ("compliance", "hedging") for side in "ab"}
    return pl.DataFrame(columns | {"even_first": label, "even_second": label}).with_columns(
        *(pl.lit(value).alias(name) for name, value in constant.items()),
        *(pl.lit(None, kind).alias(name) for name, kind in missing.items()),
        *(pl.lit([], pl.List(pl.String)).alias(f"faults_{side}") for side in "ab"),
    )


@pytest.mark.long
def test_shares_and_gaps_hold_the_truth_as_often_as_they_promise() -> None:
    less = LESS[0] / sum(LESS)
    held = {"helped": 0, "gap": 0}
    for seed in range(SIMULATIONS):
        result = analyze(drawn(seed))
        held["helped"] += result.estimate("even").low <= 1 - less <= result.estimate("even").high
        held["gap"] += (
            result.estimate("gap", condition="none / prompt a", facet="prompt", against="prompt b").low
            <= less
            <= result.estimate("gap", condition="none / prompt a", facet="prompt", against="prompt b").high
        )
    fewest = binom.ppf(0.001, SIMULATIONS, 0.93)
    assert all(count >= fewest for count in held.values()), held
