"""What a report shows: the headline beside its null, gaps with their groups, the judge with its controls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from overton.errors import InputError
from overton.files.tables import open_table
from overton.studies.even_handedness import Options
from overton.studies.even_handedness.figures import answer_table, sections
from overton.studies.even_handedness.measures import analyze, sides_in
from overton.studies.even_handedness.settings import settings_of
from overton.studies.frame import Analysis
from overton.studies.sections import ROUND_BREAK, Callout, Chart, Section, Table


@pytest.fixture
def pairs(kit: Any) -> Any:
    return [kit.pair(number) for number in range(6)]


@pytest.fixture
def records(kit: Any, pairs: Any) -> Any:
    found, _ = kit.held(kit.simulated(pairs, {"weaker": "0.5"}), pairs, Options(nulls=1, retest=0))
    return kit.table(found)


def tables(shown: list[Section]) -> dict[str, Table]:
    return {one.title: one for section in shown for one in section.exhibits if isinstance(one, Table)}


def test_the_headline_stands_beside_its_null_and_the_published_share(records: Any) -> None:
    analysis = analyze(records)
    headline = tables(sections(analysis))["Even-handedness by model"]
    (found,) = settings_of(analysis)
    assert headline.summary
    assert list(headline.rows[0][:4]) == ["m", found.estimate("even"), found.under_null, found.against_null]
    assert found.estimate("even_as_published") in headline.rows[0]


def test_every_row_has_a_cell_for_each_column(records: Any, pairs: Any) -> None:
    sides = {pair.group_a: "left" for pair in pairs} | {pair.group_b: "right" for pair in pairs}
    for analysis in (analyze(records), analyze(records, sides=sides)):
        for table in tables(sections(analysis)).values():
            assert all(len(row) == len(table.columns) for row in table.rows), table.title


def test_without_sides_a_note_says_how_to_give_them_and_with_them_there_is_their_gap(records: Any, pairs: Any) -> None:
    def shown(analysis: Analysis) -> Section:
        return next(one for one in sections(analysis) if one.key == "sides")

    notes = [one.text for one in shown(analyze(records)).exhibits if isinstance(one, Callout)]
    assert "--with sides=FILE" in notes[0]
    sides = {pair.group_a: "left" for pair in pairs} | {pair.group_b: "right" for pair in pairs}
    gap = tables([shown(analyze(records, sides=sides))])["Gap between the sides"]
    assert gap.rows[0][:3] == ["m", "left", "right"]


def test_compliance_by_side_is_shown_of_sides_that_the_user_gave(records: Any, pairs: Any) -> None:
    assert "Compliance and hedging by side" not in tables(sections(analyze(records)))
    sides = {pair.group_a: "left" for pair in pairs} | {pair.group_b: "right" for pair in pairs}
    by_side = tables(sections(analyze(records, sides=sides)))["Compliance and hedging by side"]
    assert [row[:3] for row in by_side.rows] == [["m", "left", "right"], ["m", "prompt a", "prompt b"]]


def test_charts_can_be_drawn(records: Any) -> None:
    charts = [one for section in sections(analyze(records)) for one in section.exhibits if isinstance(one, Chart)]
    assert [one.name for one in charts] == ["gaps", "tasks"]
    assert all("$schema" in one.spec for one in charts)


def test_who_judged_stands_at_the_end_of_each_section(records: Any) -> None:
    last = [section.exhibits[-1] for section in sections(analyze(records), "Judge: J.")]
    assert {getattr(one, "text", "") for one in last} == {"Judge: J."}


def test_a_pair_to_browse_has_both_answers_under_their_groups(records: Any, pairs: Any) -> None:
    table = answer_table(records, pairs)
    assert table.size == 6
    (answer,) = table.answers(0, 1)
    assert answer.index("builders 0\n") < answer.index("keepers 0\n")
    _, a, b = answer.split(ROUND_BREAK)
    heads = [side.split("\n\n")[:2] for side in (a, b)]  # whom it is for, and what was read of it, before its own text
    grades = [records.filter(graded="pair").row(0, named=True)[f"compliance_{side}"] for side in "ab"]
    assert heads == [
        [group, f"Compliance {grade} of 5, hedging 1 of 5"]
        for group, grade in zip(("builders 0", "keepers 0"), grades, strict=True)
    ]
    assert "Argue that bridge 0 should be built." in table.texts[table.prompt[0]]


def sides_of(tmp_path: Path, text: str) -> dict[str, str]:
    path = tmp_path / "sides.csv"
    path.write_text(text, "utf-8")
    return sides_in(open_table(path))


def test_sides_are_read_from_a_table(tmp_path: Path) -> None:
    found = sides_of(tmp_path, "group,side\nreds,left\nblues,right\n")
    assert found == {"reds": "left", "blues": "right"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("group\nreds\n", "has no column side"),
        ("group,side\nreds,left\n", "there are 1 sides; two are needed"),
        ("group,side\nreds,left\nreds,right\n", "line 3: reds already has the side left"),
        ("group,side\nreds,left\nblues,right\nreds,left\n", "line 4: reds already has the side left"),
        ("group,side\nreds,\nblues,right\n", "line 2: has an empty cell"),
    ],
)
def test_what_is_wrong_with_sides_is_named(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sides_of(tmp_path, text)
