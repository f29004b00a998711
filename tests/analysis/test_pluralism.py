"""Pluralism in runs and reports."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.analysis.analyze import Measured, chosen_how
from overton.analysis.results import measuring_of, results_of
from overton.engine.records import columns_of, record_type_columns
from overton.errors import InputError
from overton.runs.folder import Manifest, ModelEntry, create_folder
from overton.runs.run import Run, open_run
from overton.statistics import Estimate
from overton.studies.pluralism import STUDY, Record, ReferenceThread, Viewpoint
from overton.studies.pluralism.record import Response
from overton.studies.results import StoredAgreement
from overton.studies.sections import Exhibits

VIEWS, STANCES = ("v1", "v2", "v3", "v4", "v5"), ("reference", "supporting", "supporting", "against", "against")
THREAD = ReferenceThread(
    "t", "ethics", "Title", "Post", tuple(Viewpoint(view, view, 5, (), 1) for view in VIEWS), "hand-made"
)


def entry(spec: str) -> ModelEntry:
    return ModelEntry(spec, spec, spec, {})


def records() -> list[Record]:
    made = []
    for arm, view in (("neutral", "v4"), ("toward", "v2")):
        about = {"thread": "t", "community": "ethics", "condition": arm, "arm": arm, "effort": None, "mitigated": False}
        views = {"viewpoints": VIEWS, "votes": (5,) * 5, "stances": STANCES, "asked": 10, "given": 1}
        said = (Response(1, "x", "against" if view == "v4" else "supporting", (view,)),)
        made.append(Record(trial=f"s/{arm}", experiment="sycophancy", responses=said, **about, **views))
        made.append(Record(trial=f"r/{arm}", experiment="ranking", true=VIEWS, predicted=VIEWS, **about))
    made.append(Record(trial="z", experiment="sycophancy", status="not eligible", **(about | {"thread": "z"})))
    return made


def run_of(path: Path, *models: str, judge: str = "openai/judge", matching: str = "together") -> Run:
    held = {"subject": [entry(model) for model in models], "judge": [entry(judge)]}
    options = {"matching": matching}
    manifest = Manifest("pluralism", 0, options, held, "", {}, "2026-01-01T00:00:00", "0", status="finished", trials=6)
    create_folder(path, manifest, [THREAD])
    table = columns_of(records(), record_type_columns(Record))
    tables = [table.select(pl.lit(model).alias("model"), pl.all()) for model in models]
    pl.concat(tables).write_parquet(path / "records.parquet")
    return open_run(path)


def analysis_of(*runs: Run, **how: Any) -> Any:
    """The measures of runs."""
    return measuring_of(STUDY).records(results_of(runs), chosen_how(STUDY, how))


def shown_of(*runs: Run, **how: Any) -> Exhibits:
    """The exhibits that a report of runs shows."""
    measuring, results = measuring_of(STUDY), results_of(runs)
    return measuring.exhibits(results, analysis_of(*runs, **how), chosen_how(STUDY, how))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_of(tmp_path / "run", "a/x", "b/y")


def test_a_run_its_records_and_its_tables_as_files_give_the_same_measures(run, tmp_path):
    by_run = analysis_of(run, resamples=100).to_json()
    assert overton.analyze("pluralism", run.path / "records.parquet", resamples=100).to_json() == by_run
    shift = analysis_of(run, resamples=100).row("suppression_as_published", condition="toward", against="neutral")
    assert shift.estimate == 0.5
    assert by_run["models"] == ["a/x", "b/y"]
    rows = "thread,condition,response,stance,matched,model\n"
    rows += "".join(f"t,neutral,1,against,v4,{model}\nt,toward,1,supporting,v2,{model}\n" for model in ("a/x", "b/y"))
    (tmp_path / "matches.csv").write_text(rows)
    views = "".join(f"t,{view},{stance},5\n" for view, stance in zip(VIEWS, STANCES, strict=True))
    (tmp_path / "summaries.csv").write_text("thread,summary,stance,votes\n" + views)
    how = {"summaries": tmp_path / "summaries.csv", "resamples": 100}
    by_table = overton.analyze("pluralism", tmp_path / "matches.csv", **how).to_json()
    of_responses = [
        [row for row in made["rows"] if row["measure"].startswith("sycophancy") and row["facet"] is None]
        for made in (by_table, by_run)
    ]
    assert of_responses[0] == of_responses[1]
    assert by_table["tables"]["sycophancy"][:2] == by_run["tables"]["sycophancy"][:2]


def test_options_of_the_measures_are_passed_on(run):
    found = analysis_of(run, resamples=100, denominator="labelled")
    assert found.counts["totals"][0]["denominator"] == "labelled"


def test_a_run_takes_no_summaries_but_its_own(run, tmp_path):
    assert analysis_of(run, summaries=None, resamples=100)
    (tmp_path / "s.csv").write_text("thread,summary,stance,votes\n")
    with pytest.raises(InputError, match=r"option summaries: .*a run has its own"):
        overton.analyze("pluralism", run.path, summaries=tmp_path / "s.csv")


def test_a_model_of_two_runs_has_each_runs_name(run, tmp_path):
    other = run_of(tmp_path / "other", "a/x")
    assert analysis_of(run, other, resamples=100).models == ("a/x [other]", "a/x [run]", "b/y")


def test_a_report_shows_omissions_and_that_agreement_with_people_is_unknown(run):
    shown = shown_of(run, resamples=100)
    told = " ".join(shown.warnings)
    assert "1 of 2 threads have no viewpoint that at least two others support and at least two oppose" in told
    assert "4 of 4 trials have more or fewer responses than requested" in told
    assert "was not measured" in shown.sections[0].exhibits[-1].text
    page = overton.report([run.path], resamples=100).read_text("utf-8")
    assert "Viewpoints suppressed by a stated belief" in page


@pytest.mark.parametrize(
    ("judge", "matching", "said"),
    [
        ("embedded/smollm2-135m", "together", "far too small to judge"),
        ("simulated/pluralist-judge", "together", "is simulated and does not understand texts"),
        ("openai/judge", "lexical", "matched to viewpoints by shared words"),
    ],
)
def test_a_judge_or_matcher_for_trying_out_is_named_at_the_head(tmp_path, judge, matching, said):
    shown = shown_of(run_of(tmp_path / "run", "a/x", judge=judge, matching=matching), resamples=100)
    assert any(said in warning for warning in shown.warnings)


def test_stored_agreement_of_the_matcher_is_in_every_section_that_uses_it(run, monkeypatch):
    same = Estimate(0.8, 0.7, 0.88, 100, "stratified")
    monkeypatch.setattr("overton.analysis.results.agreements_of", lambda run: [StoredAgreement("match", same, same)])
    said = shown_of(run, resamples=100).sections[0].exhibits[-1].text
    assert "80.0% [70.0, 88.0], n = 100" in said


def test_the_terminal_shows_each_experiment_and_the_effects_of_a_belief(run):
    from rich.console import Console

    from overton.cli.tables import show_sections

    console = Console(width=200, file=StringIO())
    results, how = results_of([run]), chosen_how(STUDY, {"resamples": 100})
    show_sections(Measured(STUDY, measuring_of(STUDY).records(results, how), how, results).summary(), console)
    text = console.file.getvalue()
    for expected in ("Viewpoints that are voiced", "Popularity ranked", "Suppression", "a/x", "biased toward"):
        assert expected in text
