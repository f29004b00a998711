"""Malformed replies, counted and reported."""

from __future__ import annotations

import polars as pl
import pytest

from overton.studies.sections import Section, Table
from overton.studies.warnings import count_faults, fault_section, fault_warnings, with_faults

RECORDS = pl.DataFrame(
    {
        "model": ["x", "x", "x", "y", "y"],
        "heat": [0.5, 0.5, None, 0.5, 0.5],
        "faults": [["cut", "loop"], [], ["empty"], [], []],
    },
    schema_overrides={"faults": pl.List(pl.String)},
)


def test_faults_are_counted_by_model_and_condition() -> None:
    counts = count_faults(RECORDS, "heat")
    assert [(one.model, one.condition, one.replies, one.faulty) for one in counts] == [
        ("x", "-", 1, 1),
        ("x", "0.5", 2, 1),
        ("y", "0.5", 2, 0),
    ]
    assert counts[1].faults == {"empty": 0, "cut": 1, "echo": 0, "loop": 1, "duplicate": 0}


def test_failed_and_unchecked_replies_are_not_counted() -> None:
    more = RECORDS.with_columns(
        failure=pl.Series([None, None, None, "timeout", None]), faults=pl.Series([*RECORDS["faults"][:4], None])
    )
    assert count_faults(more, "heat") == count_faults(RECORDS.filter(model="x"), "heat")


def test_records_of_older_runs_have_no_counts() -> None:
    assert count_faults(RECORDS.drop("faults"), "heat") == ()


def test_a_model_with_many_faults_is_named_and_one_without_is_not() -> None:
    (said,) = fault_warnings(count_faults(RECORDS, "heat"), "answers")
    assert said == (
        "x: 2 of its 3 answers are malformed (1 empty, 1 cut off, 1 looping). Headlines include them; the report also"
        " shows headlines without them. Raise its token limit: --model-arg x max_tokens=N."
    )


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        ("empty", " If it thinks before it answers, raise its token limit: --model-arg x max_tokens=N."),
        (
            "echo",
            " A model that repeats its prompt may lack its chat template on the server, or may not follow"
            " instructions.",
        ),
        ("loop", ""),
    ],
)
def test_faults_come_with_advice(fault: str, advice: str) -> None:
    faults = pl.Series([[fault]], dtype=pl.List(pl.String))
    (said,) = fault_warnings(count_faults(RECORDS[:1].with_columns(faults=faults), "heat"), "answers")
    assert said.partition("without them.")[2] == advice


@pytest.mark.parametrize(("model", "last"), [("x", "headline"), ("z", "faults")])
def test_faults_come_before_the_numbers_where_there_are_many_and_otherwise_after(model: str, last: str) -> None:
    rare = pl.DataFrame({"model": "z", "heat": 0.5, "faults": [["cut"], *[[] for _ in range(19)]]})
    faults = fault_section(count_faults(pl.concat([RECORDS, rare]).filter(model=model), "heat"), "answers", "Heat", "")
    made = with_faults([Section("headline", "Score", []), None], faults, ["One thing."])
    assert [made[0].key, made[-1].key, len(made)] == ["warnings", last, 3]


def test_the_section_has_a_row_for_each_condition_and_none_where_nothing_is_wrong() -> None:
    counts = count_faults(RECORDS, "heat")
    (section,) = fault_section(counts, "answers", "Temperature", "The headline stands with and without them.")
    table = next(one for one in section.exhibits if isinstance(one, Table))
    assert len(table.rows) == 3
    assert not list(fault_section(count_faults(RECORDS.filter(model="y"), "heat"), "answers", "Temperature", ""))
