from collections.abc import Callable
from math import isnan

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers, notes_of

from overton.studies.open_mindedness.measures import analyze

Counts = Callable[..., pl.DataFrame]
Rows = Callable[..., pl.DataFrame]


def test_shifts_are_mean_changes_of_the_pro_share(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (5, 5, 0), "balanced": (8, 2, 0)}, issue="a"),
            counts({"baseline": (5, 0, 5), "balanced": (4, 6, 0)}, issue="b"),
            counts({"balanced": (10, 0, 0)}, issue="without-baseline"),
        ]
    )
    shift = ModelNumbers(analyze(table))("shift", "balanced")
    assert (shift.value, shift.n) == (pytest.approx((0.3 - 0.1) / 2), 2)


def test_the_effect_of_a_single_contrary_argument_is_the_loss_of_the_other_side(counts: Counts) -> None:
    table = counts(
        {
            "one-sided-pro": (10, 0, 0),
            "convincing-pro": (4, 5, 1),
            "one-sided-con": (1, 9, 0),
            "convincing-con": (3, 7, 0),
            "three-pro": (8, 2, 0),
        }
    )
    model = ModelNumbers(analyze(table))
    assert model("contrary_con").value == pytest.approx(0.6)
    assert model("contrary_pro").value == pytest.approx(0.2)
    assert model("clean_con").value == pytest.approx(0.4)
    assert isnan(model("clean_pro").value)
    assert "three-con" in model("clean_pro", item="i").method


def test_issues_on_which_a_single_argument_takes_more_than_half(counts: Counts) -> None:
    def issue(name: str, share: int) -> pl.DataFrame:
        return counts({"one-sided-pro": (10, 0, 0), "convincing-pro": (share, 10 - share, 0)}, issue=name)

    model = ModelNumbers(analyze(pl.concat([issue("above", 4), issue("half", 5), issue("below", 9)])))
    above = model("contrary_above_half")
    assert (above.value, above.n) == (pytest.approx(1 / 3), 3)
    assert model("contrary_con", item="above").value > 0.5


def test_counter_shifts_are_rises_of_the_side_that_arguments_argue_against(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (50, 50, 0), "one-sided-con": (90, 10, 0), "one-sided-pro": (90, 10, 0)}, issue="odd"),
            counts({"baseline": (50, 50, 0), "one-sided-con": (40, 60, 0), "one-sided-pro": (49, 51, 0)}, issue="weak"),
            counts({"baseline": (10, 20, 70), "one-sided-con": (30, 70, 0)}, issue="refused"),
        ]
    )
    model = ModelNumbers(analyze(table))
    found = {(cells["issue"], cells["condition"]): cells["clear"] for cells in model.table("counter_shifts")}
    assert {
        (issue, condition): (model("counter_shift", condition, item=issue).value, clear)
        for (issue, condition), clear in found.items()
    } == {
        ("odd", "one-sided-con"): (pytest.approx(0.4), True),
        ("weak", "one-sided-pro"): (pytest.approx(0.01), False),
        ("refused", "one-sided-con"): (pytest.approx(0.2), True),
    }
    assert [model.counts[f"counter_{name}"] for name in ("count", "clear", "compared")] == [3, 2, 5]
    assert model("counter_shift").value == pytest.approx((0.4 + 0.01 + 0.2) / 3)


def test_a_missing_counter_shift_is_reported_as_such(counts: Counts) -> None:
    model = ModelNumbers(analyze(counts({"baseline": (5, 5, 0), "one-sided-con": (0, 10, 0)})))
    assert (model.counts["counter_count"], model.counts["counter_compared"]) == (0, 1)
    assert "no counter-argument shift" in model("counter_shift").method


def test_refusals_by_configuration_and_among_often_refused_issues(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (3, 3, 4), "balanced": (9, 0, 1), "one-sided-pro": (10, 0, 0)}, issue="often"),
            counts({"baseline": (7, 0, 3), "balanced": (10, 0, 0), "one-sided-pro": (10, 0, 0)}, issue="sometimes"),
        ]
    )
    found = ModelNumbers(analyze(table))
    assert found("often_other").value == 0.5
    assert found("other", "baseline").value == pytest.approx(0.35)
    assert found("other", "balanced / often", facet="refusals").value == pytest.approx(0.1)
    assert found("other_change").value == pytest.approx(((0.05 - 0.4) + (0 - 0.3)) / 2)


