"""A run folder as one object."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import overton
from overton.errors import InputError, RunMismatch, UnreadableRun
from overton.runs.run import check_unchanged
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


def test_what_a_session_did_is_in_the_run_that_held_it(stopped: overton.Run) -> None:
    assert stopped.held_session
    done = overton.resume(stopped, max_calls=99)
    assert done.held_session
    assert done.finished
    assert not stopped.finished  # as its own session left it
    assert overton.resume(stopped).finished  # a run is opened again, as its folder is now
    assert not overton.resume(stopped).held_session


def test_a_run_that_was_extended_asks_what_it_was_extended_by(stopped: overton.Run) -> None:
    grown = overton.extend(stopped, trials=2, max_calls=99)
    assert grown.finished
    assert grown.options.trials == overton.open_run(grown).options.trials == 2


def test_items_that_changed_are_named(stopped: overton.Run) -> None:
    items = stopped.path / "items.jsonl"
    items.write_text(items.read_text("utf-8").replace("voting", "election"), "utf-8")
    check_unchanged(stopped)
    with pytest.raises(RunMismatch, match="items were changed after this run started"):
        check_unchanged(overton.Run(stopped.path, study=STUDY))


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match="is not a run folder"):
        overton.Run(tmp_path)


def test_split_takes_what_run_takes_and_refuses_what_it_does_not(tmp_path: Path) -> None:
    own, runs = inspect.signature(overton.split).parameters, inspect.signature(overton.run).parameters
    assert {*own} == {*runs, "into"}
    with pytest.raises(InputError, match="trails"):
        overton.split("open-mindedness", into=2, out=tmp_path / "shards", models=GIVEN["models"], trails=1)
