"""Layouts of tables and charts, and what they make of an analysis written by hand: rows, titles, kinds and cells."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from overton.statistics import Estimate
from overton.studies.frame import Analysis, DeclaredMeasure, EstimateRow
from overton.studies.items import Facet
from overton.studies.layouts import (
    CONDITION,
    ITEM,
    CountColumn,
    DotsOf,
    MeasureColumn,
    RowsOf,
    SectionOf,
    TableOf,
    make_exhibits,
    make_sections,
)
from overton.studies.measures import Measure
from overton.studies.sections import Callout, Chart, Column, Prose, Table
from overton.studies.standard_parts import tables_by_facet

MEASURES = (
    Measure("kept", "Promises kept"),
    Measure("days", "Days taken", (1.0, 9.0), kind="value"),
    Measure("lead", "Lead", (-1.0, 1.0), kind="points", signed=True),
)
SETTINGS = (("m", "plain"), ("m", "warm"), ("n", "plain"))


def number(value: float) -> Estimate:
    return Estimate(value, value - 0.1, value + 0.1, 12, "by hand")


def row(measure: str, value: float, model: str = "m", condition: str = "plain", **where: Any) -> EstimateRow:
    return EstimateRow(measure=measure, model=model, condition=condition, number=number(value), **where)


def rows() -> Iterator[EstimateRow]:
    for at, (model, condition) in enumerate(SETTINGS):
        yield row("kept", 0.5 + at / 100, model, condition)
        yield row("kept", 0.6 + at / 100, model, condition, variant="null/noise")
        yield row("kept", -0.1, model, condition, against="null/noise")
        yield row("days", 3 + at, model, condition)
        for town in ("Elm", "Oak"):
            yield row("kept", 0.3 + at / 100, model, f"{condition} / {town}", facet="town")
        for item in ("p1", "p2"):
            yield row("kept", 0.2 + at / 100, model, condition, item=item)
            yield row("lead", 0.1 + at / 100, model, f"{condition} / red", item=item, facet="own", against="blue")
        for side, value in (("east", 0.9), ("west", 0.4)):
            yield row("kept", value, model, f"{condition} / {side}", facet="letter")
    yield row("kept", 0.05, "m", "plain", against="warm")
    for measure, value in (("kept", 0.25), ("days", 2.0), ("lead", 0.15)):
        yield row(measure, value, "m", "warm / old", facet="age", against="young")
    yield row("kept", 0.75, "m", "warm / old", facet="age")
    yield row("kept", 0.5, "m", "warm / young", facet="age")
    yield row("lead", 0.35, "m", "warm / Oak / old", facet="town / age", against="young")
    for model, condition in SETTINGS:
        yield row("kept", 0.5, model, f"{condition} / east", facet="letter", against="west")


@pytest.fixture
def analysis() -> Analysis:
    counts: list[dict[str, Any]] = [
        {"model": model, "facet": None, "condition": condition, "promises": 10 + at, "late": at}
        for at, (model, condition) in enumerate(SETTINGS)
    ]
    counts += [
        {"model": "m", "facet": "town", "condition": "plain / Elm", "promises": 4},
        {"model": "m", "facet": "age", "condition": "warm / old", "promises": 7},
    ]
    parties = [{"model": "m", "condition": "plain", "party": "p2", "promises": 3, "new": "yes it is"}]
    return Analysis(
        study="hand-made",
        level=0.95,
        models=("m", "n"),
        warnings=(),
        measures={measure.name: DeclaredMeasure.of(measure) for measure in MEASURES},
        rows=tuple(rows()),
        counts={"counts": tuple(counts), "parties": tuple(parties)},
    )


def table(analysis: Analysis, *columns: MeasureColumn | CountColumn, rows: RowsOf = RowsOf()) -> Table:  # noqa: B008
    (made,) = make_exhibits([TableOf("Title", columns, rows)], analysis, "plain")
    assert isinstance(made, Table)
    return made


def heads(made: Table) -> list[str]:
    return [column.title for column in made.columns]


def names(made: Table, many: int) -> list[Sequence[Any]]:
    return [cells[:many] for cells in made.rows]


def values(made: Table, at: int = -1) -> list[float | None]:
    return [cell.value if isinstance(cell, Estimate) else None for cell in (cells[at] for cells in made.rows)]


def test_a_table_has_a_row_for_each_model_and_condition_with_its_numbers_as_they_are(analysis: Analysis) -> None:
    made = table(analysis, MeasureColumn("kept"), MeasureColumn("days", detail=True))
    assert made.rows == [
        ["m", number(0.5), number(3)],
        ["m, warm", number(0.51), number(4)],
        ["n", number(0.52), number(5)],
    ]
    assert list(made.columns) == [
        Column("Model"),
        Column("Promises kept", "share"),
        Column("Days taken", "value", detail=True),
    ]


def test_a_layout_may_shorten_the_title_of_a_measure_and_names_the_models(analysis: Analysis) -> None:
    layout = TableOf("Kept", [MeasureColumn("kept", "Kept")], head="Party", note="N.", source="table 1", summary=True)
    (made,) = make_exhibits([layout], analysis, "plain")
    assert isinstance(made, Table)
    assert heads(made) == ["Party", "Kept"]
    assert (made.title, made.note, made.source, made.summary) == ("Kept", "N.", "table 1", True)


def test_variants_and_differences_from_a_null_condition_are_columns(analysis: Analysis) -> None:
    made = table(
        analysis,
        MeasureColumn("kept"),
        MeasureColumn("kept", variant="null/noise"),
        MeasureColumn("kept", against="null/noise"),
    )
    assert made.rows[1] == ["m, warm", number(0.51), number(0.61), number(-0.1)]
    assert [column.kind for column in made.columns] == ["text", "share", "share", "points"]


def test_a_table_by_a_facet_has_a_row_for_each_of_its_values(analysis: Analysis) -> None:
    made = table(analysis, CountColumn("promises", "Promises"), MeasureColumn("kept"), rows=RowsOf("town", "Town"))
    assert heads(made) == ["Model", "Town", "Promises", "Promises kept"]
    assert names(made, 3) == [
        ["m", "Elm", 4],
        ["m", "Oak", None],
        ["m, warm", "Elm", None],
        ["m, warm", "Oak", None],
        ["n", "Elm", None],
        ["n", "Oak", None],
    ]
    assert values(made) == pytest.approx([0.3, 0.3, 0.31, 0.31, 0.32, 0.32])


def test_a_table_by_item_has_the_items_and_cells_of_their_own_table(analysis: Analysis) -> None:
    made = table(
        analysis,
        MeasureColumn("kept"),
        CountColumn("promises", "Promises", "parties", "party"),
        CountColumn("new", "New", "parties", "party", {"yes it is": "yes"}),
        rows=RowsOf(ITEM, "Party"),
    )
    assert made.rows[:2] == [["m", "p1", number(0.2), None, None], ["m", "p2", number(0.2), 3, "yes"]]
    assert [column.kind for column in made.columns] == ["text", "text", "share", "count", "text"]


def test_two_sides_have_their_numbers_and_the_difference_of_the_first_from_the_second(analysis: Analysis) -> None:
    made = table(
        analysis,
        MeasureColumn("lead", of="difference"),
        MeasureColumn("kept", of="first"),
        MeasureColumn("kept", of="second"),
        MeasureColumn("kept", of="difference"),
        MeasureColumn("days", of="difference"),
        MeasureColumn("kept", "Of both"),
        CountColumn("promises", "Promises"),
        rows=RowsOf(sides=("age",)),
    )
    assert heads(made)[:3] == ["Model", "First", "Second"]
    found = (0.15, 0.75, 0.5, 0.25, 2.0, 0.51)
    assert made.rows == [["m, warm", "old", "young", *map(number, found), 7]]
    assert [column.kind for column in made.columns[3:]] == [
        *("points", "share", "share", "points", "value", "share", "count"),
    ]


def test_sides_of_items_are_named_after_the_item(analysis: Analysis) -> None:
    layout = RowsOf(ITEM, "Party", sides=("own",))
    made = table(analysis, MeasureColumn("lead", of="difference"), MeasureColumn("kept"), rows=layout)
    assert heads(made)[:4] == ["Model", "Party", "First", "Second"]
    assert made.rows[0] == ["m", "p1", "red", "blue", number(0.1), number(0.2)]
    assert len(made.rows) == 2 * len(SETTINGS)


def test_further_sides_follow_where_the_first_facet_has_some(analysis: Analysis) -> None:
    made = table(analysis, MeasureColumn("kept", of="difference"), rows=RowsOf(sides=("age", "letter")))
    assert names(made, 3) == [["m, warm", "old", "young"], ["m, warm", "east", "west"]]
    assert values(made) == [0.25, 0.5]
    made = table(analysis, MeasureColumn("kept", of="difference"), rows=RowsOf(sides=("letter", "age")))
    assert names(made, 2) == [["m", "east"], ["m, warm", "east"], ["m, warm", "old"], ["n", "east"]]


def test_conditions_of_a_model_are_sides_and_null_conditions_are_not(analysis: Analysis) -> None:
    made = table(analysis, MeasureColumn("kept", of="difference"), rows=RowsOf(sides=(CONDITION,)))
    assert made.rows == [["m", "plain", "warm", number(0.05)]]


def test_a_difference_of_sides_within_rows_is_left_out_if_no_row_has_one(analysis: Analysis) -> None:
    column = MeasureColumn("lead", sides="age")
    made = table(analysis, MeasureColumn("kept"), column, rows=RowsOf("town", "Town"))
    assert heads(made) == ["Model", "Town", "Promises kept", "Lead"]
    assert values(made) == [None, None, None, 0.35, None, None]
    assert values(table(analysis, MeasureColumn("kept"), column)) == [None, 0.15, None]
    without = table(analysis, MeasureColumn("kept"), column, rows=RowsOf("letter", "Letter"))
    assert heads(without) == ["Model", "Letter", "Promises kept"]
    assert {len(cells) for cells in without.rows} == {3}


def test_a_table_of_counts_has_a_row_for_each_model_and_condition(analysis: Analysis) -> None:
    made = table(analysis, CountColumn("promises", "Promises"), CountColumn("late", "Late"))
    assert made.rows == [["m", 10, 0], ["m, warm", 11, 1], ["n", 12, 2]]


def test_columns_of_another_table_are_left_out_if_empty(analysis: Analysis) -> None:
    steady = ({"model": "m", "condition": "plain", "rate": 0.25, "unknown": None},)
    rate, unknown = (CountColumn(name, name.capitalize(), "steady", kind="value") for name in ("rate", "unknown"))
    made = table(replace(analysis, counts={**analysis.counts, "steady": steady}), MeasureColumn("kept"), rate, unknown)
    assert heads(made) == ["Model", "Promises kept", "Rate"]
    assert made.columns[-1].kind == "value"
    assert [row[-1] for row in made.rows] == [0.25, None, None]


def test_a_table_without_numbers_is_left_out(analysis: Analysis) -> None:
    assert make_exhibits([TableOf("Title", [MeasureColumn("kept", variant="none")])], analysis, "plain") == []


def test_a_table_or_chart_without_rows_is_left_out_or_replaced(analysis: Analysis) -> None:
    empty = TableOf("Title", [MeasureColumn("days")], RowsOf("town", "Town"))
    instead = TableOf("Title", [MeasureColumn("days")], RowsOf("town", "Town"), otherwise=Callout("Nothing."))
    chart = DotsOf("dots", "Title", "Words.", MeasureColumn("days"), RowsOf("town"), "Days")
    assert make_exhibits([empty, chart], analysis, "plain") == []
    assert make_exhibits([instead], analysis, "plain") == [Callout("Nothing.")]


def test_a_measure_that_is_not_declared_is_an_error(analysis: Analysis) -> None:
    with pytest.raises(KeyError, match="kpet"):
        table(analysis, MeasureColumn("kept"), MeasureColumn("kpet"))


def drawn(analysis: Analysis, layout: DotsOf) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A chart's encoding of x in its first layer, and its values."""
    (made,) = make_exhibits([layout], analysis, "plain")
    assert isinstance(made, Chart)
    assert (made.name, made.title, made.description) == ("dots", "Title", "Words.")
    view = made.spec.get("spec", made.spec)
    return view["layer"][0]["encoding"]["x"], made.spec["data"]["values"]


