"""A table from elsewhere, judged: sheets, agreement, corrected shares, comparison, second labels and controls."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import pytest
from benchmarks.judged_texts import QUESTION, simulated
from benchmarks.letters import letters
from click.testing import CliRunner

import overton
from overton.analysis.results import results_of
from overton.cli.main import app
from overton.errors import InputError, OvertonError
from overton.judging.label_tasks import AnnotatorLabels, LabelTask
from overton.runs.run import Run, open_run

TABLE, JUDGE = QUESTION.parent / "letters.csv", "simulated/word-judge"
KNOWN = {letter.id: letter.known for letter in letters()}
LABELS = ("supports", "opposes", "neither")


def cli(*words: object) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run over the letters, by a judge that errs in 15%."""
    out = tmp_path_factory.mktemp("table") / "run"
    words = ("--question", QUESTION, "--judge", JUDGE, "--model-arg", JUDGE, "errs=0.15", "--out", out)
    cli("judge", "table", TABLE, *words)
    return open_run(out)


def labelled(run: Run, folder: Path, **draw: Any) -> Path:
    """The file of a person who knows every letter, for a draw of the run's."""
    overton.judge.draw_labels(run.path, folder, people=1, **draw)
    task = msgspec.json.decode((folder / "task.json").read_bytes(), type=LabelTask)
    file = folder / "ada.json"
    said = AnnotatorLabels(task.name, 1, "ada", {number: KNOWN[row.id] for number, row in enumerate(task.rows)})
    file.write_bytes(msgspec.json.encode(said))
    return file


@pytest.fixture
def copy(judged: Run, tmp_path: Path) -> Run:
    copytree(judged.path, tmp_path / "run")
    return open_run(tmp_path / "run")


def test_a_run_of_a_table_has_a_record_for_each_text(judged: Run) -> None:
    records = judged.records()
    assert records["text"].to_list() == list(KNOWN)
    assert judged.manifest.spent.requests == 200 + records["judged_again"].sum()
    wrong = sum(label != KNOWN[text] for text, label in records.select("text", "label").rows())
    assert 20 <= wrong <= 40


