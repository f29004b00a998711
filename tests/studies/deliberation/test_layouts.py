"""Every figure and table of the study, and deliberations to read, from measures of records with known properties."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest
from tests.studies.exhibits import exhibits, table, walk

from overton.calls import Draw
from overton.reporting import Report, render
from overton.studies.deliberation.items import VERDICTS, Dilemma
from overton.studies.deliberation.layouts import sections
from overton.studies.deliberation.layouts.answers import deliberation_table
from overton.studies.deliberation.layouts.numbers import p_value
from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.prompts import VALUES
from overton.studies.frame import Analysis
from overton.studies.sections import ROUND_BREAK, TURN_BREAK, Callout, Chart, Table

HOSTILE = "x'];</script><img src=x onerror=alert(1)>"
MODELS = ("claude", f"gpt {HOSTILE}")
SETTINGS = [("synchronous", MODELS), ("round-robin", MODELS), ("round-robin", MODELS[::-1])]
STAYS = dict(zip(MODELS, (0.4, 0.8), strict=True))


def record(of: tuple[str, str, str, tuple[str, ...]], round_: int, place: int, said: list[Any]) -> dict[str, Any]:
    """A message: models keep their verdict with different strength, and use different values."""
    dilemma, format_, goal, order = of
    model = order[place - 1]
    chance = Draw(f"{dilemma}/{format_}/{goal}/{order}/{round_}/{place}")
    own = [one["verdict"] for one in said if one["model"] == model]
    verdict = own[-1] if own and chance.uniform() < STAYS[model] else chance.sample(VERDICTS, 1)[0]
    offset = 0 if model == MODELS[0] else 3
    return {
        "deliberation": f"{dilemma}/{format_}/{goal}/{'-'.join(order)}",
        "dilemma": dilemma,
        "format": format_,
        "goal": goal,
        "agents": " + ".join(order),
        "round": round_,
        "position": place if format_ == "round-robin" else None,
        "agent": f"Agent {place}",
        "model": model,
        "verdict": verdict if chance.uniform() < 0.98 else None,
        "explanation": f"{HOSTILE} because{ROUND_BREAK}of it",
        "values": [VALUES[offset], *chance.sample(VALUES[:8], 2)],
        "values_dropped": 1,
        "crowd": "NTA",
        "failure": None,
    }


@pytest.fixture(scope="module")
def records() -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for dilemma in (f"d{number}" for number in range(14)):
        for goal in ("correctness", "balanced"):
            for format_, order in SETTINGS:
                said: list[dict[str, Any]] = []
                for round_ in (1, 2, 3):
                    now = [record((dilemma, format_, goal, order), round_, place, said) for place in (1, 2)]
                    said += now
                    if len({one["verdict"] for one in now} | {None}) == 2 and None not in [o["verdict"] for o in now]:
                        break
                rows += said
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def analysis(records: pl.DataFrame) -> Analysis:
    return analyze(records, resamples=50, others=True)


@pytest.fixture(scope="module")
def least() -> Analysis:
    """A table with nothing but what it must have, in which all agree at once."""
    columns = ("deliberation", "dilemma", "format", "round", "position", "model", "verdict")
    rows = [(f"t{k}", f"d{k}", "synchronous", 1, None, model, "NTA") for k in range(3) for model in ("a", "b")]
    return analyze(pl.DataFrame(rows, schema=columns, orient="row"), resamples=20, others=True)


def test_every_figure_and_table_of_the_paper_is_there(analysis):
    made = sections(analysis)
    sources = " ".join(exhibit.source for kind in (Chart, Table) for exhibit in exhibits(made, kind))
    for name in ("figure 2", "figure 3", "figure 4", "figure 5", "figure 6", "table 1", "table 2"):
        assert name in sources
    drawn = " ".join(chart.source for chart in exhibits(made, Chart))
    for name in ("figure 2, a", "figure 2, b", "figure 3", "figure 4, a", "figure 4, d", "figure 5, a", "figure 5, b"):
        assert name in drawn


def test_names_of_sections_and_charts_are_unique(analysis):
    made = sections(analysis)
    assert len({section.key for section in made}) == len(made)
    names = [chart.name for chart in exhibits(made, Chart)]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() for name in names)


def test_rows_of_tables_are_as_wide_as_their_heads(analysis, least):
    for one in (analysis, least):
        for shown in exhibits(sections(one), Table):
            assert all(len(row) == len(shown.columns) for row in shown.rows), shown.title


def test_inertia_is_shown_by_every_estimator_side_by_side(analysis):
    shown = table(sections(analysis), "The estimators side by side")
    assert [column.title for column in shown.columns[2:]] == [
        "random dilemma effects and tastes",
        "random dilemma effects and equally strong tastes",
        "random dilemma effects",
        "free dilemma effects, penalised",
        "AdamW as published",
    ]
    assert {row[0] for row in shown.rows} >= {f"Inertia, {model}" for model in MODELS}


def test_each_models_tastes_have_a_spread_in_the_table_and_their_ratio_stands_beside(analysis):
    first = analysis.counts["fits"][0]
    assert first["estimator"] == "taste_by_model"
    shown = table(sections(analysis), "Parameters of the choice model: random dilemma effects and tastes")
    names = [row[0] for row in shown.rows if "spread" in row[0].lower()]
    assert names == ["Spread of dilemmas' effects", *(f"Spread of tastes, {model}" for model in MODELS)]
    statistic, p = first["spreads_statistic"], first["spreads_p"]
    assert 0 < p <= 1
    notes = [one.text for one in exhibits(sections(analysis), Callout) if one.kind == "note"]
    assert any(f"against a common spread is {statistic:.1f} (p = {p:.3f})" in text for text in notes)


def test_numbers_without_an_interval_are_named_for_the_chosen_estimator_only(records):
    at_once = records.filter(pl.col("format") == "synchronous", pl.col("goal") == "balanced")
    made = analyze(at_once, resamples=20, others=True)
    told = [one.text for one in exhibits(sections(made), Callout) if "no interval for" in one.text]
    assert told
    assert all(text.startswith("Fit with random dilemma effects and tastes: no interval for") for text in told)


def test_archetypes_of_few_deliberations_are_counted_in_one_row_for_each_model(analysis):
    """Fourteen dilemmas: proportions of one kind among a dozen would have intervals from nothing to everything."""
    made = next(section for section in sections(analysis) if section.key == "archetypes")
    few = [row for row in analysis.counts["beyond_round_1"] if 0 < row["deliberations"] < 30]
    shown = table([made], "Archetypes of few deliberations")
    assert [(row[1], row[2]) for row in shown.rows] == [(one["model"], one["deliberations"]) for one in few]
    changes = [
        row
        for row in analysis.counts["archetypes"]
        if row["measure"] == "ended_elsewhere"
        and (row["model"], row["condition"]) == (few[0]["model"], few[0]["condition"])
    ]
    first, total = changes[0], sum(row["count"] for row in changes)
    assert shown.rows[0][3] == f"{total}, most often {first['first']} → {first['last']} ({first['count']})"
    shares = [row for one in exhibits([made], Table) if one is not shown for row in one.rows]
    assert all(row[4] > 1 and row[5].n >= 30 for row in shares)


def test_inherited_values_are_shown_by_both_counts(analysis):
    shown = table(sections(analysis), "Inherited values")
    assert [column.title for column in shown.columns[3:]] == ["Inherited", "As the authors count"]
    found = analysis.rows_of("inherited_value", "pooled / value", variant="plain")
    own = [
        row
        for row in found
        if (row.model, row.condition.split(" / ")[:3]) == (found[0].model, found[0].condition.split(" / ")[:3])
    ]
    most = max(own, key=lambda row: row.number.value)
    row = next(row for row in shown.rows if row[1] == most.model and row[2] == most.condition.rpartition(" / ")[2])
    assert row[3] == most.number
    where = {"model": most.model, "facet": "pooled / value", "condition": most.condition}
    assert row[4] == analysis.estimate("inherited_as_published", **where)


def test_consensus_of_a_majority_has_a_column_where_it_differs(analysis, least):
    assert "Consensus by majority" in [c.title for c in table(sections(analysis), "Consensus by models").columns]
    same = table(sections(least), "Consensus by models")
    assert "Consensus by majority" not in [column.title for column in same.columns]
    assert "gives the same shares" in same.note


def test_goals_are_named_where_there_are_several_and_left_out_where_not(analysis, records):
    assert "correctness" in str(table(sections(analysis), "Consensus by models").rows[0][1])
    one = analyze(records.filter(pl.col("goal") == "balanced"), resamples=20)
    assert table(sections(one), "Consensus by models").rows[0][1] == "synchronous"


def test_missing_sections_are_replaced_by_the_reason(least):
    notes = " ".join(callout.text for callout in exhibits(sections(least), Callout))
    for word in ("a judge can name them", "no deliberation is round-robin", "more than one goal", "crowd"):
        assert word in notes
    inertia = table(sections(least), "Parameters of the choice model").rows[0]
    assert "every discussion ends in its first round" in inertia[1].method


def test_notes_stand_at_the_head(analysis):
    first = next(exhibits(sections(analysis), Callout))
    assert "could not be read" in first.text


def test_text_of_models_is_data_in_charts_and_never_a_name_or_an_expression(analysis):
    for chart in exhibits(sections(analysis), Chart):
        spec = {key: value for key, value in chart.spec.items() if key != "data"}
        for scale in ("domain", "labels", "sort"):
            assert f"{scale}Expr" not in json.dumps(spec)
        assert HOSTILE not in json.dumps([value for key, value in walk(spec) if key in ("field", "expr", "labelExpr")])


def test_p_values_show_the_corrected_one_first():
    assert p_value({"p": 0.01, "adjusted": 0.03, "of": 3}) == "0.030 (0.010)"
    assert p_value({"p": 0.0001, "adjusted": 0.0001, "of": 1}) == "< 0.001"
    assert p_value({"p": None, "adjusted": None, "of": 3}) == "–"


def one_talk(*turns: tuple[int, str, str | None], **fields: Any) -> pl.DataFrame:
    rows = [
        {
            "deliberation": "t",
            "dilemma": "d",
            "format": "synchronous",
            "goal": "correctness",
            "agents": "x + y",
            "round": round_,
            "position": None,
            "agent": agent,
            "model": {"Agent 1": "x", "Agent 2": "y"}[agent],
            "verdict": verdict,
            "explanation": f"{agent} in {round_}",
            "values": ["Accessibility", "Social etiquette"],
            "crowd": None,
            "failure": None,
        }
        | fields
        for round_, agent, verdict in turns
    ]
    kinds = {"position": pl.Int64, "crowd": pl.String, "failure": pl.String}
    return pl.DataFrame(rows, schema_overrides=kinds)


def labels(shown: Any, title: str) -> list[str]:
    facet = next(facet for facet in shown.facets if facet.title == title)
    return [facet.labels[code] for code in facet.codes]


def test_a_deliberation_is_told_round_by_round_with_changes_marked_and_values_beneath():
    talk = one_talk((1, "Agent 1", "NTA"), (1, "Agent 2", "YTA"), (2, "Agent 2", "NTA"), (2, "Agent 1", "NTA"))
    shown = deliberation_table(talk, [Dilemma("d", "Title", "Text.")])
    (answer,) = shown.answers(0, 1)
    outcome, first, second = answer.split(ROUND_BREAK)
    assert outcome == "Consensus on NTA after 2 rounds."
    assert first.split(TURN_BREAK)[0] == "Agent 1 (x): NTA\n\nAgent 1 in 1\n\nValues: Accessibility; Social etiquette"
    assert [turn.split("\n")[0] for turn in second.split(TURN_BREAK)] == ["Agent 1 (x): NTA", "Agent 2 (y): YTA → NTA"]
    assert [shown.texts[number] for number in shown.prompts(shown.prompt[0])] == ["Title\n\nText."]
    assert labels(shown, "Outcome") == ["consensus on NTA"]
    assert labels(shown, "Changed by") == ["y"]


def test_a_change_is_marked_against_the_last_verdict_that_could_be_read():
    talk = one_talk((1, "Agent 1", "NTA"), (2, "Agent 1", None), (3, "Agent 1", "ESH"), (3, "Agent 2", None))
    (answer,) = deliberation_table(talk).answers(0, 1)
    assert "Agent 1 (x): no readable verdict" in answer
    assert "Agent 1 (x): NTA → ESH" in answer
    assert answer.startswith("No consensus after 3 rounds.")


def test_a_failed_call_is_shown_and_the_outcome_says_so():
    shown = deliberation_table(one_talk((1, "Agent 1", None), failure="timeout: no reply in 60 s"))
    assert "the call failed: timeout: no reply in 60 s" in shown.answers(0, 1)[0]
    assert labels(shown, "Outcome") == ["failed"]
    assert list(shown.prompt) == [-1]


def test_agreement_does_not_count_as_consensus_while_one_agent_is_missing():
    talk = one_talk((1, "Agent 1", "NTA"), (1, "Agent 2", "YTA"), (2, "Agent 1", "YTA"))
    assert labels(deliberation_table(talk), "Outcome") == ["no consensus"]


def test_every_deliberation_is_there_once_and_can_be_requested_in_any_slice(records):
    shown = deliberation_table(records)
    assert shown.size == records["deliberation"].n_unique() == 14 * 2 * 3
    whole = shown.answers(0, shown.size)
    assert [*shown.answers(0, 7), *shown.answers(7, shown.size + 5)] == whole
    assert shown.answers(shown.size, shown.size + 9) == []
    assert all(len(answer.split(ROUND_BREAK)) <= 4 for answer in whole)


def test_the_whole_report_renders_and_hostile_text_stays_text(analysis, records):
    made = sections(analysis)
    report = Report("Deliberation", "", [("Models", "2")], made[:3], trials=deliberation_table(records), data={})
    page = render(report)
    assert "<img src=x" not in page