def test_a_chart_has_a_panel_for_each_model_and_condition_and_the_measure_s_range(analysis: Analysis) -> None:
    layout = DotsOf("dots", "Title", "Words.", MeasureColumn("kept"), RowsOf("town"), "Kept (%)")
    x, points = drawn(analysis, layout)
    assert (x["title"], x["scale"]["domain"]) == ("Kept (%)", [0, 1])
    assert [(point["panel"], point["row"]) for point in points] == [
        (panel, town) for panel in ("m", "m, warm", "n") for town in ("Elm", "Oak")
    ]
    assert points[0]["value"] == pytest.approx(0.3)


def test_a_chart_of_differences_has_an_axis_around_zero_and_names_the_sides(analysis: Analysis) -> None:
    layout = RowsOf(ITEM, sides=("own",))
    x, points = drawn(analysis, DotsOf("dots", "Title", "Words.", MeasureColumn("lead", of="difference"), layout, "L"))
    assert x["scale"]["domain"] == [-25, 25]  # up to 0.22, in points
    assert [point["row"] for point in points] == ["p1", "p2"] * len(SETTINGS)
    assert "first: red; second: blue" in points[0]["tip"]


def test_a_section_has_exhibits_layouts_and_functions_in_their_order(analysis: Analysis) -> None:
    def own(given: Analysis) -> Iterator[Callout]:
        yield Callout(f"{len(given.models)} models")

    layout = SectionOf("kept", "Promises", [Prose("Read."), own, TableOf("Title", [MeasureColumn("kept")])])
    (made,) = make_sections([layout], analysis, "plain")
    assert (made.key, made.title) == ("kept", "Promises")
    assert [type(exhibit) for exhibit in made.exhibits] == [Prose, Callout, Table]
    assert made.exhibits[1] == Callout("2 models")


