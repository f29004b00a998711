"""Items are read from rows of a table as from lines of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from overton.files.texts import ItemFile
from overton.studies import item_tables
from overton.studies.item_tables import ItemFiles
from overton.studies.options import NoOptions
from overton.studies.parsing import Notes, ParsedItems


class Riddle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    text: str
    answer: str
    by: str | None = None
    old: bool | None = None


def check(riddle: Riddle, notes: Notes) -> None:
    if riddle.text == riddle.answer:
        notes.error("answer", "is the text")
    if not riddle.text.endswith("?"):
        notes.warning("text", "is no question")


RIDDLES = ItemFiles(
    Riddle,
    "riddles",
    id_from="answer",
    check=check,
    renamed={"question": "text", "Question": "text", "author": "by"},
    content="text",
    content_of=lambda riddle: riddle.text.casefold(),
)


def read(folder: Path, *texts: str, suffix: str = ".csv", files: ItemFiles[Riddle] = RIDDLES) -> ParsedItems[Riddle]:
    paths = [folder / f"{name}{suffix}" for name in "abc"[: len(texts)]]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, "utf-8")
    return files.parse([ItemFile(path) for path in paths], NoOptions())


def said(folder: Path, *texts: str, suffix: str = ".csv") -> list[str]:
    return [str(finding).replace(f"{folder}/", "") for finding in read(folder, *texts, suffix=suffix).findings]


def test_rows_are_items_under_our_names_or_others_and_without_an_id_named_after_a_field(tmp_path: Path) -> None:
    rows = ["question,answer,author,old,more", "Who?, an egg! ,Ann,YES,x", "What?,an egg!,,0,", "Which?,?,,,"]
    parsed = read(tmp_path, "\n".join(rows))
    assert parsed.items == [
        Riddle("an-egg-001", "Who?", "an egg!", "Ann", old=True),
        Riddle("an-egg-002", "What?", "an egg!", None, old=False),
        Riddle("answer-001", "Which?", "?"),
    ]
    assert not parsed.findings


def test_an_id_of_a_row_is_kept_and_others_count_its_place(tmp_path: Path) -> None:
    parsed = read(tmp_path, "id,text,answer\nfirst,Who?,egg\n,What?,egg\n")
    assert [item.id for item in parsed.items] == ["first", "egg-002"]


def test_a_row_is_the_same_item_as_its_line(tmp_path: Path) -> None:
    (item,) = read(tmp_path, "id,text,answer,by,old\nx,Who?,egg,Ann,true\n").items
    line = msgspec.json.encode(item).decode()
    assert read(tmp_path, line, suffix=".jsonl").items == [item]


def test_everything_wrong_with_a_row_has_its_line_and_field(tmp_path: Path) -> None:
    rows = [
        "id,text,answer,by,old",
        ",,egg,,perhaps",
        'a b,Who?, ," ",',
        "x,Who?,Who?,,",
        "y,What?,\x07,,",
        "z,Why,egg,,",
        "z,How?,egg,,",
    ]
    assert said(tmp_path, "\n".join(rows)) == [
        "error: a.csv: line 2, text: is null, not a text",
        "error: a.csv: line 2, old: is 'perhaps', neither true nor false",
        "error: a.csv: line 3, answer: is empty",
        "error: a.csv: line 3, id: 'a b' may contain only the letters a to z, digits, '-', '_' and '.'",
        "error: a.csv: line 3, by: is empty",
        "error: a.csv: line 4, answer: is the text",
        "error: a.csv: line 5, answer: contains the control character U+0007 at position 0; remove it",
        "warning: a.csv: line 6, text: is no question",
        "error: a.csv: line 7, id: 'z' is already used in line 6",
    ]


def test_a_needed_text_that_is_blank_in_a_line_is_an_error(tmp_path: Path) -> None:
    assert said(tmp_path, '{"id": "x", "text": " ", "answer": ""}', suffix=".jsonl") == [
        "error: a.jsonl: line 1, text: is empty",
        "error: a.jsonl: line 1, answer: is empty",
    ]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("by\nAnn\n", "has no column text, answer; a table of riddles has text, answer"),
        ("text,answer\n", "has no riddles"),
        ("text,answer,question\nWho?,egg,Who?\n", "has the column text twice, also as question"),
        ("Question,answer,question\nWho?,egg,Who?\n", "has the column text twice, also as question"),
        ("text,answer\n" + "Who?,egg\n" * 3, "has more than 2 riddles"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, reason: str
) -> None:
    monkeypatch.setattr(item_tables, "_MAX_ROWS", 2)
    assert said(tmp_path, table) == [f"error: a.csv: {reason}"]


def test_lines_come_before_tables_and_an_id_is_in_one_file_only(tmp_path: Path) -> None:
    table, lines = tmp_path / "a.csv", tmp_path / "b.jsonl"
    table.write_text("id,text,answer\nx,Who?,egg\n")
    lines.write_text(msgspec.json.encode(Riddle("x", "What?", "hen")).decode())
    parsed = RIDDLES.parse([ItemFile(table), ItemFile(lines)], NoOptions())
    assert [item.answer for item in parsed.items] == ["hen", "egg"]
    assert [str(finding) for finding in parsed.findings] == ["error: x: id: is in two files"]


def test_the_same_content_in_two_items_is_a_warning(tmp_path: Path) -> None:
    rows = "id,text,answer\nx,Who?,egg\ny,WHO?,hen\n"
    assert said(tmp_path, rows) == ["warning: y: has the same text as x, so these count twice"]


def test_a_field_that_no_cell_can_be_is_refused_where_the_reader_is_declared() -> None:
    class Counted(msgspec.Struct):
        id: str
        text: str
        many: int

    with pytest.raises(TypeError, match="no column of a table has the type of many"):
        ItemFiles(Counted, "counts", id_from="text")


_CELLS = st.text(alphabet=st.sampled_from('a?,"\n\r ;\x00\x1b\u00e9'), max_size=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80)
@given(st.lists(st.lists(_CELLS, max_size=5), max_size=4))
def test_no_table_breaks_it(tmp_path: Path, rows: list[list[str]]) -> None:
    table = "\n".join(["id,text,answer,by,old", *(",".join(row) for row in rows)])
    parsed: Any = read(tmp_path, table)
    assert parsed.items or parsed.findings
