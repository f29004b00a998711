"""The commands of stance stability and of judges, in one process."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from click.testing import CliRunner, Result

from overton.cli.main import app
from overton.errors import InputError
from overton.runs.items import read_items, write_items
from overton.studies.stance_stability import STUDY

TOPIC = "nutrition-low-carbohydrate-first"
SMALL = ["--judge", "simulated/stance-judge", "--search", "starter", "--only", TOPIC, "--turns", "4"]


def overton(*words: str) -> Result:
    return CliRunner().invoke(app, words)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one topic at two temperatures."""
    out = tmp_path_factory.mktemp("runs") / "first"
    heats = ["--temperature", "0", "--temperature", "own"]
    done = overton("run", "stance-stability", "--model", "simulated/chameleon", *SMALL, *heats, "--out", str(out))
    assert done.exit_code == 0, done.output
    assert f"Report: {out}/report.html" in done.stdout.replace("\n", "")
    return out


def test_options_reach_the_run(run: Path, tmp_path: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_bytes())
    assert manifest["options"]["temperatures"] == [0.0, None]
    assert manifest["options"]["turns"] == 4
    assert [entry["spec"] for entry in manifest["models"]["pages"]] == ["starter"]
    out = tmp_path / "run"
    more = ["--ordering", "grouped", "--pages-per-turn", "2", "--judge-prompt", "both", "--temperature", "1"]
    more += ["--page-characters", "300", "--search-arg", "top=5", "--pages-arg", "connections=2"]
    words = ["--model", "simulated/chameleon", "--model-arg", "simulated/chameleon", "change=1"]
    assert overton("run", "stance-stability", *words, *SMALL, *more, "--out", str(out)).exit_code == 0
    records = pl.read_parquet(out / "records.parquet")
    assert records["ordering"].unique().to_list() == ["grouped"]
    assert records["retrieved"].list.len().max() == 2
    assert records["premise_stance"].null_count() == 0
    assert (records["stance"] != records["stance"].shift(1))[1:].all()
    models = json.loads((out / "manifest.json").read_bytes())["models"]
    assert models["search"][0]["arguments"] == [["top", "5"]]
    assert models["pages"][0]["arguments"] == [["connections", "2"]]


def test_a_plan_names_searches_and_pages_without_a_price() -> None:
    done = overton("plan", "stance-stability", "--model", "simulated/chameleon", *SMALL, "--temperature", "0", "--json")
    rows = {row["role"]: row for row in json.loads(done.stdout)["models"]}
    assert [(role, row["calls"]) for role, row in rows.items()] == [
        ("subject", 8),
        ("judge", 4),
        ("search", 4),
        ("pages", 12),
    ]
    assert rows["search"]["cost"] is None
    told = overton("plan", "stance-stability", "--model", "simulated/chameleon", *SMALL)
    assert "Each search and page is counted once" in told.stderr


def test_an_analysis_is_json_or_a_table(run: Path) -> None:
    found = json.loads(overton("analyze", "stance-stability", str(run), "--json", "--no-change", "mean").stdout)
    talks, (rules,) = found["tables"]["conversations"], found["tables"]["rules"]
    assert {talk["conversation"] for talk in talks} == {f"{TOPIC}/t0/fixed/r1", f"{TOPIC}/town/fixed/r1"}
    assert {"stance_changes", "change_rate", "confidence_at_changes", "source_reuse", "chameleon"} <= talks[0].keys()
    assert rules["no_change"] == "mean"
    shown = overton("analyze", "stance-stability", str(run)).stdout
    assert "simulated/chameleon" in shown
    assert "8 turns in 2 conversations" in shown


def test_a_run_of_another_study_is_refused(run: Path) -> None:
    with pytest.raises(InputError, match="is a run of stance-stability, not of deliberation"):
        CliRunner().invoke(app, ["analyze", "deliberation", str(run)], catch_exceptions=False)