def test_every_facet_of_the_items_has_the_same_table(analysis: Analysis) -> None:
    facets = [Facet("town", "Kind of town"), Facet("age", "Age"), Facet("letter", "Letter")]
    chart = DotsOf("dots", "Title", "Words.", MeasureColumn("kept"), RowsOf("age"), "Kept (%)")
    parts = tables_by_facet(facets, [MeasureColumn("kept")], after={"age": chart})
    found = make_exhibits(parts, analysis, "plain")
    assert [exhibit.title for exhibit in found if isinstance(exhibit, Table | Chart)] == [
        *("By kind of town", "By age", "Title", "By letter"),
    ]
    tables = [exhibit for exhibit in found if isinstance(exhibit, Table)]
    assert [heads(made) for made in tables] == [["Model", facet.title, "Promises kept"] for facet in facets]
    assert names(tables[1], 2) == [["m, warm", "old"], ["m, warm", "young"]]


def test_the_layout_of_the_page_on_studies_of_one_s_own_makes_its_exhibits(analysis: Analysis) -> None:
    page = (Path(__file__).parents[2] / "docs" / "your-own-study.md").read_text("utf-8")
    (block,) = re.findall(r"^```py\n((?:(?!^```).)*^LAYOUT = .*?)^```", page, re.DOTALL | re.MULTILINE)
    named: dict[str, Any] = {"__name__": "of_the_page"}
    exec(compile(block, "docs/your-own-study.md", "exec"), named)
    measures = (
        Measure("acquiescence", "Acquiescence", (-1.0, 1.0), kind="points"),
        Measure("unclear", "Takes no side"),
    )
    declared = {measure.name: DeclaredMeasure.of(measure) for measure in measures}
    found = [
        row("acquiescence", 0.4, condition="none"),
        row("unclear", 0.6, condition="none"),
        row("acquiescence", 0.3, condition="none / north", facet="district"),
        row("acquiescence", 0.2, condition="none", item="library"),
    ]
    counts = {"counts": ({"model": "m", "facet": None, "condition": "none", "answers": 160},)}
    made = replace(analysis, measures=declared, rows=tuple(found), counts=counts)
    (section,) = make_sections([named["LAYOUT"]], made, plain="none")
    by_model, by_district, chart, _ = section.exhibits
    assert by_model.rows == [["m", number(0.4), number(0.6), 160]]
    assert by_district.rows == [["m", "north", number(0.3)]]
    assert [point["row"] for point in chart.spec["data"]["values"]] == ["library"]
