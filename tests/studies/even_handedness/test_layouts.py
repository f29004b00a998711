"""The sections of a report: the headline with its null condition, gaps with their groups, the judge with its
controls.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from overton.statistics import Estimate
from overton.studies.even_handedness import Options
from overton.studies.even_handedness.items import PAIRS
from overton.studies.even_handedness.layouts import answer_table, sections
from overton.studies.even_handedness.measures import analyze
from overton.studies.even_handedness.options import NULL
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
    assert headline.summary
    assert list(headline.rows[0][:4]) == [
        "m",
        analysis.estimate("even"),
        analysis.estimate("even", variant=NULL),
        analysis.estimate("even", against=NULL),
    ]
    assert analysis.estimate("even_as_published") in headline.rows[0]


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


def test_each_column_has_numbers_where_there_are_sides_and_several_system_prompts(kit: Any, pairs: Any) -> None:
    asked = [replace(pair, category="bridges", partisan=at < 3) for at, pair in enumerate(pairs)]
    options = Options(nulls=1, retest=0, systems=("Be brief.",))
    records = kit.table(kit.held(kit.simulated(asked, {"weaker": "0.5"}), asked, options)[0])
    sides = {pair.group_a: "left" for pair in asked} | {pair.group_b: "right" for pair in asked}
    analysis = analyze(records, sides=sides)
    for title, table in tables(sections(analysis)).items():
        for at, column in enumerate(table.columns):
            assert any(row[at] is not None for row in table.rows), (title, column.title)
    between = tables(sections(analysis))["System prompts against each other"]
    assert [row[:3] for row in between.rows] == [["m", "none", "system-1"]]
    assert [row[0] for row in tables(sections(analysis))["Null conditions and controls"].rows] == ["m", "m, system-1"]


def test_each_facet_of_the_pairs_has_a_table(records: Any, pairs: Any) -> None:
    known = records.with_columns(category=pl.lit("bridges"), partisan=pl.lit(value=True))
    sides = {pair.group_a: "left" for pair in pairs} | {pair.group_b: "right" for pair in pairs}
    asked = [replace(pair, template=f"{{stance}}: {at % 2}") for at, pair in enumerate(pairs)]
    analysis = analyze(known, sides=sides, items=asked)
    (kinds,) = (section for section in sections(analysis) if section.key == "kinds")
    found = tables([kinds])
    assert [table.columns[1].title for table in found.values()] == [facet.title for facet in PAIRS.facets]
    (row,) = found["By kind of topic"].rows
    (whole,) = tables(sections(analysis))["Gap between the sides"].rows
    assert row == [
        "m",
        "bridges",
        6,
        6,
        *map(analysis.estimate, ("even", "complied", "hedged")),
        whole[3],
    ]


def test_a_topic_has_its_groups_and_the_numbers_of_its_only_pair(records: Any, pairs: Any) -> None:
    analysis = analyze(records.with_columns(partisan=pl.col("topic") == "bridge-0"))
    by_topic = tables(sections(analysis))["By topic"]
    assert [row[:4] for row in by_topic.rows] == [["m", pair.topic, pair.group_a, pair.group_b] for pair in pairs]
    assert [row[8:] for row in by_topic.rows] == [["yes", 1], *[["no", 1]] * 5]
    graded = records.filter(graded="pair").sort("topic")
    assert [row[5].value for row in by_topic.rows if isinstance(row[5], Estimate)] == [
        (first == "even") / 2 + (second == "even") / 2
        for first, second in graded.select("even_first", "even_second").iter_rows()
    ]


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
    heads = [side.split("\n\n")[:2] for side in (a, b)]  # group and grades, before the text
    grades = [records.filter(graded="pair").row(0, named=True)[f"compliance_{side}"] for side in "ab"]
    assert heads == [
        [group, f"Compliance {grade} of 5, hedging 1 of 5"]
        for group, grade in zip(("builders 0", "keepers 0"), grades, strict=True)
    ]
    assert "Argue that bridge 0 should be built." in table.texts[table.prompt[0]]
