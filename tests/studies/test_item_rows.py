"""Tables with a column for each key, and lists of texts, give the items that JSON gives."""

from __future__ import annotations

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overton.errors import InputError
from overton.files.texts import ItemFile
from overton.runs.items import check_items, read_items
from overton.studies.items import Items
from overton.studies.options import NoOptions
from overton.studies.parsing import ParsedItems, add_member_ids, plain_field

ISSUE: dict[str, Any] = {
    "id": "night-buses",
    "question": "Should buses, by law, run all night?",
    "topic": "Transport",
    "pro": "Buses should run",
    "con": "Buses should not run",
    "pros": ["They are safe", "They help workers", "[1] They are quick"],
    "cons": ["They cost", "They are loud", "They are empty"],
}
KEYS = ["id", "question", "topic", "pro", "con", "pros", "pros", "pros", "cons", "cons", "cons"]
CELLS = [*(ISSUE[key] for key in KEYS[:5]), *ISSUE["pros"], *ISSUE["cons"]]


def as_csv(*rows: list[str], separator: str = ",") -> str:
    out = StringIO()
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue()


def as_sheet(path: Path, *rows: list[Any], others: tuple[str, ...] = ()) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in others:
        book.create_sheet(title)
    book.save(path)
    return path


def written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def found(study: str, path: Path) -> list[tuple[str, str]]:
    return [(one.severity, one.key) for one in check_items(study, path)]


def errors(study: str, path: Path) -> list[tuple[str, str]]:
    return [(one.key, one.reason) for one in check_items(study, path) if one.severity == "error"]


def test_csv_spreadsheet_and_json_of_an_issue_give_the_same_item(tmp_path: Path) -> None:
    full = ISSUE | {side: [{"id": f"{side[:3]}-{n}", "text": text} for n, text in enumerate(ISSUE[side], 1)]
                    for side in ("pros", "cons")}  # fmt: skip
    files = [
        written(tmp_path / "full.jsonl", json.dumps(full)),
        written(tmp_path / "texts.json", json.dumps([ISSUE])),
        written(tmp_path / "commas.csv", as_csv(KEYS, CELLS)),
        written(tmp_path / "semicolons.csv", "\ufeff" + as_csv(KEYS, CELLS, separator=";")),
        written(tmp_path / "cells.csv", as_csv([*KEYS[:5], "Pros", "Cons"],
                                               [*CELLS[:5], json.dumps(ISSUE["pros"]), json.dumps(ISSUE["cons"])])),
        written(tmp_path / "numbered.csv", as_csv(["cons_3", "Cons 1", "cons[2]", *KEYS[:8]],
                                                  [CELLS[10], CELLS[8], CELLS[9], *CELLS[:8]])),
        as_sheet(tmp_path / "sheet.xlsx", KEYS, CELLS),
    ]  # fmt: skip
    read = [read_items("rephrase", file) for file in files]
    assert all(items == read[0] for items in read)
    assert [argument.id for argument in read[0][0].cons] == ["con-1", "con-2", "con-3"]


def test_rows_without_id_are_numbered_and_empty_cells_of_lists_do_not_count(tmp_path: Path) -> None:
    rows = [
        ["question", "pros", "pros", "cons"],
        ["May I?", "", "Yes", "No"],
        ["", "", "", ""],
        ["Who?", "I", "", "You"],
    ]
    items = read_items("rephrase", written(tmp_path / "a.csv", as_csv(*rows)))
    assert [item.id for item in items] == ["issue-0001", "issue-0002"]
    assert [[argument.text for argument in item.pros] for item in items] == [["Yes"], ["I"]]


def test_problems_name_row_and_column_as_the_user_wrote_them(tmp_path: Path) -> None:
    rows = [
        ["id", "question", "pros", "pros", "cons"],
        ["a", "Two\nlines?", "Yes", "Yes", "No"],
        ["a b", "", "Y", "Z", ""],
    ]
    assert errors("rephrase", written(tmp_path / "a.csv", as_csv(*rows))) == [
        ("line 2, pros (column 4)", "is the same text as pros[0]"),
        ("line 4, question", "is empty"),
        ("line 4", "the id 'a b' may contain only the letters a to z, digits, '-', '_' and '.'"),
        ("line 4, cons", "has no arguments; every issue needs at least one on each side"),
    ]
    sheet = as_sheet(tmp_path / "a.xlsx", rows[0], [], rows[1], rows[2], others=("Notes",))
    assert [one for one in found("rephrase", sheet) if one[0] == "error"] == [
        ("error", "row 3, pros (column D)"),
        ("error", "row 4, question"),
        ("error", "row 4"),
        ("error", "row 4, cons"),
    ]
    assert found("rephrase", sheet)[0] == ("warning", "")  # the sheet that is not read