def test_a_plan_asks_nothing_and_knows_the_calls(tmp_path: Path) -> None:
    said = cli("plan", "table", TABLE, "--question", QUESTION, "--judge", JUDGE, "--retest", "0", "--json")
    assert json.loads(said.stdout)["calls"] == 200
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("table", ["id\na\n", "text,proposal\n,P.\n"])
def test_a_table_with_a_fault_makes_no_folder(tmp_path: Path, table: str) -> None:
    path = tmp_path / "letters.csv"
    path.write_text(table)
    with pytest.raises(InputError, match=r"letters.csv: "):
        overton.judge.table(path, question=QUESTION, judge=JUDGE, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_limit_stops_a_run_that_then_goes_on(tmp_path: Path) -> None:
    run = overton.judge.table(TABLE, question=QUESTION, judge=JUDGE, retest=0, max_calls=30, out=tmp_path / "run")
    assert (run.finished, run.manifest.spent.requests) == (False, 30)
    run = overton.resume(run.path, max_calls=1_000)
    assert (run.finished, run.manifest.spent.requests) == (True, 200)


def test_more_second_labels_are_added_and_first_ones_kept(copy: Run) -> None:
    before = copy.records().sort("trial")
    after = overton.extend(copy.path, retest=0.5).records().sort("trial")
    assert after["label"].equals(before["label"])
    assert 70 <= after["judged_again"].sum() <= 130
    agreement = overton.analyze("table", copy.path).self_agreement["label"]
    assert agreement.repeated == after["judged_again"].sum()


def test_a_run_keeps_its_question(copy: Run, tmp_path: Path) -> None:
    assert copy.manifest.options["question"]["asks"].startswith("Where does the letter stand on the proposal?")
    manifest = json.loads((copy.path / "manifest.json").read_text())
    manifest["options"]["question"]["labels"] = {"supports": "It welcomes it."}
    (copy.path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(OvertonError, match="must be 2 to 30"):
        open_run(copy.path)


@pytest.mark.parametrize("whole", [False, True])
def test_labels_of_single_texts_and_of_whole_groups_correct_shares(copy: Run, tmp_path: Path, *, whole: bool) -> None:
    file = labelled(copy, tmp_path / "labels", size=120, whole=whole)
    shares = overton.judge.agreement(file, run=copy.path).shares
    assert shares is not None
    assert (shares.what, shares.why, shares.units) == ("label", "", 200)
    for label in LABELS:
        found, truth = shares.shares[label], list(KNOWN.values()).count(label) / 200
        assert found.leads == "corrected"
        assert found.corrected.low <= truth <= found.corrected.high
    assert set(shares.models) == {"writer-a", "writer-b"}
    analysis = overton.analyze("table", copy.path)
    number = analysis.estimate("share_supports", model="writer-a", condition="long")
    assert number.leads == "corrected"
    measures = shares.measures
    assert measures is not None
    assert number.value == measures.groups["writer-a / long"]["share_supports"].corrected.value


def test_corrected_shares_may_describe_exactly_these_texts(copy: Run, tmp_path: Path) -> None:
    overton.judge.agreement(labelled(copy, tmp_path / "labels", size=60), run=copy.path)
    like, these = (
        json.loads(cli("analyze", "table", copy.path, "--json", *more).stdout)["labels"]["label"]["shares"]["supports"]
        for more in ((), ("--population", "these"))
    )
    assert like["plain"] == these["plain"]
    assert like["corrected"]["estimate"] == these["corrected"]["estimate"]
    assert these["corrected"]["method"] == "prediction-powered, for exactly these units"
    widths = [
        corrected["corrected"]["interval"][1] - corrected["corrected"]["interval"][0] for corrected in (these, like)
    ]
    assert widths[0] < 0.9 * widths[1]


def test_models_are_compared_with_corrected_numbers(copy: Run, tmp_path: Path) -> None:
    overton.judge.agreement(labelled(copy, tmp_path / "labels", size=120), run=copy.path)
    rows = json.loads(cli("compare", copy.path, "--json").stdout)["rows"]
    leading = {row["measure"]: row["variant"] for row in rows if row["verdict"]}
    assert set(leading) == {f"share_{label}_{condition}" for label in LABELS for condition in ("short", "long")}
    assert leading["share_supports_long"] == "corrected"


def test_a_share_in_a_condition_can_be_gated(judged: Run, tmp_path: Path) -> None:
    cli("baseline", judged.path, "--out", tmp_path / "base.json")
    (tmp_path / "gate.toml").write_text('[[guard]]\nmeasure = "share_supports_long"\nmargin = 0.5\n')
    candidate = f"{judged.path}#writer-a"
    (found,) = json.loads(
        cli("gate", tmp_path / "base.json", candidate, "--config", tmp_path / "gate.toml", "--json").stdout
    )["checks"]
    assert (found["measure"], found["outcome"]) == ("share_supports_long", "within")


def test_a_sheet_shows_the_texts_that_the_judge_saw(judged: Run, tmp_path: Path) -> None:
    overton.judge.sample(judged.path, tmp_path / "sheet.csv", size=10)
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "proposal", "text", "person", "sheet"]
    assert {row["text"] for row in rows} <= {letter.text for letter in letters()}


def test_a_judge_is_asked_again_in_the_runs_words(judged: Run, tmp_path: Path) -> None:
    done = overton.judge.again(judged.path, judge=JUDGE, size=40, out=tmp_path / "again")
    (steady,) = overton.analyze("again-table", done.path).steady
    assert (steady.what, steady.rows) == ("label", 40)
    assert set(steady.shares) == set(LABELS)


def test_controls_are_those_of_the_question(copy: Run, tmp_path: Path) -> None:
    done = overton.judge.controls(copy.path, judge=JUDGE, out=tmp_path / "tried")
    (tried,) = overton.analyze("controls-table", done.path).tried
    assert (tried.controls, tried.right.value, tried.fails) == (3, 1.0, False)
    with pytest.raises(InputError, match="each run of this study has its own question"):
        overton.judge.controls("table", judge=JUDGE)


def test_controls_of_a_named_question_are_those_of_its_study(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_text("prompt,answer\nDo it.,Done as asked.\n")
    run = overton.judge.table(path, question="even-handedness/compliance", judge=JUDGE, out=tmp_path / "run")
    assert overton.judge.plan_controls(run.path).trials == 8
    question = {"key": "k", "asks": "Which?", "prompt": "{prompt} {answer} {labels}", "labels": {"a": "m", "b": "n"}}
    bare = overton.judge.table(path, question=question, judge=JUDGE, out=tmp_path / "bare")
    with pytest.raises(InputError, match="the run's question has no control texts"):
        overton.judge.plan_controls(bare.path)


def test_corrected_shares_cover_the_known_ones(judged: Run) -> None:
    """A small version of benchmarks/judged_texts.py: 200 draws of 60 labels."""
    cell = simulated(results_of([judged]), these=True, design="plain", labels=60, draws=200)
    assert cell.made == 600
    assert 93 <= cell.coverage <= 97
    assert cell.ratio <= 0.9
