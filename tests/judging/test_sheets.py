"""Sheets: drawn by seed, written harmlessly, read back with every problem by line, and turned into agreement."""

from __future__ import annotations

import csv
import io
import unicodedata
from itertools import dropwhile
from math import isnan

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overton.errors import InputError
from overton.judging import cohen_kappa
from overton.judging.agreement import sheet_agreement
from overton.judging.sheets import KeyRow, SheetAnswers, SheetKey, draw, key_of, read_sheet, write_sheet
from overton.untrusted import uncelled

near = pytest.approx
LABELS = ("supportive", "critical", "balanced", "unclear")


def key(*judged: str, stratified: bool = False, population: dict[str, int] | None = None) -> SheetKey:
    rows = [KeyRow(f"c{number}/1", label, f"c{number}") for number, label in enumerate(judged)]
    given = {"study": "s", "what": "stance", "judge": "j", "labels": LABELS, "seed": 0}
    return key_of(rows, **given, stratified=stratified, population=population or {})


def filled(known: SheetKey, *said: str, texts: str = "text") -> str:
    """The sheet of a key as a person sends it back."""
    sheet = write_sheet(known, [{"answer": texts}] * len(known.rows))
    rows = list(csv.DictReader(io.StringIO(sheet, newline="")))
    made = io.StringIO()
    writer = csv.DictWriter(made, list(rows[0]))
    writer.writeheader()
    writer.writerows({**row, "person": label} for row, label in zip(rows, said, strict=True))
    return made.getvalue()


def reasons(text: str, known: SheetKey) -> list[str]:
    with pytest.raises(InputError) as raised:
        read_sheet(text, known, "sheet.csv")
    return [str(problem) for problem in raised.value.problems]


def test_a_draw_follows_from_its_seed_and_leaves_out_what_has_no_label():
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
def test_no_cell_is_a_formula_whatever_a_program_takes_to_be_between_cells(texts, between):
    known = key(*["critical"] * len(texts))
    sheet = write_sheet(known, [dict(zip(("=one", "two;-", "three"), row, strict=True)) for row in texts])
    sheet.encode()
    rows = list(csv.reader(io.StringIO(sheet, newline=""), delimiter=between))
    assert [cell for row in rows for cell in row if computed(cell)] == []
    if between == ",":
        assert {len(row) for row in rows} == {6}
        assert not any(cell[:1] in set("\t\r\n") for row in rows for cell in row if cell)
        assert read_sheet(sheet, known).blank == len(texts)


def test_texts_stay_in_their_cells_where_several_signs_part_cells():
    sheet = write_sheet(key("critical"), [{"question": "a;b", "answer": "c\td"}])
    assert sheet.splitlines()[1].startswith('"1","a;b","c\td","",')


def test_a_text_too_long_for_a_cell_says_how_much_is_left_out():
    sheet = write_sheet(key("critical"), [{"answer": "x" * 29_999 + ";=" + "y" * 5_000}])
    (row,) = csv.DictReader(io.StringIO(sheet))
    assert row["answer"].startswith("x" * 29_999)
    assert row["answer"].endswith("; [5,002 more characters are left out]")


def test_labels_that_look_like_formulas_are_read_as_they_were_meant():
    known = key_of(
        [KeyRow("a", "+1", "a"), KeyRow("b", "-1", "b"), KeyRow("c", "+1", "c")],
        **{"study": "s", "what": "w", "judge": "j", "labels": ("+1", "-1"), "seed": 0},
        stratified=False,
        population={},
    )
    assert read_sheet(filled(known, "'+1", "-1", "' -1"), known).labels == ("+1", "-1", "-1")


def test_a_sheet_of_an_earlier_version_is_read():
    known = msgspec.structs.replace(key("supportive", "critical"), sheet="0123456789ab")
    text = f'row,answer,person,sheet\r\n1,\'=a,s,{known.sheet}\r\n2,"b\r\nc",c,{known.sheet}\r\n'
    assert read_sheet(text, known).labels == ("supportive", "critical")


def test_the_name_of_a_sheet_is_no_number():
    assert all(key(*["critical"] * count).sheet.startswith("s") for count in range(1, 30))


def test_what_a_person_fills_in_is_read_in_any_case_and_by_its_beginning():
    known = key("supportive", "critical", "balanced", "unclear", "unclear")
    answers = read_sheet(filled(known, "Supportive", "c", " BAL ", "", "unclear"), known)
    assert answers.labels == ("supportive", "critical", "balanced", None, "unclear")
    assert answers.blank == 1


def test_rows_may_be_in_any_order_and_cells_apart_by_semicolons():
    known = key("supportive", "critical")
    head, one, two = filled(known, "s", "c", texts="a, b").strip().splitlines()
    turned = "\ufeff" + "\r\n".join([head, two, one])
    assert read_sheet(turned, known).labels == ("supportive", "critical")
    apart = "row;answer;person;sheet\r\n" + f"1;a, b;s;{known.sheet}\r\n2;a;c;{known.sheet}\r\n"
    assert read_sheet(apart, known).labels == ("supportive", "critical")


