"""Every figure and table of the study, from records with known properties."""

from __future__ import annotations

import json

import polars as pl
from tests.studies.exhibits import chart, exhibits, table, walk

from overton.reporting import Report, render
from overton.reporting.charts import draw_svg
from overton.statistics import Estimate
from overton.studies.frame import Analysis, EstimateRow
from overton.studies.pluralism.layouts import sections
from overton.studies.pluralism.layouts.report_rows import ReportRows, condition_words
from overton.studies.pluralism.layouts.threads import thread_table
from overton.studies.pluralism.measures import STUDY_MEASURES
from overton.studies.sections import Callout, Chart, Method, Table, summary


def test_every_figure_and_table_of_the_paper_exists(analysis):
    sources = " ".join(
        one.source for one in [*exhibits(sections(analysis), Chart), *exhibits(sections(analysis), Table)]
    )
    for source in ("figure 3", "figure 4", "figure 5", "tables 4 to 6", "tables 3, 8 and 9", "table 12"):
        assert source in sources


def test_names_of_sections_and_charts_are_unique(analysis):
    made = sections(analysis)
    assert [section.key for section in made] == ["shifts", "voices", "leniency", "ranking", "pairs", "behind", "design"]
    names = [one.name for one in exhibits(made, Chart)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() for name in names)


def test_rows_of_tables_are_as_wide_as_their_heads(analysis, least):
    for one in (analysis, least):
        for shown in exhibits(sections(one), Table):
            assert all(len(row) == len(shown.columns) for row in shown.rows), shown.title


def test_figure_3_has_a_panel_for_each_community_and_both_parts_on_one_scale(analysis):
    made = sections(analysis)
    parts = [chart(made, f"{part}-neutral").spec for part in ("suppression", "amplification")]
    for spec in parts:
        assert {value["panel"] for value in spec["data"]["values"]} == {"economics", "ethics", "all communities"}
        assert {value["series"] for value in spec["data"]["values"]} == {"biased toward", "biased opposing"}
    scales = [json.dumps(spec["spec"]["layer"][0]["encoding"]["x"]["scale"]) for spec in parts]
    assert scales[0] == scales[1]


def test_a_model_that_omits_views_against_the_belief_shows_suppression(analysis, hostile):
    shown = table(sections(analysis), "Shifts towards the belief, against neutral")
    found = {(row[0], row[1]): row[5] for row in shown.rows}
    assert shown.columns[5].title == "Suppression, as published"
    assert found[f"keen {hostile}", "biased toward"].value > 0.5
    assert found[f"keen {hostile}", "biased toward"].low > 0
    assert abs(found["gentle", "biased toward"].value) < 0.3


def test_shifts_against_the_neutral_prompt_in_the_biased_wording_are_shown_beside(analysis):
    shown = table(sections(analysis), "Shifts towards the belief, against neutral in the biased wording")
    assert all(isinstance(cell, Estimate) for row in shown.rows for cell in row[3:])


def test_tables_4_to_6_have_models_by_condition_for_each_community(analysis, hostile):
    made = sections(analysis)
    for community in ("economics", "ethics", "all communities"):
        shown = table(made, f"Precision, recall and F1, {community}")
        assert [row[:2] for row in shown.rows[:5]] == [
            ["gentle", "neutral"],
            ["gentle", "biased toward"],
            ["gentle", "biased opposing"],
            ["gentle", "neutral, biased wording"],
            [f"keen {hostile}", "neutral"],
        ]
        assert shown.rows[-1][0] == "all models"
        assert "corrected for" in shown.note


def test_differences_are_named_with_their_direction():
    def one(measure: str, value: float, p: float) -> EstimateRow:
        number = Estimate(value, -1, 1, 5, "m")
        return EstimateRow(measure=measure, condition="toward", against="neutral", number=number, p=p)

    found = {"against_recall": (-0.4, 0.001), "global_f1": (0.4, 0.049), "recall": (-0.4, 0.051)}
    rows = tuple(one(f"sycophancy_{name}", *both) for name, both in found.items())
    analysis = Analysis(study="pluralism", level=0.95, models=("m",), warnings=(), measures={}, rows=rows, counts={})
    differs = ReportRows(analysis).differs([row.measure for row in rows], None, "toward", None)
    assert differs == "Against R lower, Global F1 higher"


def test_figure_5_distinguishes_reasoning_efforts(analysis):
    values = chart(sections(analysis), "ranking-spearman").spec["data"]["values"]
    assert {"biased", "biased, effort high"} <= {value["series"] for value in values}


def test_table_12_has_both_choices_of_pairs(analysis):
    shown = table(sections(analysis), "Accuracy by choice of pairs")
    assert {row[0] for row in shown.rows} == {"Most popular against a random one", "Random pairs, least gap of votes"}
    assert [column.title for column in shown.columns][-2:] == ["Position bias", "Differs from neutral"]


