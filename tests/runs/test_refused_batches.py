"""A batch that a provider refuses or ends stops the run with its message; only an explicit request sends it again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest
from tests.runs.batch_runs import CALLS, BatchRuns

from overton.runs.batch_status import batches as batches_of

pytestmark = pytest.mark.hostile

MESSAGE = "a line of the file is not valid"
ADVICE = (
    "'overton resume --retry-failed' creates the batch again, and 'overton resume --no-batch' sends the batch's calls"
    " one by one"
)


def refused(asked: BatchRuns) -> str:
    """Have the provider refuse all batches, in its own manner; returns its message."""
    if asked.kind == "anthropic":  # which has no batches that fail as a whole
        asked.served.provider.always["create"] = "400"
        return "The batch's endpoint is not supported for this model"
    asked.served.provider.refuses, asked.served.provider.refusal = 10**6, ("invalid_request", MESSAGE)
    return MESSAGE


def accept(asked: BatchRuns) -> None:
    asked.served.provider.refuses = 0
    asked.served.provider.always.clear()


def check_stopped(manifest: Any, message: str, *, out: int = 0) -> None:
    assert (manifest.status, manifest.out, manifest.batch_refused) == ("stopped", out, True)
    assert message in manifest.stopped
    assert manifest.stopped.endswith(ADVICE)
    assert "\n" not in manifest.stopped


def test_a_refused_batch_stops_the_run_with_the_providers_message(asked: BatchRuns) -> None:
    message = refused(asked)
    manifest = asked.start("run", batch=True)
    check_stopped(manifest, message)
    assert asked.served.provider.log.count("create") == 1
    assert (manifest.spent.requests, manifest.spent.cost) == (0, 0.0)


def test_a_plain_resume_says_the_same_and_sends_nothing(asked: BatchRuns) -> None:
    message = refused(asked)
    asked.start("run", batch=True)
    asked.served.provider.log.clear()
    for _ in range(2):
        manifest = asked.resume("run")
        check_stopped(manifest, message)
        assert asked.served.provider.log == []
    (shown,) = batches_of(asked.folder / "run", trust=True)
    assert message in str(shown)
    assert asked.served.provider.log == []


@pytest.mark.parametrize("how", [{"retry_failed": True}, {"batch": False}])
def test_its_calls_are_asked_when_that_is_requested(asked: BatchRuns, how: dict[str, bool]) -> None:
    plain, provider = asked.plain(), asked.served.provider
    refused(asked)
    asked.start("run", batch=True)
    asked.resume("run")
    accept(asked)
    provider.log.clear()
    manifest = asked.resume("run", **how)
    assert (manifest.status, manifest.batch_refused) == ("finished", False)
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS == manifest.spent.requests
    in_batch = "retry_failed" in how
    assert (provider.log.count("create"), asked.served.alone.total()) == ((1, 0) if in_batch else (0, CALLS))


def test_a_request_that_is_refused_again_is_refused_until_the_next_request(asked: BatchRuns) -> None:
    message = refused(asked)
    asked.start("run", batch=True)
    check_stopped(asked.resume("run", retry_failed=True), message)
    asked.served.provider.log.clear()
    check_stopped(asked.resume("run"), message)
    assert asked.served.provider.log == []


@pytest.mark.parametrize("status", ["400", "403", "404", "405", "413", "422"])
@pytest.mark.parametrize("kind", ["upload", "create"])
def test_a_status_that_refuses_a_batch_stops_the_run(asked: BatchRuns, kind: str, status: str) -> None:
    if asked.kind == "anthropic" and kind == "upload":
        pytest.skip("nothing is uploaded")
    asked.served.provider.always[kind] = status
    manifest = asked.start("run", batch=True)
    check_stopped(manifest, f"({status}: ")
    assert asked.served.provider.log.count(kind) == 1


@pytest.mark.parametrize("trouble", ["401", "402", "quota"])
def test_a_key_or_an_account_that_is_refused_stops_the_run_until_it_is_resumed(asked: BatchRuns, trouble: str) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.always["create"] = trouble
    manifest = asked.start("run", batch=True)
    assert (manifest.status, manifest.batch_refused, provider.log.count("create")) == ("stopped", False, 1)
    accept(asked)
    assert asked.resume("run").status == "finished"
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS


def test_an_expired_batch_is_sent_again_once_and_then_call_by_call(asked: BatchRuns) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.ends = "expired"
    manifest = asked.start("run", batch=True)
    assert manifest.status == "finished"
    assert asked.records("run").equals(plain)
    assert [len(batch.calls) for batch in provider.batches.values()] == [66, 33]
    assert asked.served.alone.total() == 16
    assert provider.paid.total() == CALLS


@pytest.mark.parametrize("how", [{"retry_failed": True}, {"batch": False}])
def test_a_batch_cancelled_at_the_provider_is_read_and_not_sent_again_by_itself(
    asked: BatchRuns, how: dict[str, bool]
) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.ends = "cancelled"
    manifest = asked.start("run", batch=True)
    check_stopped(manifest, "a batch was cancelled before 33 calls of 66 started")
    assert manifest.spent.requests == provider.paid.total() == CALLS // 2
    assert asked.resume("run").stopped == manifest.stopped
    assert provider.log.count("create") == 1
    provider.ends = ""
    assert asked.resume("run", **how).status == "finished"
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS
    assert provider.log.count("create") == (2 if "retry_failed" in how else 1)


def test_a_batch_that_the_provider_has_lost_is_asked_again_only_on_request(asked: BatchRuns) -> None:
    plain, provider = asked.plain(), asked.served.provider
    provider.step = lambda step: provider.batches.clear() if step == "created" else None
    check_stopped(asked.start("run", batch=True), "the provider no longer has a batch of 66 calls")
    check_stopped(asked.resume("run"), "the provider no longer has a batch of 66 calls")
    provider.step = lambda step: None
    manifest = asked.resume("run", retry_failed=True)
    assert manifest.status == "finished"
    assert asked.records("run").equals(plain)
    assert manifest.spent.requests == 2 * CALLS  # the lost batch may have been paid for


def test_the_batch_of_another_model_is_read_by_a_plain_resume(asked: BatchRuns) -> None:
    if asked.kind == "anthropic":
        pytest.skip("the endpoint cannot refuse one of two creations for good")
    provider = asked.served.provider
    provider.refuses, provider.refusal = 1, ("invalid_request", MESSAGE)
    check_stopped(asked.start("run", batch=True, models=2), MESSAGE, out=CALLS)
    manifest = asked.resume("run")
    check_stopped(manifest, MESSAGE)
    assert asked.records("run").height == CALLS == provider.paid.total()
    assert provider.log.count("create") == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("step", ["looked", "listed", "uploaded"])
def test_one_signal_ends_a_run_that_waits_for_a_batch(asked: BatchRuns, number: int, step: str) -> None:
    if asked.kind == "anthropic" and step == "uploaded":
        pytest.skip("nothing is uploaded")
    provider = asked.served.provider
    provider.looks = 10**6
    provider.trouble["create"] = ["done 500"] if step == "listed" else []
    provider.unlisted = 10**6 if step == "listed" else 0
    job = asked.job("run")

    def on_step(seen: str) -> None:
        if seen == step:
            provider.step = lambda _: None
            os.kill(pids[0], number)

    pids: list[int] = []
    command = [sys.executable, "-c", _CHILD, str(asked.folder / "run"), *_words(asked, job)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    pids.append(child.pid)
    provider.step = on_step
    _, told = child.communicate(timeout=60)
    assert child.returncode == 4, told
    assert Counter(provider.log)["create"] <= 1


_CHILD = """
import sys
from overton.engine import batch_sender, batches
batch_sender.FIRST_LOOK, batches.QUIET, batch_sender.SETTLES = 0.01, 0.05, 20
from overton.cli.main import main
sys.argv = ["overton", "run", "open-mindedness", "--trials", "1", "--batch", "--out", *sys.argv[1:]]
main()
"""


def _words(asked: BatchRuns, job: dict[str, Any]) -> list[str]:
    spec = job["models"][0]
    arguments = [word for key, value in job["args"] for word in ("--model-arg", spec, f"{key}={value}")]
    return ["--issues", job["items"], "--model", spec, *arguments]
