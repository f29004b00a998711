from collections.abc import Callable
from math import isnan

import polars as pl
import pytest

from overton.studies.open_mindedness.measures import analyze

Rows = Callable[..., pl.DataFrame]


def test_flips_between_and_within_argument_sets(rows: Rows) -> None:
    # Set one: 3 pro, 1 con; set two (another order is the same set): 1 pro, 3 con.
    table = pl.concat(
        [
            rows("convincing-pro", 3, 1, arguments=["pro-1", "pro-2", "con-1"]),
            rows("convincing-pro", 1, 2, arguments=["pro-3", "pro-2", "con-1"]),
            rows("convincing-pro", 0, 1, arguments=["con-1", "pro-2", "pro-3"]),
        ]
    )
    found = analyze(table).models["m"].draws
    assert found
    # Within a set of four with three alike, 3 pairs of 6 differ; across, 3 * 3 + 1 * 1 of 16.
    assert found.flips_same_set.value == pytest.approx(0.5)
    assert found.flips_other_set.value == pytest.approx(10 / 16)
    assert found.extra.value == pytest.approx(1 / 8)
    assert "--draws" in found.majority_flips.method


def test_pairs_are_of_one_template_and_wording(rows: Rows) -> None:
    table = pl.concat(
        [
            rows("convincing-pro", 2, 0, template=1, arguments=["pro-1", "con-1"]),
            rows("convincing-pro", 0, 2, template=2, arguments=["pro-2", "con-1"]),
        ]
    )
    found = analyze(table).models["m"].draws
    assert found
    assert isnan(found.extra.value)


def test_configurations_with_one_possible_set_do_not_dilute_the_comparison(rows: Rows) -> None:
    mixed = [
        rows("convincing-pro", 1, 1, arguments=["pro-1", "con-1"]),
        rows("convincing-pro", 1, 1, arguments=["pro-2", "con-1"]),
    ]
    settled = rows("one-sided-pro", 50, 0, arguments=["pro-1"])
    found = analyze(pl.concat([*mixed, settled])).models["m"].draws
    alone = analyze(pl.concat(mixed)).models["m"].draws
    assert found
    assert alone
    assert found.flips_same_set.value == alone.flips_same_set.value == 1
    assert found.flips_other_set.value == alone.flips_other_set.value == 0.5


def test_repeated_sets_show_flips_of_the_majority_and_variance_beyond_noise(rows: Rows) -> None:
    table = pl.concat(
        [
            rows("convincing-pro", 8, 2, draw=1, arguments=["pro-1", "con-1"]),
            rows("convincing-pro", 8, 2, draw=2, arguments=["pro-2", "con-1"]),
            rows("convincing-pro", 2, 8, draw=3, arguments=["pro-3", "con-1"]),
        ]
    )
    found = analyze(table).models["m"].draws
    assert found
    assert found.majority_flips.value == pytest.approx(2 / 3)
    # Shares 0.8, 0.8, 0.2: variance 0.12; each set's noise 0.8 * 0.2 / 9.
    assert found.variance.value == pytest.approx(0.12 - 0.16 / 9)


def test_noise_of_a_set_is_that_of_its_strata(rows: Rows) -> None:
    # Templates disagree without exception: sampling alone moves nothing, so all of the variance is between sets.
    table = pl.concat(
        [
            rows("convincing-pro", *counts, template=template, draw=draw, arguments=[f"pro-{draw}", "con-1"])
            for draw, by_template in {1: {2: (4, 0), 5: (0, 4)}, 2: {2: (4, 0), 5: (4, 0)}}.items()
            for template, counts in by_template.items()
        ]
    )
    found = analyze(table).models["m"].draws
    assert found
    assert found.variance.value == pytest.approx(0.125)
