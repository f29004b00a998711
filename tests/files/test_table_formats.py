"""Tables written for other programs: what spreadsheets see, what Parquet keeps, and folders whole or not at all."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

import polars as pl
import pytest

from overton.errors import InputError, MissingExtra, RunError, RunExists
from overton.files.table_formats import FORMATS, write_tables

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


def test_minus_before_a_number_stays_and_text_gets_an_apostrophe(tmp_path: Path) -> None:
    (file,) = write_tables({"t": pl.DataFrame({"x": [-1.5], "text": ["-1.5"]})}, tmp_path / "out", "csv")
    assert rows(file) == [["x", "text"], ["-1.5", "'-1.5"]]


def test_lists_and_mappings_are_json_in_csv(tmp_path: Path) -> None:
    table = pl.DataFrame({"l": [["a", 'b"c', None], [], None], "s": [{"x": 1}, {"x": 2}, None]})
    (file,) = write_tables({"t": table}, tmp_path / "out", "csv")
    assert rows(file)[1:] == [['["a","b\\"c",null]', '{"x":1}'], ["[]", '{"x":2}'], ["", ""]]


def test_empty_text_differs_from_null(tmp_path: Path) -> None:
    (file,) = write_tables({"t": pl.DataFrame({"a": ["", None], "b": [1, 2]})}, tmp_path / "out", "csv")
    assert file.read_text("utf-8") == 'a,b\n"",1\n,2\n'


def test_control_characters_are_spelled_out_in_csv(tmp_path: Path) -> None:
    (file,) = write_tables({"t": pl.DataFrame({"a": ["x\x1b[2J\u202e"]})}, tmp_path / "out", "csv")
    assert rows(file)[1] == ["x[U+001B][2J[U+202E]"]


def test_parquet_keeps_every_value(tmp_path: Path) -> None:
    table = pl.DataFrame({"text": [*FORMULAS, None], "list": [["=1"]] * (len(FORMULAS) + 1)})
    (file,) = write_tables({"records": table}, tmp_path / "out", "parquet")
    assert pl.read_parquet(file).equals(table)


@pytest.mark.parametrize("form", FORMATS)
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
    with pytest.raises(InputError, match="option to: tsv: must be one of csv, parquet, xlsx"):
        write_tables({"t": NUMBERS}, tmp_path / "out", "tsv")
    assert list(tmp_path.iterdir()) == []


_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheet(path: Path) -> list[list[tuple[str, str]]]:
    """The cells of a workbook's sheet by row, each with its type ('s' for a text, 'n' for a number) and its value."""
    with ZipFile(path) as book:
        texts = ["".join(entry.itertext()) for entry in ElementTree.fromstring(book.read("xl/sharedStrings.xml"))]
        cells = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    assert not list(cells.iter(f"{_SHEET}f")), "a formula"
    assert not list(cells.iter(f"{_SHEET}hyperlink")), "a link"
    return [
        [
            (cell.get("t", "n"), texts[int(value)] if cell.get("t") == "s" else value)
            for cell in row
            for value in [cell.findtext(f"{_SHEET}v", "")]
        ]
        for row in cells.iter(f"{_SHEET}row")
    ]


def test_workbook_keeps_numbers_and_texts_that_look_like_formulas(tmp_path: Path) -> None:
    said = [*FORMULAS, "http://127.0.0.1/x", "12"]
    table = pl.DataFrame({"said": said, "number": [0.25] * len(said), "list": [["=1"]] * len(said)})
    (file,) = write_tables({"records": table}, tmp_path / "out", "xlsx")
    head, *lines = sheet(file)
    assert [text for _, text in head] == ["said", "number", "list"]
    assert [line[0] for line in lines] == [("s", text) for text in said]
    assert {line[1] for line in lines} == {("n", "0.25")}
    assert {line[2] for line in lines} == {("s", '["=1"]')}


def test_a_workbook_leaves_null_and_nan_empty(tmp_path: Path) -> None:
    table = pl.DataFrame({"x": [None, float("nan"), 1.0], "said": ["a", None, ""]})
    (file,) = write_tables({"t": table}, tmp_path / "out", "xlsx")
    assert [line[0][1] for line in sheet(file)[1:]] == ["", "", "1"]


def test_tables_too_large_for_a_sheet_are_refused_and_never_truncated(tmp_path: Path) -> None:
    for table, said in (
        (pl.DataFrame({"reply": ["x" * 40_000]}), "column reply has a text of 40,000 characters"),
        (pl.DataFrame({"n": pl.arange(0, 1_048_576, eager=True)}), "1,048,576 rows"),
    ):
        with pytest.raises(InputError, match=rf"option to: xlsx: {said}.* use --to csv or parquet"):
            write_tables({"t": table}, tmp_path / "out", "xlsx")
        assert list(tmp_path.iterdir()) == []


def test_error_without_the_workbook_library_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtra, match=r"pip install 'overton\[spreadsheets\]'"):
        write_tables({"t": NUMBERS}, tmp_path / "out", "xlsx")
    assert list(tmp_path.iterdir()) == []
