"""Tables are opened without being trusted: their columns first, their rows when a study asks for them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from overton.errors import InputError
from overton.files.tables import open_table

TABLE = pl.DataFrame({"a": ["1", "2"], "b": ["x", None]})


def test_every_file_type_is_opened_with_its_columns_and_gives_its_rows(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "t.csv")
    TABLE.write_parquet(tmp_path / "t.parquet")
    TABLE.write_ndjson(tmp_path / "t.jsonl")
    for suffix in (".csv", ".parquet", ".jsonl"):
        raw = open_table(tmp_path / f"t{suffix}")
        assert (raw.name, raw.suffix, raw.columns) == (str(tmp_path / f"t{suffix}"), suffix, ("a", "b"))
        assert raw.frame().equals(TABLE)


def test_rows_of_a_csv_are_called_by_their_lines(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "t.csv")
    TABLE.write_parquet(tmp_path / "t.parquet")
    assert open_table(tmp_path / "t.csv").place(0) == "line 2"
    assert open_table(tmp_path / "t.parquet").place(0) == "row 1"


def test_of_a_run_folder_its_records_are_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"without records\.parquet"):
        open_table(tmp_path)
    TABLE.write_parquet(tmp_path / "records.parquet")
    assert open_table(tmp_path).name == str(tmp_path / "records.parquet")


def test_the_rows_are_not_read_before_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n{"a": \n')
    raw = open_table(path)
    with pytest.raises(InputError, match="line 2"):
        raw.frame()
