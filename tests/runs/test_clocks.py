"""Clocks that jump by days: no run waits for days, and no batch is paid for twice."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.runs.batch_runs import CALLS, BatchRuns

from overton.engine import batch_notes, batch_sender
from overton.runs.folder import read_manifest

pytestmark = pytest.mark.hostile

DAYS = 5 * 86_400.0


class Clock:
    """The wall clock as the engine reads it, `ahead` of this machine's by some seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ahead = 0.0
        for module in (batch_sender, batch_notes):
            monkeypatch.setattr(module, "time", lambda: time.time() + self.ahead)

    def jump_at(self, served: Any, step: str, seconds: float) -> None:
        """Jump once, at the first `step` of a batch."""

        def on_step(seen: str) -> None:
            if seen == step and not self.ahead:
                self.ahead = seconds

        served.provider.step = on_step


def check_paid_once(asked: BatchRuns, plain: Any) -> None:
    provider = asked.served.provider
    provider.finish_all()
    manifest = read_manifest(asked.folder / "run")
    assert (manifest.status, manifest.spent.failed) == ("finished", 0)
    assert asked.records("run").equals(plain)
    assert (len(provider.batches), provider.paid.total(), asked.served.alone.total()) == (1, CALLS, 0)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("seconds", [DAYS, -DAYS])
@pytest.mark.parametrize("step", ["creating", "created", "listed", "looked", "read"])
def test_a_batch_is_made_once_when_the_clock_jumps(
    asked: BatchRuns, monkeypatch: pytest.MonkeyPatch, step: str, seconds: float
) -> None:
    plain, provider, clock = asked.plain(), asked.served.provider, Clock(monkeypatch)
    provider.trouble["create"], provider.unlisted = ["done 500"], 1
    clock.jump_at(asked.served, step, seconds)
    asked.start("run", batch=True)
    assert clock.ahead == seconds
    check_paid_once(asked, plain)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("seconds", [DAYS, -DAYS])
def test_a_clock_that_was_set_between_sessions_makes_no_batch_twice(
    asked: BatchRuns, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    plain, provider, clock = asked.plain(), asked.served.provider, Clock(monkeypatch)
    clock.ahead = max(seconds, 0.0)  # then it is put right; or it is right, then set back
    provider.trouble["create"], provider.always["list"] = ["done 500"], "400"
    asked.start("run", batch=True)
    assert read_manifest(asked.folder / "run").status == "stopped"
    del provider.always["list"]
    clock.ahead = min(seconds, 0.0)
    asked.resume("run")
    check_paid_once(asked, plain)


@pytest.mark.timeout(60)
def test_a_batch_that_was_never_made_is_made_when_the_clock_was_set_back(
    asked: BatchRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, provider, clock = asked.plain(), asked.served.provider, Clock(monkeypatch)
    provider.trouble["create"] = ["500"]
    clock.jump_at(asked.served, "listed", -DAYS)
    asked.start("run", batch=True)
    assert clock.ahead == -DAYS
    check_paid_once(asked, plain)
