"""Spreadsheets are read within limits on size, rows, columns and cells, or refused in one sentence."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError, MissingExtra, Unreadable
from overton.files import grids
from overton.files.grids import csv_grid, sheet_grid
from overton.files.tables import column_names, read_table
from overton.files.texts import ItemFile

openpyxl = pytest.importorskip("openpyxl")


def sheet(path: Path, *rows: list[Any]) -> Path:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(path)
    return path


def test_cells_are_the_texts_of_a_csv(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", ["a ", "b"], [], [1, 2.0, None], [2.5, True, date(2026, 1, 2)])
    grid = sheet_grid(path)
    assert grid.rows == [(1, ["a", "b"]), (3, ["1", "2"]), (4, ["2.5", "true", "2026-01-02"])]
    assert (grid.noun, grid.others) == ("row", ())


def test_frame_of_a_sheet_is_that_of_the_same_csv(tmp_path: Path) -> None:
    path = sheet(tmp_path / "a.xlsx", ["a", "b"], [1, None], ["x, y", "z"])
    (tmp_path / "a.csv").write_text('a,b\n1,\n"x, y",z\n')
    assert read_table(path).equals(read_table(tmp_path / "a.csv"))
    assert column_names(path) == ["a", "b"]
    with pytest.raises(InputError, match="column 'a' more than once"):
        read_table(sheet(tmp_path / "b.xlsx", ["a", "a"], [1, 2]))


def test_csv_is_separated_as_its_first_line_is() -> None:
    assert csv_grid("a;b\n1,5;x\n").rows == [(1, ["a", "b"]), (2, ["1,5", "x"])]
    assert csv_grid("a\tb\n1\t2\n").rows == csv_grid("a,b\n1,2\n").rows
    with pytest.raises(Unreadable, match="3 cells, but the first row 2"):
        csv_grid("a,b\n1,2,3\n")


def packed(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def with_sheet(path: Path, data: str, name: str = "xl/worksheets/sheet1.xml") -> Path:
    """A sound spreadsheet in which one part is replaced."""
    sheet(path, ["a"])
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    return packed(path, parts | {name: data.encode()})


SHEET = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{}</sheetData></worksheet>'
)


def test_bombs_are_refused_before_they_expand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = packed(tmp_path / "bomb.xlsx", {"xl/workbook.xml": b" " * (1 << 26)})
    with pytest.raises(Unreadable, match="when decompressed"):
        sheet_grid(bomb)
    monkeypatch.setattr(grids, "_MAX_INFLATED_BYTES", 1000)
    with pytest.raises(Unreadable, match="once decompressed"):
        sheet_grid(sheet(tmp_path / "a.xlsx", ["a"]))


@pytest.mark.parametrize("row", ["999999999", "1048577"])
def test_row_far_below_is_refused_without_counting_up_to_it(row: str, tmp_path: Path) -> None:
    data = SHEET.format(f'<row r="{row}"><c r="A{row}"><v>1</v></c></row>')
    with pytest.raises(Unreadable, match="1,048,576 rows"):
        sheet_grid(with_sheet(tmp_path / "a.xlsx", data))


def test_cells_are_limited_in_a_row_and_in_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = SHEET.format('<row r="1"><c r="XFD1"><v>1</v></c></row>')
    with pytest.raises(Unreadable, match="2,000 columns"):
        sheet_grid(with_sheet(tmp_path / "a.xlsx", data))
    monkeypatch.setattr(grids, "_MAX_CELLS", 3)
    with pytest.raises(Unreadable, match="3 cells"):
        sheet_grid(sheet(tmp_path / "b.xlsx", ["a", "b"], ["c", "d"]))


def test_entities_are_refused(tmp_path: Path) -> None:
    data = '<!DOCTYPE x [<!ENTITY a "aaaa">]>' + SHEET.format('<row r="1"><c r="A1" t="str"><v>&a;</v></c></row>')
    with pytest.raises(Unreadable, match="entities"):
        sheet_grid(with_sheet(tmp_path / "a.xlsx", data))


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "[Content_Types].xml", "xl/styles.xml"]
)
@pytest.mark.parametrize("data", ["", "<a>", "not XML", '<worksheet><sheetData><row r="x"/></sheetData></worksheet>'])
def test_damage_raises_nothing_but_our_own_error(part: str, data: str, tmp_path: Path) -> None:
    path = with_sheet(tmp_path / "a.xlsx", data, part)
    with suppress(InputError):
        ItemFile(path).grid()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"id,text\na,b\n"])
def test_workbook_that_is_not_a_zip_archive_is_one_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(data)
    with pytest.raises(InputError, match="zip archive"):
        ItemFile(path).grid()


def test_missing_package_is_named_with_its_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sheet(tmp_path / "a.xlsx", ["a"])
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"overton\[spreadsheets\]"):
        sheet_grid(path)
