from collections.abc import Callable
from math import isnan

import polars as pl
import pytest

from overton.studies.open_mindedness.measures import analyze_counts
from overton.studies.open_mindedness.measures.scores import SCORED

Counts = Callable[..., pl.DataFrame]

PRO, CON = (20, 0, 0), (0, 20, 0)


@pytest.fixture
def table(counts: Counts) -> pl.DataFrame:
    stays = {"baseline": PRO, **dict.fromkeys(SCORED, PRO)}
    return pl.concat(
        [
            counts(stays, issue="never"),
            counts(stays | {"balanced": CON}, issue="by-balance"),
            counts(stays | {"one-sided-con": CON, "baseline": (19, 1, 0)}, issue="one-sided"),
            counts(stays | {"one-sided-con": CON, "baseline": (18, 2, 0)}, issue="weak-prior"),
        ]
    )


def test_shares_of_issues_that_some_configuration_flips(table: pl.DataFrame) -> None:
    found = analyze_counts(table).models["m"].definition
    assert (found.moved.value, found.moved.n) == (0.75, 4)
    assert found.moved_issues == ("by-balance", "one-sided", "weak-prior")
    assert found.moved.low < 0.75 < found.moved.high


def test_shares_of_issues_that_no_one_sided_arguments_move(table: pl.DataFrame) -> None:
    found = analyze_counts(table).models["m"].definition
    assert found.unmoved_by_one_sided.value == 0.5
    assert found.unmoved_by_one_sided_issues == ("by-balance", "never")


def test_a_prior_is_strong_from_95_percent_on(table: pl.DataFrame) -> None:
    found = analyze_counts(table).models["m"].definition
    assert found.strong_prior_issues == ("by-balance", "never", "one-sided")


def test_an_issue_that_lacks_configurations_counts_only_where_one_flipped(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": PRO, "balanced": PRO}, issue="unknown"),
            counts({"baseline": PRO, "balanced": CON}, issue="moved"),
        ]
    )
    found = analyze_counts(table).models["m"]
    assert (found.issues["unknown"].moved, found.issues["moved"].moved) == (None, True)
    assert (found.definition.moved.value, found.definition.moved.n) == (1, 1)
    assert isnan(found.definition.unmoved_by_one_sided.value)


def test_leaning_pro_counts_issues_with_more_pro_than_con_at_the_baseline(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (4, 3, 13)}, issue="pro"),
            counts({"baseline": (10, 10, 0)}, issue="tie"),
            counts({"baseline": (3, 4, 0)}, issue="con"),
            counts({"balanced": PRO}, issue="without"),
        ]
    )
    found = analyze_counts(table).models["m"].leaning_pro
    assert (found.value, found.n) == (pytest.approx(1 / 3), 3)
