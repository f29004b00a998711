"""Every figure and table of the study, from measures of records with known properties."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import polars as pl
from tests.studies.exhibits import chart, exhibits, table, walk

from overton.reporting import Report, render
from overton.reporting.charts import draw_svg
from overton.studies.sections import Callout, Chart, Method, Table
from overton.studies.stance_stability.layouts import sections
from overton.studies.stance_stability.layouts.conversations import conversation_table
from overton.studies.stance_stability.measures import analyze


def test_few_faulty_answers_leave_the_score_and_stand_beside_it(talk: Any) -> None:
    turns = talk("sscs", cited=["a", "a", "b", "a"]).with_columns(faults=pl.Series([[], [], ["cut"], []]))
    shown = table(sections(analyze(turns, resamples=10)), "Without malformed answers")
    rates = [row[[column.title for column in shown.columns].index("Change rate")].value for row in shown.rows]
    assert rates == [0]
    assert not [
        one
        for one in exhibits(sections(analyze(turns.drop("faults"), resamples=10)), Table)
        if "malformed" in one.title
    ]


def test_every_figure_and_table_of_the_paper_is_there(analysis):
    made = sections(analysis)
    drawn_from = {one.source for one in exhibits(made, Chart)}
    assert {"figure 3", "figure 4", "figure 5", "table 1"} <= drawn_from
    assert {"table 1", "table 2", "section 4"} <= {one.source for one in exhibits(made, Table)}


def test_names_of_sections_and_charts_are_unique(analysis):
    made = sections(analysis)
    assert len({section.key for section in made}) == len(made)
    names = [one.name for one in exhibits(made, Chart)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() for name in names)


def test_rows_of_tables_are_as_wide_as_their_heads(analysis, least):
    for one in (analysis, least):
        for shown in exhibits(sections(one), Table):
            assert all(len(row) == len(shown.columns) for row in shown.rows), shown.title


def test_table_1_has_temperatures_then_models_and_all_together_with_deviations(analysis, hostile):
    shown = table(sections(analysis), "Chameleon score, source re-use")
    assert [row[:2] for row in shown.rows] == [
        [model, heat] for heat in ("0.0", "1.0", "all") for model in ("gemini", f"gpt {hostile}")
    ]
    place = {"model": "gemini", "facet": "temperature", "condition": "0.0"}
    mean, spread = (analysis.row("chameleon", variant=variant, **place) for variant in ("plain", "sd"))
    assert shown.rows[0][2:5] == [mean.n, mean.number, spread.estimate]


def test_missing_sections_are_replaced_by_the_reason(least):
    notes = " ".join(callout.text for callout in exhibits(sections(least), Callout))
    for reason in (
        "neither cited nor retrieved",
        "no turn has a confidence",
        "only one temperature",
        "no turn has a domain",
    ):
        assert reason in notes


def test_notes_stand_at_the_head(least):
    head = sections(least)[0]
    assert head.key == "warnings"
    assert any("There are 3 conversations" in callout.text for callout in exhibits([head], Callout))


def test_who_judged_and_how_well_stands_in_every_section(analysis):
    of_study = [one for one in sections(analysis, "Judge: x. 90% of 500.") if one.key not in {"warnings", "faults"}]
    assert len(of_study) == 10
    for section in of_study:
        assert any(isinstance(one, Method) and "90% of 500" in one.text for one in section.exhibits)


def test_the_reading_of_open_points_is_reported(records):
    said = [
        " ".join(one.text for one in exhibits(sections(analyze(records, resamples=10, **how)), Method))
        for how in ({}, {"no_change": "mean", "no_documents": "left out"})
    ]
    assert "has confidence 0 at changes" in said[0]
    assert "In a conversation without change, the confidence at changes is the mean over all its turns" in said[1]
    assert "left out of re-use" in said[1]


def test_both_counts_of_changes_stand_side_by_side(analysis):
    heads = [column.title for column in table(sections(analysis), "Changes by either label").columns]
    assert heads[1:3] == ["Stance changes", "Changes towards the premise"]


def test_orders_of_questions_are_compared_where_there_are_several(analysis, records):
    assert any(section.key == "orderings" for section in sections(analysis))
    one = analyze(records.filter(ordering="fixed"), resamples=10)
    assert not any(section.key == "orderings" for section in sections(one))


def test_figure_5_has_a_panel_for_each_temperature_and_one_for_all(analysis):
    values = chart(sections(analysis), "reuse-by-turn").spec["data"]["values"]
    assert {value["panel"] for value in values} == {"temperature 0.0", "temperature 1.0", "all temperatures"}
    assert {round(value["x"]) for value in values} == {2, 3, 4, 5}


def test_densities_are_densities(analysis):
    values = chart(sections(analysis), "confidence").spec["data"]["values"]
    for name in {value["series"] for value in values}:
        heights = [value["value"] for value in values if value["series"] == name]
        assert abs(sum(heights) / (len(heights) - 1) - 1) < 0.02


def test_a_model_whose_confidence_does_not_vary_is_named_instead_of_drawn(records):
    flat = records.with_columns(confidence=pl.when(model="gemini").then(1.0).otherwise("confidence"))
    assert "gemini" in chart(sections(analyze(flat, resamples=10)), "confidence").description
    none = sections(analyze(records.with_columns(confidence=pl.lit(1.0)), resamples=10))
    assert not any(one.name == "confidence" for one in exhibits(none, Chart))


def test_traces_show_every_turn_of_those_that_change_most(analysis):
    values = chart(sections(analysis), "traces").spec["data"]["values"]
    first = [value for value in values if value["row"] == values[0]["row"]]
    most = analysis.listed["conversations"].sort("stance_changes", descending=True)
    assert len(first) == 5
    changes = sum(a["letter"] != b["letter"] for a, b in pairwise(first))
    assert changes >= most["stance_changes"][0]  # unclear turns are letters, and no stances
    assert len({value["row"] for value in values}) == 30


def test_text_of_models_is_data_in_charts_and_never_a_name_or_an_expression(analysis, hostile):
    for one in exhibits(sections(analysis), Chart):
        spec = {key: value for key, value in one.spec.items() if key != "data"}
        assert hostile not in json.dumps([value for key, value in walk(spec) if key in ("field", "expr", "labelExpr")])


def test_every_chart_can_be_drawn(analysis, least):
    for one in (analysis, least):
        for shown in exhibits(sections(one), Chart):
            assert "<svg" in draw_svg(shown)


def test_the_whole_report_renders_and_hostile_text_stays_text(analysis, records):
    trials = conversation_table(records, analysis)
    page = render(Report("Stance stability", "", [("Models", "2")], sections(analysis)[:2], trials=trials, data={}))
    assert "<img src=x" not in page
