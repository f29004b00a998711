"""Tables written for other programs: what spreadsheets see, what Parquet keeps, and folders whole or not at all."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

from overton.errors import InputError, RunError, RunExists
from overton.files.table_formats import write_tables

NUMBERS = pl.DataFrame({"name": ["a", None], "number": [0.1, None], "whole": [-3, 4], "is": [True, None]})
FORMULAS = [
    *("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\uff1d1"),
    "fine\n=cmd|' /C calc'!A0",
    "a;=1",
    "'=1",
]


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.read_text("utf-8").splitlines(keepends=True)))


def test_csv_has_numbers_as_they_are_and_nothing_for_null(tmp_path: Path) -> None:
    (file,) = write_tables({"records": NUMBERS}, tmp_path / "out", "csv")
    assert file == tmp_path / "out" / "records.csv"
    assert file.read_text("utf-8") == "name,number,whole,is\na,0.1,-3,true\n,,4,\n"


@pytest.mark.parametrize("text", FORMULAS)
def test_no_text_of_a_csv_is_a_formula_in_a_spreadsheet(text: str, tmp_path: Path) -> None:
    table = pl.DataFrame({"said": [text], text: ["plain"]})
    (file,) = write_tables({"records": table}, tmp_path / "out", "csv")
    head, (said, plain) = rows(file)
    assert plain == "plain"
    for shown in (said, head[1]):
        for part in shown.replace(";", "\n").split("\n"):
            assert not part.strip().startswith(("=", "+", "-", "@", "\uff1d"))


def test_a_minus_before_a_number_is_no_formula_and_stays(tmp_path: Path) -> None:
    (file,) = write_tables({"t": pl.DataFrame({"x": [-1.5], "text": ["-1.5"]})}, tmp_path / "out", "csv")
    assert rows(file) == [["x", "text"], ["-1.5", "'-1.5"]]


def test_lists_and_mappings_are_json_in_csv(tmp_path: Path) -> None:
    table = pl.DataFrame({"l": [["a", 'b"c', None], [], None], "s": [{"x": 1}, {"x": 2}, None]})
    (file,) = write_tables({"t": table}, tmp_path / "out", "csv")
    assert rows(file)[1:] == [['["a","b\\"c",null]', '{"x":1}'], ["[]", '{"x":2}'], ["", ""]]


def test_an_empty_text_can_be_told_from_null(tmp_path: Path) -> None:
    (file,) = write_tables({"t": pl.DataFrame({"a": ["", None], "b": [1, 2]})}, tmp_path / "out", "csv")
    assert file.read_text("utf-8") == 'a,b\n"",1\n,2\n'


def test_control_characters_are_spelled_out_in_csv(tmp_path: Path) -> None:
    (file,) = write_tables({"t": pl.DataFrame({"a": ["x\x1b[2J\u202e"]})}, tmp_path / "out", "csv")
    assert rows(file)[1] == ["x[U+001B][2J[U+202E]"]


def test_parquet_keeps_every_value(tmp_path: Path) -> None:
    table = pl.DataFrame({"text": [*FORMULAS, None], "list": [["=1"]] * (len(FORMULAS) + 1)})
    (file,) = write_tables({"records": table}, tmp_path / "out", "parquet")
    assert pl.read_parquet(file).equals(table)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_folder_that_exists_is_refused_and_unchanged(form: str, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(RunExists, match="exists already: choose another --out"):
        write_tables({"t": NUMBERS}, tmp_path, form)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_nothing_is_left_if_one_of_two_tables_cannot_be_written(tmp_path: Path) -> None:
    twice = pl.DataFrame({"a\x00": [1], "a[U+0000]": [2]})
    with pytest.raises(RunError, match=r"out cannot be written: .*a\[U\+0000\]"):
        write_tables({"fine": NUMBERS, "twice": twice}, tmp_path / "out", "csv")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="option to: tsv: must be one of csv, parquet"):
        write_tables({"t": NUMBERS}, tmp_path / "out", "tsv")
    assert list(tmp_path.iterdir()) == []