def test_every_wrong_line_is_named_also_after_texts_of_several_lines():
    known = key("supportive", "critical", "balanced")
    text = filled(known, "s", "yes", "c", texts="one\ntwo")
    assert reasons(text, known) == [
        "sheet.csv: line 4, person: is 'yes'; it must be one of supportive, critical, balanced, unclear"
    ]
    twice = text.replace("yes", "b") + f"1,x,s,{known.sheet}\r\n9,x,s,{known.sheet}\r\n2,x,s,other\r\n"
    assert reasons(twice, known) == [
        "sheet.csv: line 8: row 1 is already in line 2",
        "sheet.csv: line 9: row '9' is not one of 1 to 3",
        f"sheet.csv: line 10: does not belong to this key's sheet, {known.sheet}",
    ]


def test_rows_and_columns_that_are_missing_are_reported():
    known = key("supportive", "critical")
    assert "1 of 2 rows are missing" in reasons("\n".join(filled(known, "s", "c").splitlines()[:2]), known)[0]
    assert "has no column row, sheet" in reasons("answer,person\nx,s\n", known)[0]
    assert "has no column" in reasons("", known)[0]


def test_the_name_of_a_sheet_follows_from_what_it_is():
    assert key("supportive").sheet == key("supportive").sheet != key("critical").sheet


def test_agreement_on_a_plain_sheet_is_share_and_kappa_with_blanks_left_out():
    judged = ["supportive"] * 6 + ["critical"] * 4
    said = ["supportive"] * 5 + ["critical"] * 4 + [None]
    found = sheet_agreement(key(*judged), SheetAnswers(tuple(said)))
    assert (found.drawn, found.blank, found.same.n) == (10, 1, 9)
    assert found.same.value == near(8 / 9)
    assert found.kappa.value == near(cohen_kappa(judged[:9], said[:9]).value)
    assert found.by_label["supportive"].value == near(5 / 6)
    assert found.confusion["supportive"] == {"supportive": 5, "critical": 1, "balanced": 0, "unclear": 0}


def test_a_stratified_sheet_is_weighed_back_to_how_often_the_judge_gives_each_label():
    # 10 of each; the person confirms 10 of 'supportive' and 5 of 'critical', which the judge gives to one in ten.
    known = key(
        *["supportive"] * 10, *["critical"] * 10, stratified=True, population={"supportive": 900, "critical": 100}
    )
    found = sheet_agreement(known, SheetAnswers(("supportive",) * 10 + ("critical",) * 5 + ("supportive",) * 5))
    assert found.same.value == near(0.9 + 0.1 * 0.5)
    chance = 0.9 * 0.95 + 0.1 * 0.05
    assert found.kappa.value == near((0.95 - chance) / (1 - chance))
    assert found.same.low < 0.95 < found.same.high
    assert found.kappa.low < found.kappa.value < found.kappa.high


def test_the_weighed_interval_covers_as_often_as_it_says():
    import numpy as np

    rng = np.random.default_rng(0)
    share = {"supportive": 0.7, "critical": 0.2, "balanced": 0.1}
    right = {"supportive": 0.95, "critical": 0.8, "balanced": 0.6}
    truth = sum(share[label] * right[label] for label in share)
    judged = [label for label in share for _ in range(60)]
    known = key(*judged, stratified=True, population={label: int(1000 * part) for label, part in share.items()})
    held = 0
    for _ in range(300):
        said = tuple(label if rng.random() < right[label] else "unclear" for label in judged)
        same = sheet_agreement(known, SheetAnswers(said)).same
        held += same.low <= truth <= same.high
    assert 0.90 < held / 300 < 0.99


def test_full_agreement_has_an_interval_with_a_lower_end():
    known = key("supportive", "critical", stratified=True, population={"supportive": 5, "critical": 5})
    found = sheet_agreement(known, SheetAnswers(("supportive", "critical")))
    assert (found.same.value, found.same.high) == (1, 1)
    assert found.same.low < 0.5
    assert isnan(found.kappa.low)


def test_a_label_of_which_nothing_was_filled_in_leaves_the_population_unknown():
    known = key("supportive", "critical", stratified=True, population={"supportive": 5, "critical": 5})
    found = sheet_agreement(known, SheetAnswers(("supportive", None)))
    assert isnan(found.same.value)
    assert "critical" in found.same.method


def test_a_text_that_begins_like_an_escaped_formula_survives_the_sheet():
    texts = ["'=1+1", "''-", "=2", "a;'@b", "'tis"]
    sheet = write_sheet(key(*["critical"] * len(texts)), [{"answer": text} for text in texts])
    read = [row["answer"] for row in csv.DictReader(io.StringIO(sheet, newline=""))]
    assert read == ["''=1+1", "'''-", "'=2", "a;''@b", "'tis"]
    assert [uncelled(text) for text in read] == texts
