"""Batches give a plain run's records, even if they fail or the run is killed at any time, and are never paid for
twice."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fuzz.hostile.batching import LINE_FAULTS
from tests.runs.batch_endpoint import BatchEndpoint
from tests.runs.batch_runs import CALLS, BatchRuns
from tests.runs.nursery import Nursery
from tests.runs.starting import start_run

from overton.engine import Limits
from overton.errors import InputError
from overton.runs.answerers import ModelRequest
from overton.runs.batch_status import batches as batches_of
from overton.runs.experiment import Experiment
from overton.runs.folder import read_manifest
from overton.studies.open_mindedness import STUDY


def test_a_run_in_batches_has_the_records_of_a_plain_one_at_half_the_price(asked: BatchRuns) -> None:
    plain = asked.plain()
    manifest = asked.start("run", batch=True)
    assert (manifest.status, manifest.out) == ("finished", 0)
    assert asked.records("run").equals(plain)
    assert [len(batch.calls) for batch in asked.served.provider.batches.values()] == [CALLS]
    assert asked.served.alone.total() == 0
    whole = read_manifest(asked.folder / "plain").spent
    assert (manifest.spent.requests, whole.requests) == (CALLS, CALLS)
    assert manifest.spent.cost == pytest.approx(whole.cost / 2)


def test_failed_lines_are_asked_alone_and_calls_that_expired_in_another_batch(asked: BatchRuns) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.faults, provider.share = LINE_FAULTS, 0.5
    manifest = asked.start("run", batch=True, limits=Limits(cost=50.0))
    assert manifest.status == "finished"
    assert asked.records("run").equals(plain)
    assert set(provider.struck) == set(LINE_FAULTS)
    first, second = (len(batch.calls) for batch in provider.batches.values())
    assert first == CALLS
    # Without lines of their own in an expired batch, calls cannot be distinguished from those not started.
    unanswered = provider.struck["expired"] + provider.struck["missing"] + provider.struck["malformed"]
    assert second == unanswered
    assert asked.served.alone.total() == provider.struck["errored"]
    assert manifest.spent.requests == first + second + asked.served.alone.total()
    billed = sum(provider.paid.values()) - asked.served.alone.total()
    assert manifest.spent.cost >= (billed * 0.5 + asked.served.alone.total()) * (40 * 10.0 + 6 * 100.0) / 1e6


@pytest.mark.parametrize("faults", [("missing", "malformed", "errored"), ("twice",)])
def test_lines_that_cannot_be_read_are_asked_alone(asked: BatchRuns, faults: tuple[str, ...]) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.faults, provider.share = faults, 0.4
    assert asked.start("run", batch=True).status == "finished"
    assert asked.records("run").equals(plain)
    assert len(provider.batches) == 1
    assert asked.served.alone.total() == (0 if faults == ("twice",) else provider.struck.total())
    assert provider.struck.total() > 5


def test_a_batch_refused_by_a_full_queue_is_sent_in_parts(asked: BatchRuns) -> None:
    if asked.kind == "anthropic":
        pytest.skip("Anthropic refuses with a status")
    plain, provider = asked.plain(), asked.served.provider
    provider.refuses = 2
    manifest = asked.start("run", batch=True)
    assert (manifest.status, manifest.stopped) == ("finished", "")
    assert asked.records("run").equals(plain)
    sizes = [len(batch.calls) for batch in provider.batches.values() if not batch.refused]
    assert sum(sizes) + asked.served.alone.total() == CALLS
    assert len(sizes) > 1
    assert provider.paid.total() == CALLS


class At:
    """Kills a process at the n-th step of a kind, or some seconds after it."""

    def __init__(self, served: BatchEndpoint, step: str, number: int = 1, seconds: float = 0.0) -> None:
        self._step, self._number, self._seconds = step, number, seconds
        self._target, self._pid = threading.Event(), 0
        served.provider.step = self._on_step

    def aim(self, pid: int) -> None:
        self._pid = pid
        self._target.set()

    def _on_step(self, step: str) -> None:
        if step != self._step:
            return
        self._number -= 1
        if self._number == 0 and self._target.wait(10):
            if self._seconds:
                threading.Timer(self._seconds, self._kill).start()
            else:
                self._kill()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


LONG = pytest.mark.long
STEPS = [
    ("uploading", 0.0),  # noted, nothing sent
    ("uploaded", 0.0),  # uploaded, not noted
    ("creating", 0.0),  # uploaded and noted, not created
    ("created", 0.0),  # created, not noted
    ("looked", 0.0),  # running
    ("read", 0.0),  # over, nothing read
    ("read", 0.01),  # results half read
    ("read", 0.03),
    ("read", 0.06),
]


@pytest.mark.parametrize(
    ("step", "seconds"),
    [pytest.param(step, seconds, marks=[LONG] if seconds > 0.01 else []) for step, seconds in STEPS],
)
def test_killed_in_any_state_nothing_is_paid_twice(
    asked: BatchRuns, nursery: Nursery, step: str, seconds: float
) -> None:
    if asked.kind == "anthropic" and step.startswith("upload"):
        pytest.skip("nothing is uploaded")
    plain, provider = asked.plain(), asked.served.provider
    provider.looks = 2
    killer = At(asked.served, step, seconds=seconds)
    killer.aim(nursery.start(asked.job("run")))
    status = nursery.status()
    assert status == -signal.SIGKILL or seconds, nursery.log.read_text()
    provider.step = lambda _: None
    nursery.start(asked.job("run"))
    assert nursery.status() == 0, nursery.log.read_text()
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS
    assert asked.served.alone.total() == 0
    manifest = read_manifest(asked.folder / "run")
    assert manifest.spent.requests == CALLS
    assert manifest.spent.cost >= provider.paid.total() * 0.5 * (40 * 10.0 + 6 * 100.0) / 1e6
    assert manifest.out == 0


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=LONG), pytest.param(3, marks=LONG)])
def test_killed_again_and_again_with_faults_and_limits(asked: BatchRuns, nursery: Nursery, seed: int) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.faults, provider.share, provider.looks = LINE_FAULTS, 0.3, 2
    chance, kills, status = random.Random(seed), 0, -signal.SIGKILL
    job = asked.job("run") | {"max_calls": 300, "max_cost": 9.0}
    for _ in range(20):
        step, seconds = chance.choice([one for one in STEPS if asked.kind == "openai" or "upload" not in one[0]])
        killer = At(asked.served, step, chance.randint(1, 2), seconds)
        killer.aim(nursery.start(job))
        status = nursery.status()
        kills += status == -signal.SIGKILL
        if status != -signal.SIGKILL:
            break
    assert status == 0, nursery.log.read_text()
    assert kills
    assert asked.records("run").equals(plain)
    sent = sum(len(batch.calls) for batch in provider.batches.values()) + asked.served.alone.total()
    manifest = read_manifest(asked.folder / "run")
    assert sent <= manifest.spent.requests <= 300
    alone = asked.served.alone.total()
    billed = ((provider.paid.total() - alone) * 0.5 + alone) * (40 * 10.0 + 6 * 100.0) / 1e6
    assert billed <= manifest.spent.cost <= 9.0


def interrupted_when(step: str, served: BatchEndpoint) -> Callable[[str], None]:
    """Sends this process Ctrl-C at the first step of a kind."""

    def on_step(seen: str) -> None:
        if seen == step:
            served.provider.step = lambda _: None
            os.kill(os.getpid(), signal.SIGINT)

    return on_step


def test_interrupted_a_batch_goes_on_and_is_read_by_the_next_session(asked: BatchRuns) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.looks = 10**6
    provider.step = interrupted_when("looked", asked.served)
    manifest = asked.start("run", batch=True)
    assert (manifest.status, manifest.stopped, manifest.out) == ("stopped", "interrupted", CALLS)
    (out,) = batches_of(asked.folder / "run", trust=True)
    assert (out.calls, out.state) == (CALLS, "in progress")
    for batch in provider.batches.values():
        batch.left = 0
    manifest = asked.resume("run")
    assert (manifest.status, manifest.out) == ("finished", 0)
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS == manifest.spent.requests
    assert manifest.spent.cost == pytest.approx(CALLS * 0.5 * (40 * 10.0 + 6 * 100.0) / 1e6)
    assert batches_of(asked.folder / "run") == []


def test_after_a_cancellation_answers_are_read_and_the_rest_is_asked_as_requested(asked: BatchRuns) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.looks = 10**6
    provider.step = interrupted_when("looked", asked.served)
    asked.start("run", batch=True)
    (out,) = batches_of(asked.folder / "run", cancel=True, trust=True)
    assert out.id in provider.batches
    manifest = asked.resume("run", batch=False)
    assert manifest.status == "finished"
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS
    assert asked.served.alone.total() == CALLS // 2
    assert len(provider.batches) == 1


def test_results_that_a_provider_lost_are_asked_again(asked: BatchRuns) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.step = interrupted_when("read", asked.served)
    asked.start("run", batch=True)
    if asked.kind == "anthropic":
        return  # its results are in the batch, whose loss is reported
    provider.files.clear()
    assert asked.resume("run").status == "finished"
    assert asked.records("run").equals(plain)


def test_batches_are_refused_when_no_model_takes_them(tmp_path: Path, runs: Any) -> None:
    with pytest.raises(InputError, match="option batch: none of these models takes batches"):
        start_run(
            Experiment(STUDY, runs.issues, STUDY.options()),
            {"subject": [ModelRequest("simulated/open-minded")]},
            tmp_path / "run",
            batch=True,
        )
    assert not (tmp_path / "run").exists()
