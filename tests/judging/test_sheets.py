"""Sheets: drawn by seed, written harmlessly, and read back as labels, with every problem by line."""

from __future__ import annotations

import csv
import io
import unicodedata
from itertools import dropwhile

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.judging.label_tasks import LabelRequest, LabelTask, draw, task_of
from overton.judging.sheets import KeyRow, SheetKey, read_sheet, write_sheet
from overton.untrusted import uncelled

LABELS = ("supportive", "critical", "balanced", "unclear")


def key(*judged: str, labels: tuple[str, ...] = LABELS) -> LabelTask:
    """The task of a sheet, each row in a group of its own."""
    rows = tuple(LabelRequest(f"c{number}/1", label, f"c{number}", 0.5) for number, label in enumerate(judged))
    task = LabelTask(
        name="",
        study="s",
        what="stance",
        judge="j",
        question="?",
        labels=dict.fromkeys(labels, ""),
        seed=0,
        design="plain",
        population=dict.fromkeys(labels, 10),
        groups=10,
        rows=rows,
        people=(tuple(range(len(rows))),),
    )
    return task_of(task)


def read(text: str, known: LabelTask) -> dict[int, str]:
    return read_sheet(text, known.name, len(known.rows), list(known.labels), "sheet.csv")


def filled(known: LabelTask, *said: str, texts: str = "text") -> str:
    """The sheet of a task as a person sends it back."""
    sheet = write_sheet(known, [{"answer": texts}] * len(known.rows))
    rows = list(csv.DictReader(io.StringIO(sheet, newline="")))
    made = io.StringIO()
    writer = csv.DictWriter(made, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "person": label} for row, label in zip(rows, said, strict=True))
    return made.getvalue()


def reasons(text: str, known: LabelTask) -> list[str]:
    with pytest.raises(InputError) as raised:
        read(text, known)
    return [str(problem) for problem in raised.value.problems]


def test_draw_follows_from_its_seed_and_omits_unlabelled_rows():
    labels = ["supportive", None, "critical", None] * 50
    first = draw(labels, size=30, seed=1)
    assert first == draw(labels, size=30, seed=1) != draw(labels, size=30, seed=2)
    assert len(set(first)) == 30
    assert all(labels[place] for place in first)
    assert len(draw(labels, size=500)) == 100


def test_a_plain_draw_takes_labels_as_often_as_they_occur_and_a_stratified_one_all_alike():
    labels = ["supportive"] * 900 + ["critical"] * 90 + ["unclear"] * 10
    plain = [labels[place] for place in draw(labels, size=200, seed=3)]
    assert plain.count("supportive") > 150
    even = [labels[place] for place in draw(labels, size=200, seed=3, stratified=True)]
    assert (even.count("unclear"), even.count("critical"), even.count("supportive")) == (10, 90, 100)
    assert len(set(even[:50])) > 1  # not label by label


def test_nothing_to_draw_and_sizes_below_one_are_refused():
    for labels, size in (([None], 5), (["supportive"], 0)):
        with pytest.raises(InputError):
            draw(labels, size=size)


def test_the_judges_labels_are_not_on_the_sheet():
    known = key("supportive", "critical")
    assert not any(label in write_sheet(known, [{"answer": "x"}] * 2) for label in LABELS)


def test_texts_that_a_spreadsheet_would_take_for_a_formula_are_disarmed():
    (row,) = csv.DictReader(io.StringIO(write_sheet(key("critical"), [{"answer": '=HYPERLINK("http://x")'}])))
    assert row["answer"] == '\'=HYPERLINK("http://x")'


BEGINNINGS = "".join(
    ("=+-@", "\uff1d\uff0b\uff0d\uff20", ";,\t\n\r\"'", " \u00a0\u200b\ufeff\u3000\x00\x0b\x85\u2028", "a1")
)
TEXTS = st.text(st.sampled_from(BEGINNINGS)) | st.text(st.characters(codec=None))


def computed(cell: str) -> bool:
    """Whether a spreadsheet might take the cell for a formula."""
    unseen = {"Cc", "Cf", "Zs", "Zl", "Zp"}
    seen = "".join(dropwhile(lambda one: unicodedata.category(one) in unseen, cell))
    return seen[:1] in set("=+-@\uff1d\uff0b\uff0d\uff20")


@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4), st.sampled_from(",;\t"))
@example([(";=1", "a;", '"=1"'), ('";=1', "\t", "\n-")], ";")
@example([("a\r=1", 'b";"=1', "\u200b\t=1")], "\t")
def test_cells_are_never_formulas_with_any_separator(texts, between):
    known = key(*["critical"] * len(texts))
    sheet = write_sheet(known, [dict(zip(("=one", "two;-", "three"), row, strict=True)) for row in texts])
    sheet.encode()
    rows = list(csv.reader(io.StringIO(sheet, newline=""), delimiter=between))
    assert [cell for row in rows for cell in row if computed(cell)] == []
    if between == ",":
        assert {len(row) for row in rows} == {6}
        assert not any(cell[:1] in set("\t\r\n") for row in rows for cell in row if cell)
        assert read(sheet, known) == {}


def test_texts_stay_in_their_cells_where_several_signs_part_cells():
    sheet = write_sheet(key("critical"), [{"question": "a;b", "answer": "c\td"}])
    assert sheet.splitlines()[1].startswith('"1","a;b","c\td","",')


