"""Collected values, explanations and sheets: how they are read, and what keeps a pipeline from starting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.deliberation.collection import STUDY
from overton.studies.deliberation.collection.items import TrialText
from overton.studies.deliberation.value_lists import Value


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.csv"
    path.write_text("value,definition\nCandour,Saying what one thinks.\nTact,Sparing others.\n")
    return path


def texts(path: Path, **columns: list[Any]) -> Path:
    pl.DataFrame(columns).write_parquet(path)
    return path


def test_a_table_of_values_is_one_collection(values: Path) -> None:
    (collection,) = read_items(STUDY, values)
    assert (collection.id, collection.texts, collection.people) == ("values", (), {})
    assert collection.values == (Value("Candour", "Saying what one thinks."), Value("Tact", "Sparing others."))


def test_a_folder_of_tables_is_collected_into_one_with_each_value_once(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "a.csv").write_text("value\nCandour\nTact\n")
    (folder / "b.jsonl").write_text('{"value": "candour"}\n{"value": "Zeal"}\n')
    (collection,) = read_items(STUDY, folder)
    assert [each.value for each in collection.values] == ["Candour", "Tact", "Zeal"]
    (found,) = check_items(STUDY, folder)
    assert (found.severity, found.key, found.reason) == (
        "warning",
        "candour",
        "is already among the values, and is left out",
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("value,definition\nCandour,x\nTact,\n", "'Tact' has no definition: define all values, or none"),
        ("name\nCandour\n", "has no column value"),
        ("value\n", "has no values"),
        ("value\nCandour: x\n", "must be 1 to 120 letters"),
    ],
)
def test_faulty_collections_are_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "values.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=reason):
        read_items(STUDY, path)


def test_explanations_of_drawn_dilemmas_are_read(values: Path, tmp_path: Path) -> None:
    given = texts(
        tmp_path / "records.parquet",
        deliberation=["d1/x", "d1/x", "null/alone/d2/x", "d2/x", "d3/x"],
        dilemma=["d1", "d1", "d2", "d2", "d3"],
        verdict=["NTA", None, "YTA", "YTA", "ESH"],
        explanation=["One.", " Two. ", "Never.", "", "Three."],
    )
    (collection,) = read_items(STUDY, values, texts=given)
    assert collection.texts == (
        TrialText("d1", "One.", "NTA"),
        TrialText("d1", "Two.", None),
        TrialText("d3", "Three.", "ESH"),
    )
    (fewer,) = read_items(STUDY, values, texts=given, on_trial=1)
    assert len({text.dilemma for text in fewer.texts}) == 1
    assert read_items(STUDY, values, texts=given, on_trial=1) == [fewer]


def test_a_text_without_a_dilemma_is_one_of_its_own(values: Path, tmp_path: Path) -> None:
    (collection,) = read_items(STUDY, values, texts=texts(tmp_path / "t.parquet", explanation=["One.", "Two."]))
    assert [text.dilemma for text in collection.texts] == ["1", "2"]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"text": ["x"]}, "has no column explanation"),
        ({"explanation": ["", None]}, "has no explanation"),
        ({"explanation": ["a\x07"]}, "row 1 contains the control character"),
        ({"explanation": ["x" * 20_001]}, "row 1 has more than 20,000 characters"),
    ],
)
def test_explanations_that_cannot_be_read_are_refused(
    values: Path, tmp_path: Path, columns: dict[str, list[Any]], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        read_items(STUDY, values, texts=texts(tmp_path / "t.parquet", **columns))
