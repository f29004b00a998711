from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies import table_frames
from overton.studies.open_mindedness.record import NOTE, RECORDS, Record, read_table
from overton.studies.tables import columns_of_record

RECORD_COLUMNS = (
    "model",
    *(column.column for column in columns_of_record(Record) if column.column not in {"form", "stance_strict"}),
)
"""Columns that are added if a table lacks them."""

ROW: dict[str, Any] = {
    "model": "m",
    "trial": "i/balanced/w1/t2/r1",
    "issue": "i",
    "topic": None,
    "condition": "balanced",
    "wording": 1,
    "template": 2,
    "repetition": 1,
    "draw": None,
    "arguments": ["con-1", "pro-2"],
    "last_argument": "pro",
    "a_is": "pro",
    "pro_first": True,
    "a_first": False,
    "stance": "pro",
    "letter": "A",
    "stance_published": "pro",
    "refused": False,
    "failure": None,
    "answer": "position <<A>>",
    "faults": [],
    "input_tokens": 10,
    "output_tokens": 3,
    "shares": None,
    "p_a": None,
    "p_b": None,
    "sampled": None,
    "answers": "forced",
    "judged_a_is": None,
    "strength": None,
    "declines": None,
    "judge_attempts": None,
    "judge_shares": None,
    "p_takes_pro": None,
    "p_takes_con": None,
    "p_takes_neither": None,
    "taken_sampled": None,
}
SCHEMA = {
    "faults": pl.List(pl.String),
    "topic": pl.String,
    "draw": pl.Int64,
    "failure": pl.String,
    "letter": pl.String,
    "last_argument": pl.String,
    "shares": pl.String,
    "p_a": pl.Float64,
    "p_b": pl.Float64,
    "sampled": pl.List(pl.String),
    "judged_a_is": pl.String,
    "strength": pl.String,
    "declines": pl.Boolean,
    "judge_attempts": pl.Int64,
    "judge_shares": pl.String,
    **dict.fromkeys(("p_takes_pro", "p_takes_con", "p_takes_neither"), pl.Float64),
    "taken_sampled": pl.List(pl.String),
}
LISTS = ("arguments", "faults", "sampled", "taken_sampled")


def read_records(path: Path) -> pl.DataFrame:
    return table_frames.read(RECORDS, open_table(path))


def read_outcomes(path: Path) -> pl.DataFrame:
    return read_table(open_table(path))


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame([ROW | row for row in rows], schema_overrides=SCHEMA)


TWO = table({}, {"trial": "u", "condition": "baseline", "wording": 0, "arguments": [], "last_argument": None})


def test_a_run_folder_and_its_file_give_the_same_records(tmp_path: Path) -> None:
    TWO.write_parquet(tmp_path / "records.parquet")
    assert read_records(tmp_path).equals(TWO)
    assert read_records(tmp_path / "records.parquet").equals(TWO)
    assert read_outcomes(tmp_path).equals(TWO)


def test_json_lines_and_csv_give_the_records_of_parquet(tmp_path: Path) -> None:
    TWO.write_ndjson(tmp_path / "a.jsonl")
    TWO.with_columns(pl.col(*LISTS).list.join(" ")).write_csv(tmp_path / "a.csv")
    for name in ("a.jsonl", "a.csv"):
        assert read_records(tmp_path / name).equals(TWO)
        assert read_records(tmp_path / name).schema == TWO.schema


def test_texts_with_line_breaks_and_commas_survive_a_csv(tmp_path: Path) -> None:
    odd = table({"answer": 'A,\n"B"\n'}).with_columns(pl.col(*LISTS).list.join(" "))
    odd.write_csv(tmp_path / "a.csv")
    assert read_records(tmp_path / "a.csv")["answer"].to_list() == ['A,\n"B"\n']


def test_missing_columns_come_back_null_in_their_own_type(tmp_path: Path) -> None:
    pl.DataFrame({"model": ["m"], "issue": ["i"], "condition": ["neither"], "stance": ["con"], "x": [1]}).write_csv(
        tmp_path / "a.csv"
    )
    records = read_records(tmp_path / "a.csv")
    assert records.columns == list(RECORD_COLUMNS)
    assert records.schema == TWO.schema
    assert records.row(0, named=True) == {
        **dict.fromkeys(RECORD_COLUMNS),
        **{"model": "m", "issue": "i", "condition": "baseline", "stance": "con"},
        **{"refused": False, "answer": "", "arguments": [], "answers": "forced"},
    }