def test_nested_keys_are_columns_and_cells_get_the_type_of_their_key(tmp_path: Path) -> None:
    header = ["title", "text", "crowd.counts.YTA", "crowd.counts.NTA", "crowd.simulated"]
    rows = [header, ["AITA?", "I left.", "3", "40", "Yes"], ["AITA too?", "I came.", "", "", ""]]
    first, second = read_items("deliberation", written(tmp_path / "a.csv", as_csv(*rows)))
    assert (first.crowd.counts, first.crowd.simulated, second.crowd) == ({"YTA": 3, "NTA": 40}, True, None)
    wrong = as_sheet(tmp_path / "a.xlsx", header, ["AITA?", "I left.", 3, 4.5, True])
    assert [key for key, _ in errors("deliberation", wrong)] == ["row 2, crowd.counts.NTA"]


def test_objects_in_lists_are_columns_that_belong_together(tmp_path: Path) -> None:
    header = ["community", "title", "text", "comments.text", "comments.votes", "comments.text", "comments.votes"]
    rows = [header, ["AskX", "Why?", "", "So.", "12", "Or so.", "-3"], ["AskX", "Who?", "", "I.", "1", "", ""]]
    first, second = read_items("references", written(tmp_path / "a.csv", as_csv(*rows)))
    assert [(one.id, one.text, one.votes) for one in first.comments] == [
        ("comment-1", "So.", 12),
        ("comment-2", "Or so.", -3),
    ]
    assert len(second.comments) == 1
    rows[1][4], rows[2][6] = "many", "2"
    assert [key for key, _ in errors("references", written(tmp_path / "b.csv", as_csv(*rows)))] == [
        "line 2, comments.votes (column 5)",
        "line 3, comments.text (column 6)",
    ]


def test_columns_that_lack_repeat_or_are_unknown_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", as_csv(["titel", "text", "text"], ["a", "b", "c"]))
    assert found("deliberation", path) == [
        ("warning", "line 1, 'titel'"),
        ("error", "line 1, text (column 3)"),
        ("error", ""),
    ]
    problems = check_items("deliberation", path)
    assert "did you mean 'title'?" in problems[0].reason
    assert "docs/dilemmas.md" in problems[2].reason  # a mapping reads other columns


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", ""),
        ("title,text\n", ""),
        ('title,text\n"a,b\n', "line 2"),
        ("title,text\na,b,c\n", "line 2"),
    ],
)
def test_tables_that_cannot_be_read_are_one_error(text: str, key: str, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", text)
    assert [place for place, _ in errors("deliberation", path)][:1] == [key]
    with pytest.raises(InputError):
        read_items("deliberation", path)


class Claim(msgspec.Struct, frozen=True):
    id: str
    text: str
    by: str | None = None


class Pair(msgspec.Struct):
    id: str
    a: str
    b: str


class Holder(msgspec.Struct):
    claims: tuple[Claim, ...]
    pairs: tuple[Pair, ...]


CLAIMS = Items(Claim, "claim")


def parsed(path: Path) -> ParsedItems[Claim]:
    return CLAIMS.parsed([ItemFile(path)], NoOptions())


def test_list_of_texts_is_a_list_of_items_that_are_one_text(tmp_path: Path) -> None:
    assert parsed(written(tmp_path / "a.txt", "Trams are good.\n\n Cars are bad. \n")).items == [
        Claim("claim-0001", "Trams are good."),
        Claim("claim-0002", "Cars are bad."),
    ]
    assert "question, pros, cons" in errors("rephrase", written(tmp_path / "b.txt", "May I?\n"))[0][1]


def test_text_stands_for_an_object_that_needs_one_text_only() -> None:
    assert (plain_field(Claim), plain_field(Pair)) == ("text", "")
    given_ = {"claims": ["x", {"text": "y"}, {"id": "z", "text": "z"}, " "], "pairs": ["x", {"a": "1", "b": "2"}]}
    assert add_member_ids(given_, Holder) == {
        "claims": [{"id": "claim-1", "text": "x"}, {"id": "claim-2", "text": "y"}, {"id": "z", "text": "z"}, " "],
        "pairs": ["x", {"id": "pair-2", "a": "1", "b": "2"}],
    }


words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=20)
texts = words.map(str.strip).filter(lambda text: text and not text.startswith(("[", "{")))


@settings(max_examples=50, deadline=None)
@given(
    rows=st.lists(st.tuples(texts, texts, st.lists(texts, min_size=1, max_size=3, unique=True)), min_size=1, max_size=4)
)
def test_any_texts_are_read_from_a_csv_as_from_json(rows: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("rows")
    lines = [{"id": f"n-{n}", "question": q, "pros": pros, "cons": [con]} for n, (q, con, pros) in enumerate(rows)]
    table = [["id", "question", "cons", "pros", "pros", "pros"]]
    table += [[one["id"], one["question"], *one["cons"], *one["pros"]] for one in lines]
    first = written(folder / "a.jsonl", "\n".join(map(json.dumps, lines)))
    second = written(folder / "a.csv", as_csv(*table))
    kept = [[(one.key, one.reason) for one in check_items("rephrase", file) if one.severity == "error"] for file in
            (first, second)]  # fmt: skip
    assert len(kept[0]) == len(kept[1])
    if not kept[0]:
        assert read_items("rephrase", first) == read_items("rephrase", second)
