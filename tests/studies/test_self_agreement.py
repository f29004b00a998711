"""Repeat labels of a judge: which proportion, in which order, and how its agreement with itself is reported."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from overton.calls import Draw
from overton.studies.questions import Question, from_columns
from overton.studies.self_agreement import is_retested, of_labels, of_questions, of_sets, self_agreement_lines
from overton.studies.stance_stability.record import STANCES

DRAWS = [Draw(f"7/trial {number}/retest") for number in range(2000)]
BACKWARDS = STANCES[::-1]


def test_the_share_is_chosen_by_the_draw_and_a_greater_share_includes_a_smaller_one() -> None:
    assert not any(is_retested(draw, 0.0) for draw in DRAWS)
    assert all(is_retested(draw, 1.0) for draw in DRAWS)
    some, more = ({draw for draw in DRAWS if is_retested(draw, share)} for share in (0.02, 0.1))
    assert some < more
    assert 20 <= len(some) <= 60


def test_repeat_labels_are_counted_and_unread_ones_left_out() -> None:
    first = ["a", "a", "b", "b", None, "a"]
    second = ["a", "b", "b", "b", "a", None]
    found = of_labels(first, second, range(6))
    assert found is not None
    assert (found.repeated, found.unread, found.same.n) == (6, 2, 4)
    assert found.same.value == 0.75
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx((0.75 - 0.5) / 0.5)
    assert found.overlap is None
    assert of_labels([], [], []) is None


def test_sets_given_twice_have_their_mean_overlap() -> None:
    first = [("v1", "v2"), (), ("v3",), None]
    second = [("v2", "v1"), (), ("v3", "v4"), ("v1",)]
    found = of_sets(first, second, range(4))
    assert found is not None
    assert (found.repeated, found.unread, found.kappa) == (4, 1, None)
    assert found.same.value == pytest.approx(2 / 3)
    assert found.overlap is not None
    assert found.overlap.value == pytest.approx((1 + 1 + 0.5) / 3)
    assert found.overlap.n == 3


def test_an_overlap_over_five_items_or_more_has_an_interval() -> None:
    sets = [({"a", "b"}, {"a", "b"} if number % 3 else {"a"}) for number in range(12)]
    found = of_sets([one for one, _ in sets], [other for _, other in sets], range(12))
    assert found is not None
    assert found.overlap is not None
    assert found.overlap.value == pytest.approx((8 + 4 * 0.5) / 12)
    assert 0 < found.overlap.low < found.overlap.value < found.overlap.high <= 1


TABLE = pl.DataFrame(
    {
        "topic": ["t", "", "t"],
        "asked": [True, True, False],
        "stance": ["a", "b", "a"],
        "stance_again": ["a", "a", None],
        "premise": pl.Series([None] * 3, dtype=pl.String),
        "premise_again": pl.Series([None] * 3, dtype=pl.String),
        "values": [["x", "y"], ["x"], None],
        "values_again": [["y", "x"], ["z"], None],
    }
)


def question(key: str) -> Question[Any]:
    return Question(
        key=key,
        labels=(),
        prompts=lambda material, order: (),
        rows=lambda results: results.records,
        material=from_columns(),
        asks="",
        meanings=dict,
        shown={},
        row="",
        group="",
        columns={key: f"{key}_again"},
        repeated="asked",
    )


def test_columns_of_records_are_compared_and_those_without_requests_are_left_out() -> None:
    found = of_questions(map(question, ("stance", "premise", "values")), TABLE, "topic", 0.95)
    assert list(found) == ["stance", "values"]
    assert found["stance"].same.value == found["values"].same.value == 0.5
    assert found["values"].overlap is not None
    assert found["values"].overlap.value == 0.5


@pytest.mark.parametrize(
    "table",
    [
        TABLE.drop("asked"),
        TABLE.drop("stance_again"),
        TABLE.with_columns(asked=pl.lit("True")),
        TABLE.with_columns(stance=pl.col("values")),
    ],
)
def test_a_table_that_is_not_from_a_run_has_no_agreement(table: pl.DataFrame) -> None:
    assert not of_questions([question("stance")], table, "topic", 0.95)


def test_agreement_with_itself_is_reported_in_a_line_and_so_is_its_absence() -> None:
    found = of_labels(["a", "b", None], ["a", "b", "a"], range(3))
    assert found is not None
    (line,) = self_agreement_lines({"premise_stance": found})
    assert line.startswith(
        "Second labels of 3 units, with label options or materials in another order (1 without two usable answers): "
    )
    assert "the same premise stance in 100%" in line
    assert "Cohen's kappa 1.00" in line
    (nothing,) = self_agreement_lines({})
    assert "was not measured" in nothing
