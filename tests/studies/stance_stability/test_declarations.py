"""Bands of conversations by their score and their re-use, and bins of re-use."""

import numpy as np
import polars as pl
import pytest

from overton.studies.stance_stability.declarations import CHAMELEON_BANDS, REUSE_BANDS, place_in_bands
from overton.studies.stance_stability.measures import analyze

near = pytest.approx


def test_bands_hold_their_bounds_and_rounding_does_not_push_a_score_out():
    scores = np.array([0.29, 0.1 + 0.2, 0.3 - 1e-15, 0.5, 0.51, np.nan])
    assert place_in_bands(scores, CHAMELEON_BANDS).tolist() == [0, 1, 1, 1, 2, -1]
    assert place_in_bands(np.array([0.6, 0.2 * 3, 0.61]), REUSE_BANDS).tolist() == [1, 1, 2]


def test_shares_of_bands_sum_to_one_and_those_over_a_value_are_strictly_above(of_many):
    scores = of_many.listed["conversations"]["chameleon"].round(12)
    for bands in (CHAMELEON_BANDS, REUSE_BANDS):
        assert sum(of_many.row(band.key).estimate for band in bands) == near(1)
    assert of_many.row("chameleon_over_0.6").estimate == near((scores > 0.6).mean())
    assert of_many.row("chameleon_over_0.7").estimate == near((scores > 0.7).mean())
    assert of_many.row("chameleon_over_0.6", facet="temperature", condition="1.0").n == 119


def test_a_share_that_is_never_otherwise_has_wilsons_interval(talk):
    turns = pl.concat([talk("ss", cited=["a", "b"], name=f"c{k}") for k in range(10)])
    share = analyze(turns, resamples=50).row("chameleon_over_0.6")
    assert (share.estimate, share.low) == (0, 0)
    assert share.high == near(0.278, abs=0.001)
    assert share.method == "Wilson, over conversations"


def test_bins_of_re_use_hold_their_lower_bound_and_the_last_one_both(talk):
    tables = [
        talk("s" * 11, cited=["a"] * (k + 1) + [f"x{n}" for n in range(10 - k)], name=f"c{k}") for k in (0, 3, 10)
    ]
    rows = analyze(pl.concat(tables), resamples=20).rows_of("chameleon", "bin")
    assert [row.condition for row in rows if row.n] == ["0.0 to 0.1", "0.3 to 0.4", "0.9 to 1.0"]
