from collections.abc import Callable
from math import isnan
from pathlib import Path

import polars as pl
import pytest
from tests.studies.open_mindedness.numbers import ModelNumbers

import overton
from overton.statistics import Estimate
from overton.studies.frame import Analysis
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
    shares = analyze(table).rows_of("argument_pro", "argument")
    assert {(row.item, row.condition): (row.number.value, row.number.n) for row in shares} == {
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
    found = ModelNumbers(analyze(table, families={"a": "one", "b": "one"}), "a")
    correlation = found("agreement", against="b")
    # Issues differ alike in both models (+1), arguments within them oppositely (-1).
    assert correlation.value == pytest.approx((37.5 - 4) / (37.5 + 4))
    assert found("agreement_within", against="b").value == pytest.approx(-1)
    assert correlation.n == 6
    assert found.analysis.counts["families"] == ({"first": "a", "second": "b", "same_family": True},)
    within, between = medians(found.analysis)
    assert within.value == pytest.approx(correlation.value)
    assert "no such pair" in between.method


def medians(analysis: Analysis) -> tuple[Estimate, Estimate]:
    """The median correlations within and between families."""
    every = ModelNumbers(analysis, None)
    return every("agreement", "within", facet="families"), every("agreement", "between", facet="families")


def test_without_families_pairs_are_neither_within_nor_between(rows: Rows) -> None:
    table = pl.concat(shown(rows, "a", "x", [1, 2, 3]) + shown(rows, "b", "x", [1, 2, 3]))
    analysis = analyze(table)
    assert [cells["same_family"] for cells in analysis.counts["families"]] == [None]
    assert "no such pair" in medians(analysis)[0].method


def by_four(rows: Rows, *names: str) -> pl.DataFrame:
    """Records of four models, of which the first two agree and the last two agree."""
    shares = ([1, 2, 3], [2, 4, 6], [3, 2, 1], [6, 4, 2])
    return pl.concat([part for name, own in zip(names, shares, strict=True) for part in shown(rows, name, "x", own)])


def test_families_in_a_table_are_read(rows: Rows, tmp_path: Path) -> None:
    families = pl.DataFrame({"model": ["a", "b", "c"], "family": ["f", "f", "g"]})
    file = tmp_path / "records.parquet"
    by_four(rows, "a", "b", "c", "d").join(families, "model", how="left").write_parquet(file)
    analysis = overton.analyze("open-mindedness", file)
    related = {(row["first"], row["second"]): row["same_family"] for row in analysis.counts["families"]}
    assert (related["a", "b"], related["a", "c"], related["a", "d"], related["c", "d"]) == (True, False, None, None)
    within, between = medians(analysis)
    assert (within.n, between.n) == (1, 2)


def test_families_of_a_table_without_them_are_guessed_from_names(rows: Rows, tmp_path: Path) -> None:
    file = tmp_path / "records.parquet"
    by_four(rows, "openai/gpt-4o", "gpt-4o-mini", "claude-3-5-haiku", "claude-opus-4").write_parquet(file)
    within, between = medians(overton.analyze("open-mindedness", file))
    assert (within.value, within.n) == (pytest.approx(1), 1)  # Claude 3.5 and Claude 4 are not the same family
    assert between.n == 5


def test_medians_are_over_pairs_within_and_between_families(rows: Rows) -> None:
    table = pl.concat(
        shown(rows, "a", "x", [1, 2, 3])
        + shown(rows, "b", "x", [2, 4, 6])
        + shown(rows, "c", "x", [3, 2, 1])
        + shown(rows, "d", "x", [6, 4, 2])
    )
    within, between = medians(analyze(table, families={"a": "f", "b": "f", "c": "g", "d": "g"}))
    assert (within.value, within.n) == (pytest.approx(1), 2)
    assert (between.value, between.n) == (pytest.approx(-1), 4)


def test_flips_between_and_within_argument_sets(rows: Rows) -> None:
    # Set one: 3 pro, 1 con; set two (another order is the same set): 1 pro, 3 con.
    table = pl.concat(
        [
            rows("convincing-pro", 3, 1, arguments=["pro-1", "pro-2", "con-1"]),
            rows("convincing-pro", 1, 2, arguments=["pro-3", "pro-2", "con-1"]),
            rows("convincing-pro", 0, 1, arguments=["con-1", "pro-2", "pro-3"]),
        ]
    )
    found = ModelNumbers(analyze(table))
    # Within a set of four with three alike, 3 pairs of 6 differ; across, 3 * 3 + 1 * 1 of 16.
    assert found("flips_same_set").value == pytest.approx(0.5)
    assert found("flips_other_set").value == pytest.approx(10 / 16)
    assert found("flips_extra").value == pytest.approx(1 / 8)
    assert "--draws" in found("majority_flips").method


def test_pairs_are_of_one_template_and_wording(rows: Rows) -> None:
    table = pl.concat(
        [
            rows("convincing-pro", 2, 0, template=1, arguments=["pro-1", "con-1"]),
            rows("convincing-pro", 0, 2, template=2, arguments=["pro-2", "con-1"]),
        ]
    )
    found = ModelNumbers(analyze(table))
    assert isnan(found("flips_extra").value)


def test_configurations_with_one_possible_set_do_not_dilute_the_comparison(rows: Rows) -> None:
    mixed = [
        rows("convincing-pro", 1, 1, arguments=["pro-1", "con-1"]),
        rows("convincing-pro", 1, 1, arguments=["pro-2", "con-1"]),
    ]
    settled = rows("one-sided-pro", 50, 0, arguments=["pro-1"])
    found = ModelNumbers(analyze(pl.concat([*mixed, settled])))
    alone = ModelNumbers(analyze(pl.concat(mixed)))
    assert found("flips_same_set").value == alone("flips_same_set").value == 1
    assert found("flips_other_set").value == alone("flips_other_set").value == 0.5


def test_repeated_sets_show_flips_of_the_majority_and_variance_beyond_noise(rows: Rows) -> None:
    table = pl.concat(
        [
            rows("convincing-pro", 8, 2, draw=1, arguments=["pro-1", "con-1"]),
            rows("convincing-pro", 8, 2, draw=2, arguments=["pro-2", "con-1"]),
            rows("convincing-pro", 2, 8, draw=3, arguments=["pro-3", "con-1"]),
        ]
    )
    found = ModelNumbers(analyze(table))
    assert found("majority_flips").value == pytest.approx(2 / 3)
    # Shares 0.8, 0.8, 0.2: variance 0.12; each set's noise 0.8 * 0.2 / 9.
    assert found("set_variance").value == pytest.approx(0.12 - 0.16 / 9)


def test_noise_of_a_set_is_that_of_its_strata(rows: Rows) -> None:
    # Templates disagree without exception: sampling alone moves nothing, so all of the variance is between sets.
    table = pl.concat(
        [
            rows("convincing-pro", *counts, template=template, draw=draw, arguments=[f"pro-{draw}", "con-1"])
            for draw, by_template in {1: {2: (4, 0), 5: (0, 4)}, 2: {2: (4, 0), 5: (4, 0)}}.items()
            for template, counts in by_template.items()
        ]
    )
    found = ModelNumbers(analyze(table))
    assert found("set_variance").value == pytest.approx(0.125)
