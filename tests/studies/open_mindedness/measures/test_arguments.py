from collections.abc import Callable

import polars as pl
import pytest

from overton.studies.open_mindedness.measures import analyze

Rows = Callable[..., pl.DataFrame]


def test_an_arguments_share_is_over_all_trials_that_showed_it(rows: Rows) -> None:
    table = pl.concat(
        [
            rows("one-sided-pro", 9, 1, arguments=["pro-1"]),
            rows("balanced", 3, 7, arguments=["con-1", "pro-1"]),
            rows("one-sided-con", 0, 10, arguments=["con-1"]),
            rows("baseline", 10, 0),
        ]
    )
    shares = analyze(table).models["m"].arguments
    assert shares
    assert {(one.issue, one.argument): (one.pro.value, one.pro.n) for one in shares} == {
        ("i", "pro-1"): (0.6, 20),
        ("i", "con-1"): (0.15, 20),
    }


def shown(rows: Rows, model: str, issue: str, shares: list[int]) -> list[pl.DataFrame]:
    return [
        rows("one-sided-pro", share, 10 - share, model=model, issue=issue, arguments=[f"pro-{k}"])
        for k, share in enumerate(shares)
    ]


def test_models_agree_on_arguments_as_pearson_says(rows: Rows) -> None:
    table = pl.concat(
        shown(rows, "a", "x", [1, 2, 3])
        + shown(rows, "a", "y", [6, 7, 8])
        + shown(rows, "b", "x", [3, 2, 1])
        + shown(rows, "b", "y", [8, 7, 6])
    )
    comparison = analyze(table, families={"a": "one", "b": "one"}).comparison
    assert comparison
    pair = comparison.agreements[0]
    # Issues differ alike in both models (+1), arguments within them oppositely (-1).
    assert pair.correlation.value == pytest.approx((37.5 - 4) / (37.5 + 4))
    assert pair.within.value == pytest.approx(-1)
    assert (pair.same_family, pair.correlation.n) == (True, 6)
    assert comparison.within_families.value == pytest.approx(pair.correlation.value)
    assert "no such pair" in comparison.between_families.method


def test_without_families_pairs_are_neither_within_nor_between(rows: Rows) -> None:
    table = pl.concat(shown(rows, "a", "x", [1, 2, 3]) + shown(rows, "b", "x", [1, 2, 3]))
    comparison = analyze(table).comparison
    assert comparison
    assert comparison.agreements[0].same_family is None
    assert "no such pair" in comparison.within_families.method


def test_medians_are_over_pairs_within_and_between_families(rows: Rows) -> None:
    table = pl.concat(
        shown(rows, "a", "x", [1, 2, 3])
        + shown(rows, "b", "x", [2, 4, 6])
        + shown(rows, "c", "x", [3, 2, 1])
        + shown(rows, "d", "x", [6, 4, 2])
    )
    comparison = analyze(table, families={"a": "f", "b": "f", "c": "g", "d": "g"}).comparison
    assert comparison
    assert (comparison.within_families.value, comparison.within_families.n) == (pytest.approx(1), 2)
    assert (comparison.between_families.value, comparison.between_families.n) == (pytest.approx(-1), 4)
