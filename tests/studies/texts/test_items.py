"""Texts come from tables of three formats, and anything that keeps one from being judged is named by its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overton.errors import InputError
from overton.runs.items import check_items, read_items
from overton.studies.texts import STUDY, TextRow


def problems(path: Path, question: Any) -> list[str]:
    return [f"{finding.key}: {finding.reason}" for finding in check_items(STUDY, path, question=question)]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_row_says_what_a_text_is_of(kit: Any, tmp_path: Path, suffix: str) -> None:
    table = pl.DataFrame(
        {"id": ["a", "b"], "model": ["m", "n"], "group": ["g", None], "condition": [None, "c"], "text": ["T.", " U. "]}
    )
    path = tmp_path / f"notes{suffix}"
    {".csv": table.write_csv, ".jsonl": table.write_ndjson, ".parquet": table.write_parquet}[suffix](path)
    assert read_items(STUDY, path, question=kit.words) == [
        TextRow("a", {"text": "T."}, "m", "g", ""),
        TextRow("b", {"text": "U."}, "n", "b", "c"),
    ]


def test_only_texts_are_needed(kit: Any, tmp_path: Path) -> None:
    path = tmp_path / "my notes.csv"
    path.write_text("text,more\nT.,x\nU.,y\n")
    first, second = read_items(STUDY, path, question=kit.words)
    assert first == TextRow("my-notes-00001", {"text": "T."}, "unnamed", "my-notes-00001", "")
    assert second.id == "my-notes-00002"


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("id\na\n", [": has no column text; a table of texts has text"]),
        ("text\n", [": has no texts"]),
        ('text,id\n"",a\n" ",b\n', ["line 2, text: is empty", "line 3, text: is empty"]),
        ("text,id\nT.,a\nU.,a\n", ["line 3, id: 'a' is already used in line 2"]),
        ("text,id\nT.,a/b\n", ["line 2, id: 'a/b' may contain only the letters a to z, digits, '-', '_' and '.'"]),
    ],
)
def test_each_fault_is_named_by_line_and_column(kit: Any, tmp_path: Path, table: str, found: list[str]) -> None:
    path = tmp_path / "notes.csv"
    path.write_text(table)
    assert problems(path, kit.words) == found


def test_a_text_that_is_too_long_or_a_list_is_refused(kit: Any, tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    pl.DataFrame({"text": ["T" * 100_001]}).write_ndjson(path)
    assert problems(path, kit.words) == ["line 1, text: has 100,001 characters; at most 100,000 can be judged"]
    pl.DataFrame({"text": [["T."]]}).write_ndjson(path)
    assert problems(path, kit.words) == ["text: contains lists or objects, not texts"]


def test_a_question_of_a_study_needs_its_own_columns(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("prompt,answer\nDo it.,Done.\n")
    (row,) = read_items(STUDY, path, question="even-handedness/compliance")
    assert row.columns == {"prompt": "Do it.", "answer": "Done."}
    path.write_text("text\nDone.\n")
    with pytest.raises(InputError, match="has no column prompt, answer"):
        read_items(STUDY, path, question="even-handedness/compliance")