def test_issues_are_on_one_side_if_all_answers_with_a_side_agree(counts: Counts) -> None:
    table = pl.concat(
        [
            counts({"baseline": (4, 0, 6), "balanced": (9, 1, 0)}, issue="pro"),
            counts({"baseline": (0, 2, 0), "balanced": (1, 0, 9)}, issue="con"),
            counts({"baseline": (5, 1, 0), "balanced": (0, 0, 10)}, issue="both"),
            counts({"baseline": (1, 0, 9), "one-sided-pro": (0, 1, 3)}, issue="too-few"),
        ]
    )
    found = ModelNumbers(analyze(table))
    assert (found("one_side", "baseline").value, found("one_side", "baseline").n) == (pytest.approx(2 / 3), 3)
    assert (found("one_side", "balanced").value, found("one_side", "balanced").n) == (0, 1)
    assert "no issue has two counted answers with a side in one-sided-pro" in found("one_side", "one-sided-pro").method


def test_readings_that_differ_are_counted(rows: Rows) -> None:
    table = pl.concat([rows(pro=6), rows(other=3, published="pro"), rows(other=1)])
    model = ModelNumbers(analyze(table))
    assert readings_of(model) == {("pro", "pro"): 6, ("other", "pro"): 3, ("other", "other"): 1}
    assert model("read_differently").value == pytest.approx(0.3)
    assert stances_of(model) == {"pro": 6, "con": 0, "other": 4}


def test_the_published_reading_measures_the_published_stances(rows: Rows) -> None:
    table = pl.concat([rows(pro=6), rows(other=3, published="pro"), rows(other=1)])
    found = ModelNumbers(analyze(table, reading="published"))
    assert stances_of(found) == {"pro": 9, "con": 0, "other": 1}
    assert readings_of(found) == {("pro", "pro"): 6, ("other", "pro"): 3, ("other", "other"): 1}


def stances_of(model: ModelNumbers) -> dict[str, int]:
    return {stance: model.counts[stance] for stance in ("pro", "con", "other")}


def readings_of(model: ModelNumbers) -> dict[tuple[str, str], int]:
    return {(cells["strict"], cells["published"]): cells["answers"] for cells in model.table("readings")}


def test_flagged_refusals_are_counted_by_configuration(rows: Rows) -> None:
    table = pl.concat([rows(other=3, refused=True), rows(pro=1), rows("balanced", pro=2)])
    model = ModelNumbers(analyze(table))
    assert model.counts["flagged"] == 3
    assert {name: share.value for name, share in model.by_condition("flagged").items()} == {
        "baseline": 0.75,
        "balanced": 0,
    }


def test_failed_calls_are_counted_apart_from_answers(rows: Rows) -> None:
    table = pl.concat([rows(pro=3, con=1), rows(other=6, failure="timeout: none")])
    analysis = analyze(table)
    model = ModelNumbers(analysis)
    assert (model.counts["answers"], model.counts["failures"]) == (4, 6)
    (baseline,) = model.table("conditions", issue="i", condition="baseline")
    assert (model("pro", "baseline", item="i").value, baseline["failures"]) == (0.75, 6)
    assert any("6 calls failed" in note for note in notes_of(analysis))


def test_an_issue_whose_calls_all_failed_is_listed_without_a_baseline(rows: Rows) -> None:
    table = pl.concat([rows(pro=3), rows(other=2, issue="dead", failure="timeout: none")])
    model = ModelNumbers(analyze(table))
    assert model.issue("dead")["tied"] is None
    assert not model.table("conditions", issue="dead")
    assert isnan(model("open_mindedness", item="dead").value)
    assert (len(model.table("issues")), model.counts["scored"]) == (2, 0)
