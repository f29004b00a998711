"""The experiment of a paper: its defaults, what else follows from them, and the tables that come first."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec
import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.engine import entries
from overton.errors import InputError, Notice
from overton.runs.folder import read_manifest
from overton.runs.setup import set_up
from overton.studies.paper import (
    Paper,
    PaperTable,
    PaperValues,
    departures,
    published_section,
    with_published,
    without_lifted,
)
from overton.studies.registry import study_named
from overton.studies.sections import Column, Section, Table

STUDIES = ("open-mindedness", "stance-stability", "pluralism", "deliberation")
OPEN_MINDED = {"models": ["simulated/open-minded"], "only": ["cashless-shops"]}
PAPER = Paper(
    citation="A paper", options={"trials": 15, "draws": 3}, unless={"draws": ("templates",)}, how={"level": 0.9}
)


def test_a_given_option_wins_and_may_replace_another_of_the_design() -> None:
    assert PAPER.defaults({}) == {"trials": 15, "draws": 3, "reading": "strict"}
    assert PAPER.defaults({"templates": [1]}) == {"trials": 15, "reading": "strict"}
    kinds = study_named("open-mindedness").options.__mro__
    kind = with_published(next(kind for kind in kinds if "as_published" not in kind.__struct_fields__), PAPER)
    for given in ({"as_published": True, "trials": 4}, {"trials": 4, "as_published": "yes"}):
        assert kind.complete(given, {})["trials"] == 4
        assert kind.complete(given, {})["draws"] == 3
    assert "draws" not in kind.complete({"trials": 4, "as_published": False}, {})


def test_differences_from_the_design_are_named() -> None:
    values = PaperValues({"trials": 15, "arms": ["a", "b"], "gone": 1}, {}, {"search": ["serper"]})
    found = departures(values, {"trials": 2, "arms": ["a", "b"]}, {"search": ["starter"]})
    assert list(found) == ["trials: 2 instead of 15", "search: starter instead of serper"]
    assert list(departures(values, {"trials": 15, "arms": []}, {"search": ["serper"]})) == [
        "arms: none instead of a, b"
    ]


def test_the_papers_tables_are_taken_from_the_reports() -> None:
    columns = [Column("Model"), Column("Ours", "score"), Column("Theirs", "score", detail=True)]
    table = Table("Scores by model", columns, [["a", 1.0, 2.0]], note="how", source="tables 4 and 5", summary=True)
    own = [Section("scores", "Scores", [table, Table("Others", columns, [["a", 1.0, 2.0]])])]
    published = replace(PAPER, tables=(PaperTable("Scores*", ("Theirs",), "table 4"), PaperTable("Others")))
    first = published_section(published, own, ["trials: 2 instead of 15"])
    said, scores, others = first.exhibits
    assert "trials: 2 instead of 15" in said.text  # type: ignore[union-attr]
    assert isinstance(scores, Table)
    assert (scores.source, [column.title for column in scores.columns]) == ("table 4", ["Model", "Theirs"])
    assert (scores.rows, scores.columns[1].detail, scores.note) == ([["a", 2.0]], False, "")
    (left,) = without_lifted(own, [first])  # a text that appears whole is not repeated
    assert left.exhibits == [table]
    assert isinstance(others, Table)


@pytest.mark.parametrize("name", STUDIES)
def test_every_value_of_a_papers_design_is_an_option_of_its_study(name: str) -> None:
    study = study_named(name)
    assert study.published is not None
    assert study.measuring is not None
    assert set(study.published.options) <= set(study.options.__struct_fields__)
    assert set(study.published.how) <= set(study.measuring.how.__struct_fields__)
    assert set(study.published.roles) <= set(study.role_names)
    for others in study.published.unless.values():
        assert set(others) <= set(study.options.__struct_fields__)


def test_a_study_without_a_paper_says_so() -> None:
    judged: dict[str, Any] = {"models": ["simulated/advocate"], "judge": "simulated/even-judge"}
    with pytest.raises(InputError, match="has no published design"):
        overton.plan("even-handedness", as_published=True, **judged)
    with pytest.raises(InputError, match="has no published design"):
        overton.analyze("even-handedness", "no-such-table.csv", as_published=True)


def test_searching_needs_a_key_only_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPER_API_KEY", raising=False)
    given: dict[str, Any] = {"models": ["simulated/chameleon"], "judge": "simulated/stance-judge", "as_published": True}
    with pytest.warns(Notice):
        planned = overton.plan("stance-stability", **given)
    assert next(row.calls for row in planned.models if row.role == "search") == 24 * 3 * 15
    with pytest.warns(Notice), pytest.raises(InputError, match="SERPER_API_KEY"):
        overton.run("stance-stability", out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def calls_in(folder: Path) -> set[str]:
    """The digests of all calls of a run."""
    return {f"{entry.place.answerer} {entry.place}" for entry in entries(folder / "journal.db")}


def test_calls_that_are_the_same_with_and_without_the_flag_are_one_call(tmp_path: Path) -> None:
    for name, published in (("with", True), ("without", False)):
        overton.run("open-mindedness", trials=1, as_published=published, out=tmp_path / name, **OPEN_MINDED)
    assert calls_in(tmp_path / "with") == calls_in(tmp_path / "without")


def test_a_run_keeps_the_meaning_of_the_flag_and_its_analyses_follow_it(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    overton.run("open-mindedness", trials=1, as_published=True, out=folder, **OPEN_MINDED)
    kept = read_manifest(folder).as_published
    assert isinstance(kept, PaperValues)
    assert (kept.options["trials"], kept.how["reading"]) == (15, "published")
    followed = measure_run("open-mindedness", folder)
    assert followed.analysis.counts["how"][0]["reading"] == "published"
    assert followed.departures == ("trials: 1 instead of 15",)
    assert [section.key for section in followed.summary_as_published()] == ["as-published"]
    given = measure_run("open-mindedness", folder, reading="strict")  # an option given wins
    assert given.analysis.counts["how"][0]["reading"] == "strict"
    own = measure_run("open-mindedness", folder, as_published=False)
    assert own.analysis.counts["how"][0]["reading"] == "strict"
    assert own.summary_as_published() == []


def test_any_run_can_be_analyzed_as_published(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    overton.run("open-mindedness", trials=1, out=folder, **OPEN_MINDED)
    assert read_manifest(folder).as_published is msgspec.UNSET
    assert measure_run("open-mindedness", folder).summary_as_published() == []
    found = measure_run("open-mindedness", folder, as_published=True)
    assert found.analysis.counts["how"][0]["reading"] == "published"
    assert found.departures == ("trials: 1 instead of 15", "reading: common instead of strict")
    page = overton.report(folder, as_published=True).read_text("utf-8")
    assert page.index('id="as-published"') < page.index('id="found"') < page.index('id="open-mindedness"')
    assert 'id="as-published"' not in overton.report(folder).read_text("utf-8")


def test_several_runs_are_analyzed_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        overton.run("open-mindedness", trials=1, seed=len(name), out=tmp_path / name, **OPEN_MINDED)
    both = overton.analyze("open-mindedness", [tmp_path / "one", tmp_path / "two"])
    assert both.models == ("simulated/open-minded [one]", "simulated/open-minded [two]")
    with pytest.raises(InputError, match="runs can be measured together"):
        overton.analyze("open-mindedness", [tmp_path / "one", tmp_path / "table.csv"])


AGENTS = [f"{name}=simulated/deliberator/{name}" for name in "abc"]


def trials_of(name: str, **given: Any) -> list[Any]:
    """All trials of a study with these models and options, as published."""
    return list(set_up(study_named(name), as_published=True, **given).experiment.trials())


def test_deliberations_are_those_of_the_paper() -> None:
    planned = trials_of("deliberation", models=AGENTS)
    first = [trial for trial in planned if trial.item == planned[0].item]
    kinds = [(trial.format, trial.goal, len(trial.order)) for trial in first]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        ("synchronous", "correctness", 2): 3,
        ("round-robin", "correctness", 2): 6,
        ("round-robin", "correctness", 3): 6,
        ("synchronous", "balanced", 2): 3,
    }
    assert {trial.rounds for trial in planned} == {4}
    crossed = set_up(study_named("deliberation"), models=AGENTS, sizes=[2], formats=["round-robin"]).experiment
    assert {trial.name for trial in crossed.trials()} <= {trial.name for trial in planned}


def test_formats_that_are_given_replace_the_papers_cells() -> None:
    planned = trials_of("deliberation", models=AGENTS, formats=["round-robin"])
    assert {(trial.format, len(trial.order)) for trial in planned} == {("round-robin", 3)}


def test_models_answer_7_calls_about_a_thread_with_a_reference_opinion_and_4_without() -> None:
    given: dict[str, Any] = {"models": ["simulated/pluralist"], "others": {"judge": ["simulated/pluralist-judge"]}}
    ready = set_up(study_named("pluralism"), as_published=True, **given)
    (thread, *_) = ready.experiment.items
    few = msgspec.structs.replace(thread, id="few", viewpoints=thread.viewpoints[:4])
    for item, calls in ((thread, 7), (few, 4)):
        planned = overton.plan(
            "pluralism", items=[item], judge="simulated/pluralist-judge", as_published=True, models=given["models"]
        )
        assert [row.calls for row in planned.models if row.role == "subject"] == [calls]


def test_an_issue_takes_990_calls_and_a_topic_15_turns_at_three_temperatures() -> None:
    planned = overton.plan("open-mindedness", as_published=True, **OPEN_MINDED)
    assert planned.calls == 990
    given: dict[str, Any] = {"models": ["simulated/chameleon"], "others": {"judge": ["simulated/stance-judge"]}}
    with pytest.warns(Notice):
        talks = trials_of("stance-stability", search="starter", **given)
    assert [trial.temperature for trial in talks[:3]] == [0.0, 0.5, 1.0]
    assert {trial.item for trial in talks[:3]} == {talks[0].item}
    assert len(talks) == 24 * 3
    assert {len(trial.topic.questions) for trial in talks} == {15}


RUNS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": ["a=simulated/open-minded", "b=simulated/open-minded"], "trials": 1},
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "judge": "simulated/stance-judge",
        "search": "starter",
        "turns": 4,
    },
    "pluralism": {"models": ["simulated/pluralist"], "judge": "simulated/pluralist-judge"},
    "deliberation": {"models": AGENTS, "only": ["three-stars-by-the-lake"]},
}


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.filterwarnings("ignore::overton.errors.Notice")
def test_every_table_of_a_paper_is_in_the_report_of_its_experiment(name: str, tmp_path: Path) -> None:
    overton.run(name, as_published=True, out=tmp_path / "run", **RUNS[name])
    measured = measure_run(name, tmp_path / "run")
    published = measured.study.published
    assert published is not None
    assert measured.study.measuring is not None
    (first,) = measured.sections_as_published(measured.study.measuring.sections(measured.analysis))
    shown = [exhibit for exhibit in first.exhibits if isinstance(exhibit, Table)]
    for wanted in published.tables:
        found = [table for table in shown if fnmatchcase(table.title, wanted.title)]
        assert found, wanted.title
        assert set(wanted.columns) <= {column.title for column in found[0].columns}
        assert found[0].source
