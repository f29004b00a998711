"""Records with repeated rows are refused, and finished trials without rows announced, by all that reads records."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import polars as pl
import pytest
from tests.stored_runs import RUNS, unpack

import overton
from overton.errors import InputError, Notice
from overton.judging.label_tasks import AnnotatorLabels, LabelTask

FREE = "open-mindedness-free-answers"
STUDIES = ("open-mindedness", "stance-stability", "pluralism", "deliberation", "even-handedness")
GUARD = '[[guard]]\nmeasure = "open_mindedness"\nmargin = 50\n'
Change = Callable[[pl.DataFrame], pl.DataFrame]
CommandLine = Callable[..., subprocess.CompletedProcess[str]]


def change_records(run: Path, change: Change) -> None:
    file = run / "records.parquet"
    change(pl.read_parquet(file)).write_parquet(file)


def with_first_rows_again(records: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([records, records.head(4)])


def without_first_rows(records: pl.DataFrame) -> pl.DataFrame:
    return records.slice(4)


COMMANDS: dict[str, Sequence[str]] = {
    "report": ("report", FREE, "--out", "report.html"),
    "analyze": ("analyze", "open-mindedness", FREE),
    "analyze in JSON": ("analyze", "open-mindedness", FREE, "--json"),
    "compare": ("compare", FREE),
    "profile": ("profile", FREE),
    "baseline": ("baseline", f"{FREE}#careful", "--out", "made.json"),
    "gate": ("gate", "base.json", f"{FREE}#swayed", "--config", "gate.toml"),
    "plan with a pilot": ("plan", "open-mindedness", "--model", "simulated/open-minded", "--pilot", f"{FREE}#careful",
                          "--precision", "open_mindedness=9", "--trials", "3"),
    "judge sample on a sheet": ("judge", "sample", FREE, "--out", "sheet.csv"),
    "judge sample on pages": ("judge", "sample", FREE, "--people", "1", "--out", "pages"),
    "judge agreement": ("judge", "agreement", "task/person.json", "--run", FREE),
    "judge again": ("judge", "again", FREE, "--out", "again"),
    "judge controls": ("judge", "controls", FREE, "--out", "controls"),
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A stored run, a gate with a baseline of it, and what a person said about a sample of it."""
    made = unpack(FREE, tmp_path)
    overton.baseline(f"{made}#careful", out=tmp_path / "base.json")
    (tmp_path / "gate.toml").write_text(GUARD)
    overton.judge.draw_labels(made, tmp_path / "task", people=1, size=40)
    task = msgspec.json.decode((tmp_path / "task" / "task.json").read_bytes(), type=LabelTask)
    said = AnnotatorLabels(task.name, 1, "person", {place: row.judged for place, row in enumerate(task.rows)})
    (tmp_path / "task" / "person.json").write_bytes(msgspec.json.encode(said))
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_reads_repeated_rows_ends_with_code_2(
    command: str, run: Path, tmp_path: Path, command_line: CommandLine
) -> None:
    change_records(run, with_first_rows_again)
    done = command_line(*COMMANDS[command], folder=tmp_path)
    assert done.returncode == 2, done.stderr
    first = done.stderr.splitlines()[0]
    assert "records.parquet: has 4 rows too many, so numbers would count" in first
    assert "cashless-shops/baseline/w0/t1/r1 of careful (row 1 and row 865)" in first
    assert done.stdout == ""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_reads_records_says_which_trials_have_no_rows(
    command: str, run: Path, tmp_path: Path, command_line: CommandLine
) -> None:
    change_records(run, without_first_rows)
    with pytest.warns(Notice, match=r"2 of 432 trials that the run finished have no rows.*: cashless-shops") as told:
        command_line(*COMMANDS[command], folder=tmp_path)
    assert "overton resume" in str(told[0].message)


def test_the_first_line_names_the_trials_without_rows(run: Path, tmp_path: Path) -> None:
    change_records(run, without_first_rows)
    words = [sys.executable, "-P", "-c", "from overton.cli import main; main()", *COMMANDS["report"]]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    told = [line for line in done.stderr.splitlines() if "no rows" in line]
    assert told == done.stderr.splitlines()[:1]


def test_resuming_writes_repeated_and_lost_rows_again_without_a_call(run: Path) -> None:
    whole = pl.read_parquet(run / "records.parquet")
    for change in (with_first_rows_again, without_first_rows):
        change_records(run, change)
        with warnings.catch_warnings():
            warnings.simplefilter("error", Notice)
            assert overton.resume(run).records().equals(whole)


