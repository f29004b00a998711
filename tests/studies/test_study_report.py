"""The platform takes analyses, figures and comparisons from a study's declarations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace
from tests.studies.test_study_measures import DECLARED, NINE, TOWNS, records

from overton.studies.claims import Claim, Claims
from overton.studies.frame import Analysis
from overton.studies.layouts import MeasureColumn, SectionOf, TableOf, make_report
from overton.studies.measurement import How, Measuring
from overton.studies.results import MeasuredModel, Results, RunFacts
from overton.studies.sections import Table, TrialTable
from overton.studies.study_report import StudyReport, figures_by_setting
from overton.studies.tables import TableKind


def _sections(analysis: Analysis, judged: str, items: Sequence[Any]) -> Any:
    table = TableOf("Towns", [MeasureColumn("agrees")])
    words = ("answers", "Condition", "They count.")
    return make_report([SectionOf("towns", "Towns", [table])], analysis, "plain", judged=judged, faults=words)


def _no_answers(results: Results, analysis: Analysis) -> TrialTable:
    return TrialTable(0, [], lambda number: [], [], [], lambda start, stop: [])


REPORT: StudyReport[How, Any] = StudyReport(
    measures=DECLARED,
    claims=Claims([Claim("agrees", section="towns", level="{name} agrees in {value}.")], "facets", "plain"),
    summary="Whether towns agree.",
    sections=_sections,
    answers=_no_answers,
    subject="any town's views",
    form="answers were free.",
    tables="a table of answers",
    kinds=(TableKind.of(MeasuredModel, "answers", ()),),
    read=lambda raw, how: raw.frame(),
    figures=figures_by_setting(
        {"agrees": ("agrees", None), "agrees_below_null": ("agrees", "null/all-agree")}, "plain"
    ),
    warnings=lambda results, analysis: [f"{results.records['town'].n_unique()} towns"],
    value=len,
    meaning="how many",
    columns=("trial",),
    harmless=("trials",),
    prompts="judge.",
    alone={"towns": "Rests on the judge."},
)


@pytest.fixture
def measuring() -> Measuring[Analysis, Any]:
    return REPORT.measuring


@pytest.fixture
def results() -> Results:
    judge = MeasuredModel("j", "openai/j")
    run = RunFacts("run", {}, {"judge": [judge]})
    return Results(records(NINE), TOWNS, [MeasuredModel("m", "openai/m")], [run])


def test_runs_and_tables_are_measured_alike(measuring: Measuring[Analysis, Any], results: Results) -> None:
    analysis = measuring.records(results, How())
    assert analysis.estimate("agrees").value == pytest.approx(9 / 12)
    assert [said.sentence for said in measuring.findings(analysis)] == ["m agrees in 75%."]  # type: ignore[misc,union-attr]
    *own, by_facet = measuring.sections(analysis)
    assert [section.key for section in own] == ["warnings", "towns"]
    assert [table.title for table in by_facet.exhibits if isinstance(table, Table)] == ["By region"]


def test_few_figures_are_named_with_their_condition(measuring: Measuring[Analysis, Any]) -> None:
    short = records(["no"] * 12).with_columns(condition=pl.lit("very-short"), trial=pl.col("trial") + "s")
    analysis = measuring.records(Results(pl.concat([records(NINE), short])), How())
    assert measuring.headline is not None
    figures = {name: number.value for name, number in measuring.headline.figures(analysis)}
    assert figures == pytest.approx(
        {"agrees": 0.75, "agrees_below_null": -0.25, "agrees_very_short": 0, "agrees_below_null_very_short": -1}
    )


def test_a_headline_in_any_condition_is_said_and_no_other_measure(measuring: Measuring[Analysis, Any]) -> None:
    assert measuring.comparing is not None
    said = {name: bool(measuring.comparing.place(name, "m")) for name in ("agrees", "agrees_short", "sure", "ahead")}
    assert said == {"agrees": True, "agrees_short": True, "sure": False, "ahead": False}
    also = dataclasses.replace(REPORT, said=("sure",)).measuring.comparing
    assert also is not None
    assert also.place("sure", "m")


def test_labels_that_could_not_be_read_are_counted(measuring: Measuring[Analysis, Any], results: Results) -> None:
    analysis = measuring.records(results, How())
    cells = {"model": "m", "facet": None, "condition": "plain", "unread": 3, "labels": 12}
    (unread,) = measuring.unread(replace(analysis, counts={"counts": (cells,)}))  # type: ignore[misc]
    assert (unread.model, unread.count, unread.of, unread.role) == ("m", 3, 12, "judge")
    assert measuring.headline is not None
    table = results.records.with_columns(unread=pl.lit(1))
    assert list(measuring.headline.answers(table)) == [("judge_unread", 12, 36)]


def test_a_report_has_the_judges_and_the_warnings_of_the_study(
    measuring: Measuring[Analysis, Any], results: Results
) -> None:
    analysis = measuring.records(results, How())
    shown = measuring.shown(results, analysis, How())
    assert any("6 towns" in line for line in shown.warnings)
    role = dataclasses.replace(results.runs[0], roles={"judge": [MeasuredModel("j", "simulated/j")]})
    simulated = measuring.shown(dataclasses.replace(results, runs=[role]), analysis, How())
    assert any("The judge j is simulated" in line for line in simulated.warnings)
    assert any("Judge: j" in exhibit.text for exhibit in shown.sections[-1].exhibits if hasattr(exhibit, "text"))
    assert shown.trials is not None
    assert measuring.shown(Results(results.records), analysis, How()).trials is None
