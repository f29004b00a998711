"""Reading tables of turns."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.record import read_table

HEAD = "conversation,turn,stance"
FULL = f"{HEAD},model,temperature,confidence,cited\n"


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def read_stances(path: Path) -> pl.DataFrame:
    return read_table(open_table(path))


def reasons(path: Path) -> list[str]:
    with pytest.raises(InputError) as raised:
        read_stances(path)
    return [f"{problem.key}: {problem.reason}" for problem in raised.value.problems]


def test_a_csv_gives_typed_columns_and_documents_as_lists(tmp_path):
    table = read_stances(written(tmp_path, FULL + "c,1,supportive,m,0.5,1,a b\nc,2,Critical,m,0.5,0.33,\n"))
    assert table["turn"].to_list() == [1, 2]
    assert table["stance"].to_list() == ["supportive", "critical"]
    assert table["confidence"].to_list() == [1.0, 0.33]
    assert table["cited"].to_list() == [["a", "b"], []]


def test_three_columns_are_enough_for_the_measures(tmp_path):
    table = read_stances(written(tmp_path, f"{HEAD}\nc,1,supportive\nc,2,critical\n"))
    assert table.columns == ["conversation", "turn", "stance"]
    assert analyze(table, resamples=10).row("stance_changes").estimate == 1


def test_an_empty_cell_of_documents_means_no_documents(tmp_path):
    rows = "c,1,supportive,m,,1,\nc,2,supportive,m,,1,\n"
    (rules,) = analyze(read_stances(written(tmp_path, FULL + rows)), resamples=10).counts["rules"]
    assert rules["documents"] == "cited"


def test_all_three_file_types_give_the_same_table(tmp_path):
    table = read_stances(written(tmp_path, FULL + "c,1,supportive,m,0,1,a b\nc,2,,m,0,0.67,a\n"))
    table.write_parquet(tmp_path / "table.parquet")
    table.write_ndjson(tmp_path / "table.jsonl")
    for name in ("table.parquet", "table.jsonl"):
        assert read_stances(tmp_path / name).equals(table)


def test_a_run_folder_is_read_by_its_records_with_their_other_columns(tmp_path):
    table = read_stances(written(tmp_path, f"{HEAD}\nc,1,supportive\n"))
    table.with_columns(answer=pl.lit("as said")).write_parquet(tmp_path / "records.parquet")
    assert "answer" in read_stances(tmp_path).columns


def test_an_empty_or_invalid_stance_does_not_count_as_a_label(tmp_path):
    table = read_stances(written(tmp_path, f"{HEAD}\nc,1,\nc,2,invalid\nc,3,unclear\n"))
    assert table["stance"].to_list() == [None, None, "unclear"]


def test_a_temperature_of_the_endpoints_own_is_null(tmp_path):
    table = read_stances(written(tmp_path, FULL + "c,1,supportive,m,own,1,\nd,1,supportive,m,,1,\n"))
    assert table["temperature"].to_list() == [None, None]


def test_missing_columns_are_named(tmp_path):
    (reason,) = reasons(written(tmp_path, "conversation,answer\nc,x\n"))
    assert "no column turn, stance" in reason


def test_every_bad_cell_is_named_by_line_with_its_demand(tmp_path):
    rows = "c,1,pro,m,0,1,\n,2,critical,m,0,1,\nc,x,critical,,hot,2,\nc,4,critical,m,0,high,\n"
    assert reasons(written(tmp_path, FULL + rows)) == [
        "line 2, stance: is 'pro'; it must be one of supportive, critical, balanced, unclear, or empty",
        "line 3, conversation: is empty; it must not be empty",
        "line 4, confidence: is '2'; it must be a number between 0 and 1",
        "line 4, model: is empty; it must be present in every row or in none",
        "line 4, temperature: is 'hot'; it must be a number, 'own' or empty",
        "line 4, turn: is 'x'; it must be a whole number",
        "line 5, confidence: is 'high'; it must be a number between 0 and 1",
    ]


def test_a_turn_that_occurs_twice_is_named_with_both_lines(tmp_path):
    (reason,) = reasons(written(tmp_path, f"{HEAD}\nc,1,supportive\nc,2,critical\nc,1,balanced\n"))
    assert reason.startswith("line 4: is the same turn as line 2")


def test_blank_lines_are_left_out_and_lines_still_counted(tmp_path):
    (reason,) = reasons(written(tmp_path, f"{HEAD}\nc,1,supportive\n,,\nc,2,pro\n"))
    assert reason.startswith("line 4, stance")