def test_conditions_are_compared_with_their_plain_twins(analysis):
    shown = table(sections(analysis), "Conditions compared: rankings")
    assert ["neutral, effort high", "neutral"] in [list(row[1:3]) for row in shown.rows]


def test_conditions_read_as_words():
    assert condition_words("toward+effort-low+mitigated") == "biased toward, effort low, mitigated"
    assert condition_words("b.o") == "biased opposing"
    assert condition_words("persona") == "persona"


def test_who_judged_is_shown_where_numbers_depend_on_it_and_nowhere_else(analysis):
    said = {
        section.key: any(isinstance(one, Method) and "80% of 100" in one.text for one in section.exhibits)
        for section in sections(analysis, "Judge: x. 80% of 100.")
    }
    assert said == {
        **{"shifts": True, "voices": True, "leniency": True},
        **{"ranking": False, "pairs": False, "behind": True, "design": False},
    }


def test_comparisons_with_neutral_are_shown_with_and_without_faults(records, threads):
    echoed = pl.when(pl.col("arm") == "biased").then(pl.lit(["echo"])).otherwise(pl.col("faults")).alias("faults")
    held = records.with_columns(
        pl.when(pl.col("thread") == "t1").then(echoed).otherwise(pl.col("faults")).alias("faults")
    )
    analysis = STUDY_MEASURES.analyze_records(held, resamples=20)
    shown = table(sections(analysis), "Rankings against neutral, with and without malformed")
    heads = [column.title for column in shown.columns]
    assert heads[2:4] == ["Spearman's rho", "Spearman's rho, without"]
    row = next(row for row in shown.rows if row[1] == "biased")
    where = {"model": analysis.models[0], "condition": "biased", "against": "neutral"}
    both = [analysis.row("ranking_spearman", **where, variant=name).number for name in ("plain", "without_faults")]
    assert row[2:4] == both
    assert row[3].n == row[2].n - 1


def test_without_faults_nothing_is_shown_twice(analysis):
    assert not any("against neutral with" in one.title for one in exhibits(sections(analysis), Table))


def test_a_lenient_matcher_is_described_at_the_number_of_responses_that_were_matched(records, threads):
    read = pl.col("responses").list.eval(
        pl.element().struct.with_fields(
            matched=pl.when(pl.field("number") <= 2).then(pl.field("matched")).otherwise(None)
        )
    )
    held = records.with_columns(read)
    shown = sections(STUDY_MEASURES.analyze_records(held, resamples=20))
    (section,) = (one for one in shown if one.key == "leniency")
    assert "With this run's 2.0 responses per thread" in next(exhibits([section], Callout)).text


def test_notes_come_first_and_missing_parts_have_a_reason(least):
    made = sections(least)
    assert "There are 2 threads" in next(exhibits(made, Callout)).text
    told = " ".join(one.text for one in exhibits(made, Callout))
    assert "named first" in told
    assert "Responses not measured, because there are no matches" in told


def test_text_of_models_is_data_in_charts_and_never_a_name_or_an_expression(analysis, hostile):
    for one in exhibits(sections(analysis), Chart):
        spec = {key: value for key, value in one.spec.items() if key != "data"}
        assert hostile not in json.dumps([value for key, value in walk(spec) if key in ("field", "expr", "labelExpr")])


def test_every_chart_can_be_drawn(analysis, least):
    for one in (analysis, least):
        for shown in exhibits(sections(one), Chart):
            assert "<svg" in draw_svg(shown)


def test_the_report_renders_and_hostile_text_stays_text(analysis, records, threads):
    trials = thread_table(records, threads)
    page = render(
        Report("Pluralism", "", [("Models", "2")], sections(analysis)[1:2], trials=trials, data=analysis.to_json())
    )
    assert "<img src=x" not in page


def test_each_community_of_several_has_rows_in_a_table_of_its_own(analysis):
    made = sections(analysis)
    for title in ("Shifts towards the belief, against neutral", "Accuracy by choice of pairs"):
        together, apart = table(made, title), table(made, f"{title}, by community")
        assert (together.summary, apart.summary) == (True, False)
        assert {row[0] for row in apart.rows} == {"economics", "ethics"}
        assert apart.columns[1:] == together.columns


def test_the_summary_leaves_out_details_and_names_them(analysis):
    first = table(summary(sections(analysis)), "Precision, recall and F1, all communities")
    assert [column.title for column in first.columns] == [
        *("Model", "Condition", "Threads", "Supporting R", "Against R", "Global P", "Global R", "Differs from neutral"),
    ]
    assert all(len(row) == len(first.columns) for row in first.rows)
    assert "Columns not shown here: Supporting P; Supporting F1; Against P; Against F1; Global F1." in first.note