def test_records_without_the_design_are_counted_and_name_missing_columns(tmp_path: Path) -> None:
    rows = table({}, {}, {"stance": "con"}, {"stance": "other", "failure": "timeout: x"}, {"issue": "j", "topic": "T"})
    rows.drop("template", "a_is", "arguments").write_parquet(tmp_path / "a.parquet")
    outcomes = read_outcomes(tmp_path / "a.parquet")
    assert outcomes[NOTE][0].splitlines() == [
        "a.parquet lacks template, arguments, a_is. Measures that need them (letter, order, draws) are not computed.",
        "1 failed calls in a.parquet are left out.",
    ]
    assert outcomes.drop(NOTE).rows() == [
        ("m", "i", "balanced", "con", 1, None),
        ("m", "i", "balanced", "pro", 2, None),
        ("m", "j", "balanced", "pro", 1, "T"),
    ]


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"stance": "maybe"}, "stance", "'maybe' in row 2 must be one of pro, con, other"),
        ({"condition": "odd"}, "condition", "'odd' in row 2 must be one of baseline"),
        ({"model": None}, "model", "is empty in row 2"),
        ({"template": 7}, "template", "7 in row 2"),
        ({"wording": -1}, "wording", "-1 in row 2"),
        ({"a_is": "left"}, "a_is", "'left' in row 2"),
        ({"letter": "C"}, "letter", "'C' in row 2"),
    ],
)
def test_a_bad_value_is_named_with_its_row(tmp_path: Path, change: dict[str, Any], key: str, reason: str) -> None:
    table({}, change).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError) as raised:
        read_records(tmp_path / "a.parquet")
    (problem,) = raised.value.problems
    assert problem.key == key
    assert reason in problem.reason


@pytest.mark.parametrize(("column", "value"), [("template", "two"), ("pro_first", "perhaps"), ("repetition", "1.x")])
def test_a_csv_cell_of_another_type_is_named(tmp_path: Path, column: str, value: str) -> None:
    rows = table({}).with_columns(pl.col(*LISTS).list.join(" "), pl.lit(value).alias(column))
    rows.write_csv(tmp_path / "a.csv")
    with pytest.raises(InputError, match=f"{column}: '{value}' in row 1"):
        read_records(tmp_path / "a.csv")


def test_whether_answers_were_held_to_a_form_is_kept(tmp_path: Path) -> None:
    held = TWO.clone().insert_column(1, pl.Series("held", [True, False]))
    held.write_parquet(tmp_path / "records.parquet")
    assert read_records(tmp_path).equals(held)
    with pytest.raises(InputError, match="m: a grammar constrained only some of its answers"):
        read_outcomes(tmp_path)
    apart = held.with_columns(model=pl.Series(["m", "free"]))
    apart.drop("template").write_parquet(tmp_path / "a.parquet")
    assert read_outcomes(tmp_path / "a.parquet")[NOTE][0].startswith("m: a grammar constrained answers")


def test_counts_are_distinguished_from_records_by_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,issue,case,issue_stance,count\nm,i,neither,pro,3\n")
    outcomes = read_outcomes(tmp_path / "a.csv")
    assert outcomes["count"].to_list() == [3]


def test_tables_of_neither_kind_get_the_needs_of_both(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("model,question\nm,q\n")
    with pytest.raises(InputError, match=r"neither records .*stance.* nor a table of counts .*count.*model, question"):
        read_outcomes(tmp_path / "a.csv")


def test_a_folder_without_records_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"without records\.parquet"):
        read_outcomes(tmp_path)


def test_a_bad_line_of_json_lines_is_named(tmp_path: Path) -> None:
    good = '{"model": "m", "issue": "i", "condition": "baseline", "stance": "pro"}\n'
    (tmp_path / "a.jsonl").write_text(good + good + '{"model": \n')
    with pytest.raises(InputError, match="line 3"):
        read_records(tmp_path / "a.jsonl")
