from collections.abc import Callable
from math import isnan

import polars as pl
import pytest

from overton.studies.open_mindedness.measures import analyze, analyze_counts

Rows = Callable[..., pl.DataFrame]
Counts = Callable[..., pl.DataFrame]


def test_refusals_by_configuration_and_among_often_refused_issues(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (3, 3, 4), "balanced": (9, 0, 1), "one-sided-pro": (10, 0, 0)}, issue="often"),
            counts({"baseline": (7, 0, 3), "balanced": (10, 0, 0), "one-sided-pro": (10, 0, 0)}, issue="sometimes"),
        ]
    )
    found = analyze_counts(table).models["m"].refusals
    assert found.issues == ("often",)
    assert found.share_of_issues.value == 0.5
    assert found.by_condition["baseline"].value == pytest.approx(0.35)
    assert found.among_these["balanced"].value == pytest.approx(0.1)
    assert found.change.value == pytest.approx(((0.05 - 0.4) + (0 - 0.3)) / 2)


def test_readings_that_differ_are_counted(rows: Rows) -> None:
    table = pl.concat([rows(pro=6), rows(other=3, published="pro"), rows(other=1)])
    tally = analyze(table).models["m"].tally
    assert tally.readings == {("pro", "pro"): 6, ("other", "pro"): 3, ("other", "other"): 1}
    assert tally.read_differently.value == pytest.approx(0.3)
    assert tally.stances == {"pro": 6, "con": 0, "other": 4}


def test_the_published_reading_measures_the_published_stances(rows: Rows) -> None:
    table = pl.concat([rows(pro=6), rows(other=3, published="pro"), rows(other=1)])
    found = analyze(table, reading="published").models["m"]
    assert found.tally.stances == {"pro": 9, "con": 0, "other": 1}
    assert found.tally.readings == {("pro", "pro"): 6, ("other", "pro"): 3, ("other", "other"): 1}


def test_flagged_refusals_are_counted_by_configuration(rows: Rows) -> None:
    table = pl.concat([rows(other=3, refused=True), rows(pro=1), rows("balanced", pro=2)])
    model = analyze(table).models["m"]
    assert model.tally.flagged == 3
    assert {name: share.value for name, share in model.refusals.flagged.items()} == {"baseline": 0.75, "balanced": 0}


def test_failed_calls_are_no_answers_and_are_counted(rows: Rows) -> None:
    table = pl.concat([rows(pro=3, con=1), rows(other=6, failure="timeout: none")])
    analysis = analyze(table)
    model = analysis.models["m"]
    assert (model.tally.answers, model.tally.failures) == (4, 6)
    baseline = model.issues["i"].conditions["baseline"]
    assert (baseline.shares.pro.value, baseline.failures) == (0.75, 6)
    assert any("6 calls failed" in note for note in analysis.notes)


def test_an_issue_whose_calls_all_failed_is_listed_without_a_baseline(rows: Rows) -> None:
    table = pl.concat([rows(pro=3), rows(other=2, issue="dead", failure="timeout: none")])
    model = analyze(table).models["m"]
    assert model.issues["dead"].baseline is None
    assert model.issues["dead"].conditions == {}
    assert isnan(model.issues["dead"].scores.open_mindedness.value)
    assert set(model.incomplete) == {"dead", "i"}
