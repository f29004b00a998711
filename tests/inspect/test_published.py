"""A paper's experiment under Inspect: the task's option, and the log's data on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai.log import read_eval_log

import overton
from overton.analysis.analyze import measure_run
from overton.inspect.log_format import KEY
from overton.runs.folder import read_manifest
from overton.studies.paper import PaperValues

ISSUE: dict[str, Any] = {"models": ["simulated/open-minded"], "only": ["cashless-shops"]}


def test_a_log_of_a_run_as_published_becomes_such_a_run_again(tmp_path: Path) -> None:
    run = overton.run("open-mindedness", as_published=True, trials=1, out=tmp_path / "run", **ISSUE)
    (done,) = overton.export_run(run.path, out=tmp_path / "logs")
    given = read_eval_log(done.path).eval.task_args
    assert (given["as_published"], given["trials"]) == (True, 1)
    imported = overton.import_logs([done.path], out=tmp_path / "again")
    kept = read_manifest(imported.path).as_published
    assert isinstance(kept, PaperValues)
    assert kept == read_manifest(run.path).as_published
    assert measure_run("open-mindedness", imported.path).departures == ("trials: 1 instead of 15",)


def test_a_task_as_published_has_the_papers_design(talking: Any, evaluate: Any) -> None:
    asked = {"as_published": True, "only": ["cashless-shops"], "trials": 1, "templates": 1}
    log = evaluate("open_mindedness", task_args=asked)
    assert log.status == "success", log.error
    options = log.eval.metadata[KEY]["options"]
    assert (options["as_published"], options["trials"], options["templates"]) == (True, 1, [1])
    assert len(log.samples) == 11