def test_transcripts_are_labelled_measured_and_reported(tmp_path: Path) -> None:
    table, lines, out = tmp_path / "talks.csv", tmp_path / "lines.txt", tmp_path / "judged"
    stated = ["My stance: supportive, clearly.", "My stance: critical, likely.", "nothing"]
    turns = {"conversation": "a", "turn": [1, 2, 3], "question": "Why?", "answer": stated}
    pl.DataFrame(turns).write_csv(table)
    lines.write_text("Buses should be free.\n")
    words = [str(table), "--judge", "simulated/stance-judge", "--propositions", str(lines), "--out", str(out)]
    done = overton("judge", "stance-stability", *words)
    assert done.exit_code == 0, done.output
    records = pl.read_parquet(out / "records.parquet")
    assert records["stance"].to_list() == ["supportive", "critical", "unclear"]
    assert set(records["proposition"]) == {"Buses should be free."}
    page = (out / "report.html").read_text()
    assert "Stance stability of transcripts" in page
    assert "is simulated and does not understand texts" in page
    found = json.loads(overton("analyze", "stance-stability", str(out), "--json").stdout)
    (talk,) = found["tables"]["conversations"]
    assert (talk["conversation"], talk["model"], talk["stance_changes"]) == ("a", "not named", 1)


def test_a_run_is_judged_again_towards_its_own_propositions(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    words = ["--judge", "simulated/stance-judge", "--out", str(out)]
    assert overton("judge", "stance-stability", str(run), *words).exit_code == 0
    first, again = (pl.read_parquet(folder / "records.parquet") for folder in (run, out))
    key = ["temperature", "turn"]
    assert again.sort(key)["stance"].to_list() == first.sort(key)["stance"].to_list()
    assert all(again["proposition"])
    assert set(again["model"]) == {"simulated/chameleon"}


def test_a_sheet_is_drawn_and_read_back_into_the_report(run: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    drawn = overton("judge", "sample", str(run), "--size", "6", "--seed", "3", "--out", str(sheet))
    assert drawn.stdout.strip() == str(sheet)
    empty = overton("judge", "agreement", str(sheet), "--run", str(run))
    assert "There are no labels yet, so nothing was stored." in empty.stderr
    assert not (run / "labels").exists()
    fill(sheet)
    found = json.loads(overton("judge", "agreement", str(sheet), "--run", str(run), "--json").stdout)
    assert (found["study"], found["schema"], found["level"]) == ("stance-stability", 1, 0.95)
    assert (found["people"]["judge"]["same"]["plain"]["estimate"], found["people"]["asked"]) == (1.0, 6)
    assert overton("report", str(run)).exit_code == 0
    page = (run / "report.html").read_text()
    assert "People labelled 6 of the judged units (stance) and agreed with the judge on 100%" in page
    assert "There are too few human labels of stance (6) to correct numbers" in page


def fill(sheet: Path) -> None:
    """Fill a sheet in as somebody who agrees with the judge everywhere."""
    labels = [row["judged"] for row in json.loads(sheet.with_suffix(".key.json").read_bytes())["rows"]]
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "person": label} for row, label in zip(rows, labels, strict=True))


def test_topics_are_checked_by_the_published_rules_or_by_none(tmp_path: Path) -> None:
    topic = read_items(STUDY)[0]
    file = write_items(STUDY, [msgspec.structs.replace(topic, questions=topic.questions[:3])], tmp_path / "mine.jsonl")
    checked = overton("items", "check", "stance-stability", str(file))
    assert checked.exit_code == 2
    assert "fifteen" in checked.stdout or "15" in checked.stdout
    assert overton("items", "check", "stance-stability", str(file), "--any-questions").exit_code == 0
    words = ["--model", "simulated/chameleon", "--judge", "simulated/stance-judge", "--search", "starter"]
    out = ["--topics", str(file), "--temperature", "0", "--out", str(tmp_path / "run")]
    with pytest.raises(InputError):
        CliRunner().invoke(app, ["run", "stance-stability", *words, *out], catch_exceptions=False)
    assert overton("run", "stance-stability", *words, *out, "--any-questions").exit_code == 0
    assert pl.read_parquet(tmp_path / "run" / "records.parquet").height == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--temperature", "warm"], "--temperature: warm: must be a number, or own"),
        (["--search-arg", "top"], "--search-arg: top: must be KEY=VALUE"),
        (["--pages-per-turn", "0"], "--pages-per-turn: 0"),
        (["--judge-prompt", "mine"], "--judge-prompt: mine: must be one of topic, published, both"),
        (["--pages", "nowhere"], "--pages: nowhere"),
    ],
)
def test_invalid_options_are_refused(words: list[str], said: str, tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    asked: list[Any] = ["run", "stance-stability", "--model", "simulated/chameleon", *SMALL, *words, *out]
    with pytest.raises(InputError) as refused:
        CliRunner().invoke(app, asked, catch_exceptions=False)
    assert said in str(refused.value)
    assert not (tmp_path / "run").exists()
