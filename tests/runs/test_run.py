"""A run folder as one object."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError, RunMismatch, UnreadableRun
from overton.reports.opening import warnings_of
from overton.runs.run import check_unchanged, open_run
from overton.studies.open_mindedness import STUDY

GIVEN = {"models": ["simulated/open-minded"], "trials": 1, "only": ["voting-age"], "templates": [1]}


@pytest.fixture
def stopped(tmp_path: Path) -> overton.Run:
    run = overton.run("open-mindedness", out=tmp_path / "run", max_calls=3, **GIVEN)
    assert not run.finished
    return run


def test_a_run_is_read_from_its_path(stopped: overton.Run) -> None:
    again = overton.Run(str(stopped.path))
    assert again.path == stopped.path
    assert again.study is stopped.study
    assert again.options == stopped.options
    assert again.items() == stopped.items()
    assert [trial.name for trial in again.experiment.trials()] == [trial.name for trial in stopped.experiment.trials()]


def test_a_session_is_recorded_in_the_run_object_that_held_it(stopped: overton.Run) -> None:
    assert stopped.held_session
    done = overton.resume(stopped, max_calls=99)
    assert done.held_session
    assert done.finished
    assert not stopped.finished  # as its own session left it
    assert overton.resume(stopped).finished  # a run is opened again, as its folder is now
    assert not overton.resume(stopped).held_session


def test_an_extended_run_asks_the_added_trials(stopped: overton.Run) -> None:
    grown = overton.extend(stopped, trials=2, max_calls=99)
    assert grown.finished
    assert grown.options.trials == overton.open_run(grown).options.trials == 2


def test_items_that_changed_are_named(stopped: overton.Run) -> None:
    items = stopped.path / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace("voting", "election"), "utf-8")
    check_unchanged(stopped)
    with pytest.raises(RunMismatch, match="items were changed after this run started"):
        check_unchanged(overton.Run(stopped.path, study=STUDY))


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="is not a run folder"):
        overton.Run(tmp_path)


def test_split_takes_the_arguments_of_run_and_refuses_others(tmp_path: Path) -> None:
    own, runs = inspect.signature(overton.split).parameters, inspect.signature(overton.run).parameters
    assert {*own} == {*runs, "into"}
    with pytest.raises(InputError, match="trails"):
        overton.split("open-mindedness", into=2, out=tmp_path / "shards", models=GIVEN["models"], trails=1)


def test_items_that_the_user_did_not_select_are_a_fact_and_no_warning(tmp_path: Path, command_line: Any) -> None:
    asked = ["run", "open-mindedness", "--model", "simulated/open-minded", "--trials", "1"]
    done = command_line(*asked, "--only", "voting-age", "--out", "run", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Left out" not in done.stderr
    run = open_run(tmp_path / "run")
    assert [*warnings_of([run])] == []
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "leaves out 11" not in page
    assert "11 of 12 items" in page
    run.manifest.left_out = "11 of 12 items, lost elsewhere"
    assert [*warnings_of([run])] == ["run leaves out 11 of 12 items, lost elsewhere."]


def test_output_about_a_single_item_is_singular_and_does_not_contradict_itself(
    tmp_path: Path, command_line: Any
) -> None:
    asked = ["open-mindedness", "--model", "simulated/open-minded", "--trials", "1", "--only", "voting-age"]
    planned = command_line("plan", *asked, folder=tmp_path)
    assert "1 item, 66 trials per model" in " ".join(planned.stdout.split())
    command_line("run", *asked, "--out", "run", folder=tmp_path)
    said = " ".join(command_line("analyze", "run", folder=tmp_path).stdout.split())
    assert "none of 1 issue" not in said
    assert "cannot be told from its null" not in said
    assert "was not tested against the null condition 'chance'" in said
