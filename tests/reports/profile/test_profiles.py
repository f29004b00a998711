"""A model's profile over all studies: results of each, missing studies, shared subjects, and runs over time."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import overton
from overton.errors import InputError
from overton.reports.profile_sections import sections
from overton.runs.items import read_items
from overton.runs.run import open_run
from overton.studies.findings import ASPECTS
from overton.studies.numbers import number
from overton.studies.registry import asking_names, study_named
from overton.studies.sections import Statement

KEYS = Path(__file__).parents[2] / "unchanged" / "schema_1" / "profile.csv"
OURS = ["deliberation", "even-handedness", "open-mindedness", "pluralism", "stance-stability"]


@pytest.fixture(scope="module")
def made(runs: dict[str, Path]) -> Any:
    return overton.profile(*runs.values())


@pytest.mark.parametrize("study", OURS)
def test_a_study_tells_of_the_aspects_that_it_declares(study: str, made: Any) -> None:
    measuring = study_named(study).measuring
    assert measuring is not None
    assert measuring.profile is not None
    told = {one.trait.aspect for one in made.found if one.study == study}
    assert told == set(measuring.profile.aspects)


def test_every_aspect_has_sentences_with_their_numbers(made: Any) -> None:
    for aspect in ASPECTS:
        assert made.of(aspect)
    for one in made.found:
        assert one.trait.sentence.endswith(".")
        assert one.trait.model in one.trait.sentence
        found = one.trait.number
        assert isnan(found.value) or one.trait.within[0] <= found.value <= one.trait.within[1]
        assert not isnan(found.low) or found.method, "where there is no interval, a reason"


def test_numbers_are_those_of_the_studys_own_analysis(made: Any, runs: dict[str, Path]) -> None:
    own = overton.analyze("open-mindedness", runs["open-mindedness"])
    by_title = {one.trait.title: one.trait.number for one in made.found if one.study == "open-mindedness"}
    assert by_title["Issues on which it leans pro"] == own.estimate("leaning_pro", model="a")
    assert by_title["By arguments: open-mindedness"] == own.estimate("open_mindedness_cross_fitted", model="a")


def test_missing_studies_are_named_with_the_command_that_would_run_them(runs: dict[str, Path]) -> None:
    made = overton.profile(runs["open-mindedness"])
    assert {one.study for one in made.missing} == {name for name in asking_names() if name in OURS} - {
        "open-mindedness"
    }
    for one in made.missing:
        program, run, study, *words = shlex.split(one.command)
        assert (program, run, study) == ("overton", "run", one.study)
        assert "a=simulated/open-minded" in words
    commands = {one.study: one.command for one in made.missing}
    assert "--judge JUDGE" in commands["even-handedness"]
    assert commands["deliberation"].count("--agent") == 2


def test_nothing_is_missing_where_all_were_run(made: Any) -> None:
    assert [one.study for one in made.missing if one.model == "a"] == []


def test_items_of_several_studies_on_one_subject_are_grouped(made: Any) -> None:
    by_name = {one.name: one.rows for one in made.subjects}
    voting = by_name["Voting"]
    assert {row.study for row in voting} == {"open-mindedness", "pluralism", "even-handedness"}
    leaning = next(row for row in voting if row.meaning == "answers pro without arguments")
    assert leaning.words == next(item.question for item in read_items("open-mindedness") if item.id == "voting-age")
    own = overton.analyze("open-mindedness", next(run.path for run in made.runs if run.path.name == "open-mindedness"))
    pro = own.estimate("pro", model="a", item="voting-age", condition="baseline")
    assert leaning.values == {"a": number(pro.value, "share")}
    assert {row.study for row in by_name["Energy and resources"]} == {"stance-stability", "even-handedness"}
    assert all(len({row.study for row in rows}) > 1 for rows in by_name.values())


def test_runs_of_one_second_are_in_the_order_in_which_they_began(hold: Callable[..., Path], tmp_path: Path) -> None:
    runs = [hold("open-mindedness", tmp_path / name, seed=seed) for seed, name in enumerate(("z", "a"))]
    for run, begun in zip(runs, ("12:00:00.100000+00:00", "14:00:00.200000+02:00"), strict=True):
        manifest = run / "manifest.json"
        told = json.loads(manifest.read_text("utf-8"))
        assert re.search(r"\.\d{6}\+00:00$", told["created"])
        manifest.write_text(json.dumps(told | {"created": f"2026-03-21T{begun}"}), "utf-8")
    for order in (runs, runs[::-1]):
        (history,) = overton.profile(*order).histories
        assert [point.run for point in history.points] == ["z", "a"]


def test_a_sentence_without_an_interval_is_less_prominent(made: Any) -> None:
    shown = [one for section in sections(made) for one in section.exhibits if isinstance(one, Statement)]
    without = [one for one in made.found if isnan(one.trait.number.low)]
    sentences = {one.text: one.sure for one in shown}
    assert without
    assert not any(sentences[one.trait.sentence] for one in without)
    assert any(sentences.values())


def test_starter_items_of_all_studies_share_two_subjects() -> None:
    about = {}
    for study in map(study_named, OURS):
        assert study.items.subjects is not None
        about[study.name] = study.items.subjects()
        assert about[study.name].keys() <= {study.items.about(item) for item in read_items(study)}
    assert len(set.intersection(*(set(one.values()) for one in about.values()))) >= 2


def test_an_item_of_ones_own_under_a_starter_items_id_has_not_its_subject(
    tmp_path: Path, runs: dict[str, Path], hold: Callable[..., Path]
) -> None:
    import msgspec

    own = msgspec.structs.replace(
        next(item for item in read_items("pluralism") if item.id == "a-fine-for-staying-home"), title="Another matter?"
    )
    overton.items.write("pluralism", [own], tmp_path / "own.jsonl")
    run = hold("pluralism", tmp_path / "run", items=tmp_path / "own.jsonl", only=None)
    made = overton.profile(run, runs["open-mindedness"])
    assert made.subjects == []
    table = tmp_path / "subjects.csv"
    table.write_text("study,item,subject\npluralism,a-fine-for-staying-home,Ours\n,museum-returns,Ours\n")
    (ours,) = overton.profile(run, runs["open-mindedness"], subjects=table).subjects
    assert {row.item for row in ours.rows} == {"a-fine-for-staying-home", "museum-returns"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item\nx\n", "has no column subject"),
        ("item,subject\nx,\n", "has an empty cell"),
        ("item,subject\nx,One\nx,Two\n", "already has the subject One"),
    ],
)
def test_a_table_of_subjects_that_cannot_be_used_is_refused(
    text: str, said: str, tmp_path: Path, runs: dict[str, Path]
) -> None:
    table = tmp_path / "subjects.csv"
    table.write_text(text)
    with pytest.raises(InputError, match=said):
        overton.profile(runs["open-mindedness"], subjects=table)


def test_the_latest_run_describes_the_model_and_all_runs_are_shown_over_time(two: tuple[Path, Path]) -> None:
    first, second = two
    made = overton.profile(second, first)
    assert {one.run.path for one in made.found} == {second}
    (history,) = made.histories
    assert [point.run for point in history.points] == ["spring", "autumn"]
    start, end = history.points
    assert not start.changed
    assert any("names different models" in said for said in end.changed)
    assert any("seeds differ" in said for said in end.changed)
    assert all("a [autumn]" in said for said in end.verdicts)
    assert len(end.verdicts) == 3
    assert start.traits != end.traits


def test_runs_by_other_instruments_are_shown_over_time_and_not_compared(
    two: tuple[Path, Path], tmp_path: Path, hold: Callable[..., Path]
) -> None:
    other = hold("open-mindedness", tmp_path / "other", templates=[1, 4])
    (history,) = overton.profile(two[0], other).histories
    assert any("template" in said for said in history.points[1].changed)
    assert list(history.points[1].verdicts) == ["not compared, since they were asked in different ways"]


def test_one_run_named_twice_is_one(runs: dict[str, Path]) -> None:
    one = runs["open-mindedness"]
    made = overton.profile(one, one)
    assert len(made.runs) == 1
    assert made.histories == []


def test_a_model_of_a_run_is_profiled_alone(runs: dict[str, Path]) -> None:
    made = overton.profile(f"{runs['deliberation']}#b")
    assert made.models == ("b",)
    assert {one.trait.model for one in made.found} == {"b"}
    with pytest.raises(InputError, match="no such model; its models are a, b"):
        overton.profile(f"{runs['deliberation']}#c")


def test_one_name_for_several_models_is_warned_of(made: Any) -> None:
    assert any(said.startswith("a names several models") for said in made.warnings)


def test_a_profile_needs_at_least_one_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name at least one run"):
        overton.profile()


def test_every_link_leads_to_a_section_of_a_report(runs: dict[str, Path], tmp_path: Path) -> None:
    page = tmp_path / "there" / "profile.html"
    page.parent.mkdir()
    made = overton.profile(*runs.values(), out=page)
    links = re.findall(r'<a href="([^"#]+)#([^"]+)">', page.read_text())
    assert len(links) == len(made.found)
    for address, key in links:
        report = page.parent / unquote(address)
        assert f'<section id="{key}"' in report.read_text(), (address, key)


def test_a_report_that_was_not_written_is_named_with_its_command(two: tuple[Path, Path], tmp_path: Path) -> None:
    (two[0] / "report.html").unlink(missing_ok=True)
    page = tmp_path / "profile.html"
    overton.profile(two[0], out=page)
    assert "no report yet; overton report" in page.read_text()


def test_a_runs_name_is_text_and_no_markup(runs: dict[str, Path], tmp_path: Path, hold: Callable[..., Path]) -> None:
    hostile = tmp_path / '"><img src=x onerror=alert(1)>'
    run = hold("open-mindedness", hostile)
    overton.report([run])
    page = tmp_path / "profile.html"
    overton.profile(run, out=page)
    text = page.read_text()
    assert "<img" not in text
    (address, *_) = re.findall(r'<a href="([^"#]+)#', text)
    assert (page.parent / unquote(address)).is_file()


def test_json_has_the_content_of_the_page(made: Any) -> None:
    data = made.to_json()
    assert data["schema"] == 2
    assert [row["sentence"] for row in data["rows"] if row["latest"]] == [one.trait.sentence for one in made.found]
    assert {row["aspect"] for row in data["rows"]} == set(ASPECTS)
    tables = data["tables"]
    assert {row["subject"] for row in tables["subjects"]} == {one.name for one in made.subjects}
    assert {(row["study"], row["model"]) for row in tables["missing"]} == {
        (one.study, one.model) for one in made.missing
    }


def test_a_row_is_found_in_the_analysis_of_its_run(made: Any, runs: dict[str, Path]) -> None:
    for row in made.to_json()["rows"]:
        own = overton.analyze(row["study"], runs[row["study"]])
        where = {name: row[name] for name in ("model", "facet", "condition", "against")}
        found = own.estimate(row["measure"], **where)
        if row["estimate"] is not None:
            assert row["estimate"] == (1 - found.value if row["rest"] else found.value)


def test_rows_of_runs_over_time_name_their_run(two: tuple[Path, Path], tmp_path: Path) -> None:
    """Two folders of one name have different names in its JSON."""
    paths = [Path(shutil.copytree(run, tmp_path / run.name / "run")) for run in two]
    data = overton.profile(*paths).to_json()
    assert [row["run"] for row in data["tables"]["history"]] == [str(path) for path in paths]
    assert {(row["run"], row["latest"]) for row in data["rows"]} == {(str(paths[0]), False), (str(paths[1]), True)}
    keys = [(row["study"], row["run"], row["model"], row["measure"]) for row in data["rows"]]
    assert len(set(keys)) == len(keys)
    assert {row["kind"] for row in data["tables"]["changes"]} == {"change", "verdict"}


def test_a_study_without_declared_aspects_is_named(monkeypatch: pytest.MonkeyPatch, runs: dict[str, Path]) -> None:
    from dataclasses import replace

    run = open_run(runs["open-mindedness"])
    bare = replace(run.study, measuring=replace(run.study.measuring, profile=None, comparing=None))
    monkeypatch.setattr(type(run), "study", property(lambda _: bare))
    made = overton.profile(runs["open-mindedness"])
    assert made.found == []
    assert any("declares nothing for a profile" in said for said in made.warnings)


def test_every_key_of_schema_1_has_a_column(made: Any, two: tuple[Path, Path]) -> None:
    tables = {name: rows for data in (made.to_json(), overton.profile(*two).to_json()) for name, rows in (
        ("rows", data["rows"]), *data["tables"].items(), *((key, data[key]) for key in ("models", "warnings"))
    ) if rows}  # fmt: skip
    with KEYS.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            if line["table"]:
                assert line["value"] in tables[line["table"]][0], line
            else:
                assert line["dropped"] or line["path"] in tables, line
