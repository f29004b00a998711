"""Local models are timed on a plan's own calls; no others are called."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import overton
from overton.cli.main import app
from overton.models import Model
from overton.planning import timing
from overton.planning.time_here import time_here

ASKED = {"models": ["simulated/open-minded"], "trials": 1, "only": ["voting-age"]}


def test_models_that_do_not_run_here_are_not_asked() -> None:
    planned = overton.plan("open-mindedness", models=["openai/gpt-4o"], trials=1)
    assert time_here("open-mindedness", planned, models=["openai/gpt-4o"], trials=1) == []
    words = ["plan", "open-mindedness", "--model", "simulated/open-minded", "--trials", "1", "--time"]
    assert "nothing was timed" in CliRunner().invoke(app, words).output


def test_a_plan_that_stops_when_precise_is_timed_too() -> None:
    words = ["plan", "open-mindedness", "--model", "simulated/open-minded", "--only", "voting-age", "--trials", "3"]
    done = CliRunner().invoke(app, [*words, "--precision", "open_mindedness=20", "--time"])
    assert done.exit_code == 0, done.output
    assert "nothing was timed" in done.output


def test_a_few_calls_tell_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def every(model: Model) -> bool:
        return True

    monkeypatch.setattr(timing, "_runs_here", every)
    planned = overton.plan("open-mindedness", **ASKED)
    (one,) = time_here("open-mindedness", planned, **ASKED)
    assert (one.model, one.role, one.timed) == ("simulated/open-minded", "subject", 3)
    assert one.seconds == pytest.approx(one.seconds_each * planned.calls)
