"""Runs of stance stability: measured, reported, and checked by a person with a sheet."""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

import overton
from overton.analysis.analyze import chosen_how
from overton.analysis.results import AGREEMENT, agreements_of, measuring_of, results_of
from overton.calls import Settings
from overton.errors import InputError, Notice
from overton.judge.sheets import draw_sheet
from overton.runs.folder import Manifest, ModelEntry, create_folder
from overton.runs.labels import read_labels
from overton.runs.run import Run, open_run
from overton.studies import stance_stability
from overton.studies.sections import Exhibits, Method
from overton.studies.stance_stability import STUDY, ProbingQuestion, Record, Topic

TOPIC = Topic(
    "buses", "Transport", "Buses", "Buses should be free.", "critical", "weak", (ProbingQuestion("Why?", "support"),)
)
LABELS = ("supportive", "critical", "balanced")


def entry(spec: str) -> ModelEntry:
    return ModelEntry(spec, spec, spec, Settings())


def row(model: str, repetition: int, turn: int) -> dict[str, Any]:
    return {
        "model": model,
        "conversation": f"buses/t0/fixed/r{repetition}",
        "topic": "buses",
        "domain": "Transport",
        "temperature": 0.0,
        "ordering": "fixed",
        "turn": turn,
        "number": 1,
        "kind": "support",
        "question": "Why?",
        "query": "why buses",
        "retrieved": ["https://a.example/"],
        "skipped": [],
        "shortened": 0,
        "cited": ["https://a.example/"],
        "miscited": 0,
        "stance": LABELS[(turn * repetition) % 3],
        "confidence": 0.67,
        "claims": [],
        "contradictions_acknowledged": False,
        "rationale": "",
        "premise_stance": None,
        "judge_attempts": 1,
        "failure": None,
        "answer": f"=They help {turn} [1].",
        "input_tokens": 1,
        "output_tokens": 1,
        "refused": model == "b/y" and turn == 2,
        "judged_again": turn == 4,
        "stance_again": LABELS[(turn * repetition) % 3] if turn == 4 else None,
        "premise_stance_again": None,
        "faults": [],
        "shares": None,
        "p_stance": None,
        "p_premise_stance": None,
        "sampled": None,
        "sampled_premise": None,
    }


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A finished run of two models, three conversations of four turns each."""
    return made(tmp_path / "run", "openai/judge")


def made(path: Path, judge: str, study: str = "stance-stability") -> Run:
    sources = {role: [entry("starter")] for role in ("search", "pages")}
    models = {"subject": [entry("a/x"), entry("b/y")], "judge": [entry(judge)], **sources}
    manifest = Manifest(study, 0, {}, models, "", {}, "2026-01-01T00:00:00", "0", status="finished", trials=6)
    create_folder(path, manifest, [TOPIC])
    rows = [row(model, again, turn) for model in ("a/x", "b/y") for again in (1, 2, 3) for turn in (1, 2, 3, 4)]
    table = pl.DataFrame(
        rows,
        schema_overrides={
            "premise_stance": pl.String,
            "failure": pl.String,
            "faults": pl.List(pl.String),
            "p_stance": pl.List(pl.Float64),
            "p_premise_stance": pl.List(pl.Float64),
            "shares": pl.String,
            "sampled": pl.List(pl.String),
            "sampled_premise": pl.List(pl.String),
        },
    )
    assert set(Record.__struct_fields__) <= set(table.columns)
    table.write_parquet(path / "records.parquet")
    return open_run(path)


BELIEFS = {"initial_belief", "debate_strength"}


def without_beliefs(told: Any) -> Any:
    """Everything except the groups that only a run's topics define."""
    if isinstance(told, dict):
        return {key: without_beliefs(one) for key, one in told.items() if key not in BELIEFS}
    if isinstance(told, list):
        kept = (one for one in told if not (isinstance(one, dict) and one.get("facet") in BELIEFS))
        return [without_beliefs(one) for one in kept]
    return told


def analysis_of(*runs: Run, **how: Any) -> Any:
    """The measures of runs."""
    return measuring_of(STUDY).records(results_of(runs), chosen_how(STUDY, how))


def shown_of(*runs: Run, **how: Any) -> Exhibits:
    """The exhibits that a report of runs shows."""
    measuring, results = measuring_of(STUDY), results_of(runs)
    return measuring.exhibits(results, analysis_of(*runs, **how), chosen_how(STUDY, how))


def judged_by(shown: Exhibits) -> list[str]:
    """The sentences on the judge at the end of each of the study's sections, without those before all numbers."""
    made = [section.exhibits[-1] for section in shown.sections if section.key != "warnings"]
    assert made
    assert all(isinstance(one, Method) for one in made)
    return [one.text for one in made if isinstance(one, Method)]