def test_a_text_too_long_for_a_cell_says_how_much_is_left_out():
    sheet = write_sheet(key("critical"), [{"answer": "x" * 29_999 + ";=" + "y" * 5_000}])
    (row,) = csv.DictReader(io.StringIO(sheet))
    assert row["answer"].startswith("x" * 29_999)
    assert row["answer"].endswith("; [5,002 more characters are left out]")


def test_labels_that_look_like_formulas_are_read_as_they_were_meant():
    known = key("+1", "-1", "+1", labels=("+1", "-1"))
    assert read(filled(known, "'+1", "-1", "' -1"), known) == {0: "+1", 1: "-1", 2: "-1"}


def test_a_sheet_of_an_earlier_version_is_read():
    known = msgspec.structs.replace(key("supportive", "critical"), name="0123456789ab")
    text = f'row,answer,person,sheet\r\n1,\'=a,s,{known.name}\r\n2,"b\r\nc",c,{known.name}\r\n'
    assert read(text, known) == {0: "supportive", 1: "critical"}


def test_name_of_a_sheet_never_looks_like_a_number():
    assert all(key(*["critical"] * count).name.startswith("t") for count in range(1, 30))


def test_labels_in_sheets_are_read_in_any_case_and_by_their_beginning():
    known = key("supportive", "critical", "balanced", "unclear", "unclear")
    said = read(filled(known, "Supportive", "c", " BAL ", "", "unclear"), known)
    assert said == {0: "supportive", 1: "critical", 2: "balanced", 4: "unclear"}


def test_rows_may_be_in_any_order_and_cells_apart_by_semicolons():
    known = key("supportive", "critical")
    head, one, two = filled(known, "s", "c", texts="a, b").strip().splitlines()
    turned = "\ufeff" + "\r\n".join([head, two, one])
    assert read(turned, known) == {0: "supportive", 1: "critical"}
    apart = "row;answer;person;sheet\r\n" + f"1;a, b;s;{known.name}\r\n2;a;c;{known.name}\r\n"
    assert read(apart, known) == {0: "supportive", 1: "critical"}


def test_every_wrong_line_is_named_also_after_texts_of_several_lines():
    known = key("supportive", "critical", "balanced")
    text = filled(known, "s", "yes", "c", texts="one\ntwo")
    assert reasons(text, known) == [
        "sheet.csv: line 4, person: is 'yes'; it must be one of supportive, critical, balanced, unclear"
    ]
    twice = text.replace("yes", "b") + f"1,x,s,{known.name}\r\n9,x,s,{known.name}\r\n2,x,s,other\r\n"
    assert reasons(twice, known) == [
        "sheet.csv: line 8: row 1 is already in line 2",
        "sheet.csv: line 9: row '9' is not one of 1 to 3",
        f"sheet.csv: line 10: does not belong to this key's sheet, {known.name}",
    ]


def test_rows_and_columns_that_are_missing_are_reported():
    known = key("supportive", "critical")
    assert "1 of 2 rows are missing" in reasons("\n".join(filled(known, "s", "c").splitlines()[:2]), known)[0]
    assert "has no column row, sheet" in reasons("answer,person\nx,s\n", known)[0]
    assert "has no column" in reasons("", known)[0]


def test_name_of_a_sheet_follows_from_its_content():
    assert key("supportive").name == key("supportive").name != key("critical").name


def old_key(*judged: str, stratified: bool = False, population: dict[str, int] | None = None) -> SheetKey:
    """A key as Overton 0.2.0 wrote it."""
    rows = tuple(KeyRow(f"c{number}/1", label, f"c{number // 2}") for number, label in enumerate(judged))
    counts = population or dict.fromkeys(LABELS, 20)
    return SheetKey("s1", "s", "stance", "j", LABELS, 0, stratified, counts, rows)


def test_the_key_of_an_earlier_version_is_a_task_of_one_page() -> None:
    task = old_key("supportive", "critical", "critical").task()
    assert [(row.id, row.judged, row.group, row.chance) for row in task.rows] == [
        ("c0/1", "supportive", "c0", 3 / 80),
        ("c1/1", "critical", "c0", 3 / 80),
        ("c2/1", "critical", "c1", 3 / 80),
    ]
    assert (task.design, task.people, list(task.labels), task.groups) == ("plain", ((0, 1, 2),), list(LABELS), 2)


def test_rows_of_a_stratified_key_of_an_earlier_version_were_drawn_label_by_label() -> None:
    drawn = old_key("supportive", "critical", "critical", stratified=True, population={"supportive": 4, "critical": 2})
    assert [row.chance for row in drawn.task().rows] == [1 / 4, 1, 1]


def test_a_key_of_an_earlier_version_is_known_by_its_name() -> None:
    """The name of this key was given by Overton 0.2.0."""
    rows = (KeyRow("c0/1", "supportive", "c0"), KeyRow("c1/1", "critical", "c1"))
    given = SheetKey("sb8e2ffdd29e9", "s", "stance", "j", LABELS, 0, False, {}, rows)
    assert not given.has_changed()
    assert msgspec.structs.replace(given, seed=1).has_changed()


def test_a_text_that_begins_like_an_escaped_formula_survives_the_sheet():
    texts = ["'=1+1", "''-", "=2", "a;'@b", "'tis"]
    sheet = write_sheet(key(*["critical"] * len(texts)), [{"answer": text} for text in texts])
    read = [row["answer"] for row in csv.DictReader(io.StringIO(sheet, newline=""))]
    assert read == ["''=1+1", "'''-", "'=2", "a;''@b", "'tis"]
    assert [uncelled(text) for text in read] == texts