@pytest.mark.parametrize("name", RUNS)
def test_records_as_they_were_written_are_read_without_a_word(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error", Notice)
        assert overton.open_run(run).records().height


@pytest.mark.parametrize("name", RUNS)
def test_one_repeated_row_of_any_study_is_refused(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    change_records(run, lambda records: pl.concat([records, records.tail(1)]))
    with pytest.raises(InputError, match=r"has 1 row too many, so numbers would count 1 trial more than once"):
        overton.open_run(run).records()


@pytest.mark.parametrize("name", [name for name in RUNS if "defaults" in name or "free" in name or "stopped" in name])
def test_a_repeated_trial_is_refused_though_its_reply_differs(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    texts = {"open-mindedness": "answer", "stance-stability": "answer", "deliberation": "explanation"}
    column = texts.get(RUNS[name].study, "topic" if RUNS[name].study == "even-handedness" else "community")
    change_records(run, lambda one: pl.concat([one, one.head(1).with_columns(pl.lit("another").alias(column))]))
    with pytest.raises(InputError, match="1 row too many"):
        overton.open_run(run).records()


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if "max_calls" in run.options])
def test_lost_trials_of_a_stopped_run_are_distinguished_from_unfinished_ones(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    study, records = RUNS[name].study, pl.read_parquet(run / "records.parquet")
    column = {"stance-stability": "conversation", "deliberation": "deliberation"}.get(study, "trial")
    lost = records[column][0]
    whose = [] if study == "deliberation" else ["model"]
    finished = records.select(column, *whose).n_unique()
    gone = (pl.col(column) == lost) & (pl.col("model") == records["model"][0] if whose else pl.lit(True))
    change_records(run, lambda one: one.filter(~gone))
    expected = f"1 of {finished} trials that the run finished have no rows, so all numbers leave them out: {lost}"
    with pytest.warns(Notice) as told:
        overton.open_run(run).records()
    assert expected in str(told[0].message)


@pytest.mark.parametrize("name", [name for name, run in RUNS.items() if "precision" in run.options])
def test_trials_lost_from_a_run_with_a_target_precision_are_counted(name: str, tmp_path: Path) -> None:
    run = unpack(name, tmp_path)
    column = {"stance-stability": "conversation", "deliberation": "deliberation"}.get(RUNS[name].study, "trial")
    change_records(run, lambda one: one.filter(pl.col(column) != one[column][0]))
    with pytest.warns(
        Notice, match=r"1 of \d+ trials that the run finished have no rows, so all numbers leave them out; to"
    ):
        overton.open_run(run).records()


def _flat(records: pl.DataFrame) -> pl.DataFrame:
    """The columns that a CSV can have."""
    return records.select(name for name, kind in records.schema.items() if not kind.is_nested())


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
@pytest.mark.parametrize("study", STUDIES)
def test_repeated_rows_of_a_table_are_refused(study: str, suffix: str, tmp_path: Path) -> None:
    if study == "pluralism" and suffix != ".parquet":
        pytest.skip("records of pluralism are read from .parquet only")
    records = with_first_rows_again(pl.read_parquet(unpack(f"{study}-defaults", tmp_path) / "records.parquet"))
    table = tmp_path / f"records{suffix}"
    if suffix == ".csv":
        _flat(records).write_csv(table)
    elif suffix == ".jsonl":
        records.write_ndjson(table)
    else:
        records.write_parquet(table)
    first = "line 2" if suffix == ".csv" else "row 1"
    for read in (lambda: overton.analyze(study, table), lambda: overton.compare(table, study=study)):
        with pytest.raises(InputError, match=rf"has 4 rows too many.*\({first} and .*; remove the repeated rows"):
            read()


def test_trials_numbered_separately_for_each_issue_are_not_taken_for_repeats(tmp_path: Path) -> None:
    rows = [
        {"model": "m", "issue": issue, "condition": condition, "trial": trial, "stance": "pro" if trial else "con"}
        for issue in ("a", "b", "c")
        for condition in ("baseline", "one-sided-pro", "one-sided-con", "balanced")
        for trial in range(3)
    ]
    table = tmp_path / "made-elsewhere.csv"
    pl.DataFrame(rows).with_columns(answers=pl.lit("forced")).write_csv(table)
    overton.analyze("open-mindedness", table)