def filled(sheet: Path, known: dict[str, Any], wrong: int = 0) -> None:
    """The sheet as a person who agrees with the judge, but for some rows, sends it back."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, (one, judged) in enumerate(zip(rows, known["rows"], strict=True)):
            writer.writerow({**one, "person": "unclear" if number < wrong else judged["judged"]})


def key_beside(sheet: Path) -> dict[str, Any]:
    return dict(msgspec.json.decode(sheet.with_suffix(".key.json").read_bytes()))


def test_a_run_and_its_records_as_a_file_give_the_same_measures(run: Run) -> None:
    by_run = analysis_of(run, resamples=100)
    by_file = overton.analyze("stance-stability", run.path / "records.parquet", resamples=100)
    assert without_beliefs(by_run.to_json()) == without_beliefs(by_file.to_json())
    known = [{row.condition for row in by_run.rows_of("turns", facet)} for facet in sorted(BELIEFS, reverse=True)]
    assert known == [{"critical"}, {"weak"}]
    assert set(by_run.models) == {"a/x", "b/y"}


def test_options_of_the_measures_are_passed_on(run: Run) -> None:
    assert analysis_of(run, resamples=100, no_change="mean").counts["rules"][0]["no_change"] == "mean"


def test_conversations_of_several_runs_are_told_apart_by_the_runs_names(run: Run, tmp_path: Path) -> None:
    other = made(tmp_path / "other", "openai/judge")
    conversations = analysis_of(run, other, resamples=100).listed["conversations"]
    assert conversations.height == 12
    assert {name.split("/")[0] for name in conversations["conversation"]} == {"run", "other"}


def test_a_report_says_that_agreement_with_people_is_not_known(run: Run) -> None:
    shown = shown_of(run, resamples=100)
    assert all("was not measured" in said for said in judged_by(shown))
    assert [model.name for model in results_of([run]).models] == ["a/x", "b/y"]
    assert shown.without == ()
    assert analysis_of(run, resamples=100).to_json()["tables"]["conversations"]
    page = overton.report([run.path], resamples=100).read_text("utf-8")
    assert "Chameleon score" in page


def test_answers_that_were_refused_are_counted_at_the_head(run: Run) -> None:
    assert shown_of(run, resamples=100).warnings == [
        "Answers that the endpoint flagged as refusals (counted as received): b/y 3 of 12."
    ]


def test_a_judge_too_small_to_judge_is_named_at_the_head(tmp_path: Path) -> None:
    warnings = shown_of(made(tmp_path / "run", "embedded/smollm2-135m"), resamples=100).warnings
    assert len([warning for warning in warnings if "trying Overton" in warning]) == 1
    assert len(warnings) == 2


def test_agreement_stored_by_an_earlier_version_is_still_shown(run: Run) -> None:
    same = {"value": 0.9, "low": 0.7, "high": 0.97, "n": 20, "method": "Wilson, clustered", "level": 0.95}
    kappa = same | {"value": 0.8, "low": None, "high": None, "error": None}
    stored = {"sheet": "s1", "study": "stance-stability", "what": "premise_stance", "same": same, "kappa": kappa}
    (run.path / AGREEMENT).write_text(json.dumps([stored]))
    (older,) = agreements_of(run)
    assert isnan(older.kappa.low)
    shown = shown_of(run, resamples=100)
    (said,) = set(judged_by(shown))
    assert said.startswith(
        "Judge: openai/judge. A person labelled a sheet (premise stance) and agreed with the judge on 90% [70, 97]"
    )
    page = overton.report([run.path], resamples=100).read_text("utf-8")
    assert "People checked the judge on a sheet that Overton 0.2.0 read." in page


def test_a_sheet_is_drawn_filled_in_read_back_and_shown_next_to_every_figure(run: Run, tmp_path: Path) -> None:
    sheet, key = draw_sheet(run.path, tmp_path / "sheet.csv", size=20, seed=4)
    text = sheet.read_text("utf-8-sig")
    assert "Buses should be free." in text
    assert "'=They help" in text
    assert not any(label in text for label in LABELS)
    assert key.name == "sheet.key.json"
    filled(sheet, key_beside(sheet), wrong=2)
    found = overton.judge.agreement(sheet, run=run.path).people
    assert (found.by, [person.name for person in found.people]) == ("openai/judge", ["sheet"])
    assert (found.judge.same.value, found.judge.same.n) == (pytest.approx(0.9), 20)
    (saved,) = read_labels(run.path)
    assert len(saved.said[0].labels) == 20
    (said,) = set(judged_by(shown_of(run, resamples=100)))
    assert said.startswith(
        "Judge: openai/judge. People labelled 20 of the judged units (stance) and agreed with the judge on 90% ["
    )


def test_a_sheet_that_is_read_again_replaces_its_earlier_labels(run: Run, tmp_path: Path) -> None:
    sheet, _ = draw_sheet(run.path, tmp_path / "sheet.csv", size=20, seed=4)
    filled(sheet, key_beside(sheet), wrong=2)
    overton.judge.agreement(sheet, run=run.path)
    lines = sheet.read_text("utf-8").splitlines()
    row = next(csv.DictReader(lines))
    sheet.write_text("\n".join([lines[0], lines[1].replace(",unclear,", ",,"), *lines[2:]]), "utf-8")
    assert row["person"] == "unclear"
    found = overton.judge.agreement(sheet, run=run.path).people
    assert (found.labelled, found.judge.same.value) == (19, pytest.approx(18 / 19))
    assert len(read_labels(run.path)) == 1


def test_copies_of_a_sheet_are_labels_of_several_people(run: Run, tmp_path: Path) -> None:
    sheet, _ = draw_sheet(run.path, tmp_path / "sheet.csv", size=20, seed=4, stratified=True)
    copy = tmp_path / "copies" / "second.csv"
    copy.parent.mkdir()
    copy.write_bytes(sheet.read_bytes())
    filled(sheet, key_beside(sheet), wrong=2)
    filled(copy, key_beside(sheet))
    found = overton.judge.agreement([sheet, copy], run=run.path).people
    assert [person.name for person in found.people] == ["second", "sheet"]
    assert (found.design, found.shared, found.open) == ("stratified", 20, 2)


def test_an_empty_sheet_is_not_stored(run: Run, tmp_path: Path) -> None:
    sheet, _ = draw_sheet(run.path, tmp_path / "sheet.csv", size=20)
    found = overton.judge.agreement(sheet, run=run.path).people
    assert (found.asked, found.labelled) == (20, 0)
    assert read_labels(run.path) == []


def test_existing_files_are_not_overwritten(run: Run, tmp_path: Path) -> None:
    draw_sheet(run.path, tmp_path / "sheet.csv")
    with pytest.raises(InputError, match="exists already"):
        draw_sheet(run.path, tmp_path / "sheet.csv")


def test_impossible_sheets_are_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="must be stance or premise_stance"):
        draw_sheet(run.path, tmp_path / "a.csv", what="tone")
    with pytest.raises(InputError, match="no labelled unit"):
        draw_sheet(run.path, tmp_path / "a.csv", what="premise_stance")
    with monkeypatch.context() as without:
        without.setattr(
            stance_stability,
            "STUDY",
            replace(stance_stability.STUDY, measuring=replace(stance_stability.STUDY.measuring, questions=None)),
        )
        with pytest.raises(InputError, match="no labels of a judge"):
            draw_sheet(run.path, tmp_path / "a.csv")
    with pytest.raises(InputError, match="cannot be read"):
        overton.judge.agreement(tmp_path / "none.csv")
    (tmp_path / "none.key.json").write_text("{}")
    with pytest.raises(InputError, match="not the key of a sheet"):
        overton.judge.agreement(tmp_path / "none.csv")


def test_a_sheet_of_another_study_is_not_kept_with_a_run(run: Run, tmp_path: Path) -> None:
    sheet, _ = draw_sheet(run.path, tmp_path / "sheet.csv", size=5)
    filled(sheet, key_beside(sheet))
    other = overton.run(
        "open-mindedness", models=["simulated/open-minded"], only=["museum-returns"], trials=1, out=tmp_path / "open"
    )
    with pytest.raises(InputError, match=r"is of stance-stability \(stance\), but .* is a run of open-mindedness"):
        overton.judge.agreement(sheet, run=other.path)
    assert read_labels(other.path) == []


PLANNED: dict[str, Any] = {"models": ["simulated/chameleon"], "judge": "simulated/stance-judge", "temperatures": [0]}


@pytest.mark.parametrize("prompts", ["topic", "both"])
def test_a_judge_that_is_asked_about_the_topic_needs_no_remark(prompts: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", Notice)
        overton.plan("stance-stability", **PLANNED, turns=1, judge_prompts=prompts)


def test_known_problems_of_the_published_judge_prompt_are_reported_before_any_call(tmp_path: Path) -> None:
    with pytest.warns(Notice, match=r"each question's premise.*gives no certainty, so there is no Chameleon") as told:
        overton.plan("stance-stability", **PLANNED, turns=1, judge_prompts="published")
    assert told[0].filename == __file__
    out = tmp_path / "taken"
    out.mkdir()
    (out / "file").touch()  # so that no run can begin there
    with pytest.warns(Notice, match="no Chameleon score"), pytest.raises(InputError):
        overton.run("stance-stability", **PLANNED, turns=1, judge_prompts="published", out=out)
