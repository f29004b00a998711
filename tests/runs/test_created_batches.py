"""Unclear replies of a provider to requests that create a batch: the run finds and adopts it, and removes extras."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Any

import pytest
from tests.runs.batch_runs import CALLS, BatchRuns
from tests.runs.nursery import Nursery

from overton.engine import batch_sender
from overton.runs.folder import read_manifest

pytestmark = pytest.mark.hostile

AFTERWARDS = ("done 500", "done 503", "done 529", "done drop", "done cut", "done garbled")
"""Replies of a provider after it has carried out a request."""
BEFORE = ("500", "503", "429", "drop")
"""Replies of a provider that did not carry out the request."""
CREATING = ("upload", "create")
"""The kinds of requests that create something; Anthropic's format has no uploads."""


def check_created_once(asked: BatchRuns, out: str = "run", *, manifest: Any = None) -> None:
    """The run is finished; the provider has one batch and one upload that it carries out, and is paid for each call
    once."""
    provider = asked.served.provider
    provider.finish_all()
    status = read_manifest(asked.folder / out)
    assert (status.status, status.out, status.spent.failed) == ("finished", 0, 0)
    assert [batch.status for batch in provider.batches.values()].count("completed") == 1
    assert len([id_ for id_ in provider.uploads if id_ in provider.files]) == (asked.kind == "openai")
    assert provider.paid.total() == CALLS == status.spent.requests
    assert asked.served.alone.total() == 0


def skip_uploads(asked: BatchRuns, kind: str) -> None:
    if asked.kind == "anthropic" and kind == "upload":
        pytest.skip("nothing is uploaded")


@pytest.mark.parametrize("fault", AFTERWARDS)
@pytest.mark.parametrize("kind", CREATING)
def test_an_object_created_in_spite_of_an_error_is_adopted(asked: BatchRuns, kind: str, fault: str) -> None:
    skip_uploads(asked, kind)
    plain, provider = asked.plain(), asked.served.provider
    provider.trouble[kind] = [fault] * 3
    asked.start("run", batch=True)
    assert asked.records("run").equals(plain)
    check_created_once(asked)
    counted = Counter(provider.log)
    assert counted[kind] == 1
    assert counted["list files" if kind == "upload" else "list"] >= 1


@pytest.mark.parametrize("kind", CREATING)
def test_a_request_to_create_that_gets_no_reply_is_adopted(asked: BatchRuns, kind: str) -> None:
    skip_uploads(asked, kind)
    asked.more = (("timeout", "1"),)
    plain, provider = asked.plain(), asked.served.provider
    provider.trouble[kind] = ["done stall"]
    asked.start("run", batch=True)
    assert asked.records("run").equals(plain)
    check_created_once(asked)
    assert provider.log.count(kind) == 1


@pytest.mark.parametrize("fault", BEFORE)
@pytest.mark.parametrize("kind", CREATING)
def test_an_object_that_was_not_created_is_created_later(asked: BatchRuns, kind: str, fault: str) -> None:
    skip_uploads(asked, kind)
    plain, provider = asked.plain(), asked.served.provider
    provider.trouble[kind] = [fault] * 2
    asked.start("run", batch=True)
    assert asked.records("run").equals(plain)
    check_created_once(asked)
    assert provider.log.count(kind) == 3


def test_an_upload_made_twice_is_deleted_once(asked: BatchRuns) -> None:
    skip_uploads(asked, "upload")
    plain, provider = asked.plain(), asked.served.provider
    provider.trouble["upload"], provider.unlisted = ["done 500"], 1
    asked.start("run", batch=True)
    assert asked.records("run").equals(plain)
    check_created_once(asked)
    assert Counter(provider.log)["upload"] == 2
    assert Counter(provider.log)["discard"] == 1


def test_a_batch_made_twice_because_it_was_listed_late_is_cancelled_once(asked: BatchRuns) -> None:
    if asked.kind == "anthropic":
        pytest.skip("its list has no names: an extra batch cannot be recognised before it has ended")
    plain, provider = asked.plain(), asked.served.provider
    # The first batch is missing from every list until it is taken not to exist; then both are listed.
    provider.trouble["create"], provider.looks = ["done 500"], 3
    hidden = Hidden(asked)
    asked.start("run", batch=True)
    assert hidden.lists > 1
    assert asked.records("run").equals(plain)
    check_created_once(asked)
    assert Counter(provider.log)["create"] == 2
    assert Counter(provider.log)["cancel"] == 1


class Hidden:
    """Keeps the first batch out of all lists until a second one is made."""

    def __init__(self, asked: BatchRuns) -> None:
        self.lists = 0
        self._provider = asked.served.provider
        self._provider.unlisted = 10**6
        self._provider.step = self._on_step

    def _on_step(self, step: str) -> None:
        self.lists += step == "listed"
        if len(self._provider.batches) > 1:
            self._provider.unlisted = 0


@pytest.mark.parametrize("kind", CREATING)
def test_a_creation_that_stays_unclear_is_looked_for_by_the_next_session(asked: BatchRuns, kind: str) -> None:
    skip_uploads(asked, kind)
    plain, provider = asked.plain(), asked.served.provider
    provider.trouble[kind] = ["done 500"]
    provider.always["list files" if kind == "upload" else "list"] = "500"
    stopped = asked.start("run", batch=True)
    assert (stopped.status, provider.log.count(kind)) == ("stopped", 1)
    provider.always.clear()
    asked.resume("run")
    assert asked.records("run").equals(plain)
    if kind == "create":
        check_created_once(asked)
    assert provider.paid.total() == CALLS


class KilledAt:
    """Kills a process when the provider has carried out, or is about to carry out, a step for the n-th time."""

    def __init__(self, asked: BatchRuns, step: str, pid: int, number: int = 1) -> None:
        self._step, self._pid, self._number = step, pid, number
        asked.served.provider.step = self._on_step

    def _on_step(self, step: str) -> None:
        self._number -= step == self._step
        if self._number == 0 and step == self._step:
            os.kill(self._pid, signal.SIGKILL)


STEPS = ("uploading", "uploaded", "creating", "created")


@pytest.mark.parametrize("fault", ["", "done 500"])
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_while_something_is_created_makes_no_second_one(
    asked: BatchRuns, nursery: Nursery, step: str, fault: str
) -> None:
    skip_uploads(asked, "upload" if step.startswith("upload") else "create")
    plain, provider = asked.plain(), asked.served.provider
    if fault:
        provider.trouble["upload" if step.startswith("upload") else "create"] = [fault]
    KilledAt(asked, step, nursery.start(asked.job("run")))
    assert nursery.status() == -signal.SIGKILL
    provider.step = lambda _: None
    nursery.start(asked.job("run"))
    assert nursery.status() == 0, nursery.log.read_text()
    assert asked.records("run").equals(plain)
    check_created_once(asked)


def test_a_batch_that_a_killed_session_made_is_found_although_it_is_listed_late(
    asked: BatchRuns, nursery: Nursery
) -> None:
    plain, provider = asked.plain(), asked.served.provider
    job = asked.job("run") | {"quick": (0.01, 0.05, 30.0)}
    KilledAt(asked, "created", nursery.start(job))
    assert nursery.status() == -signal.SIGKILL
    provider.step, provider.unlisted = lambda _: None, 3
    nursery.start(job)
    assert nursery.status() == 0, nursery.log.read_text()
    assert asked.records("run").equals(plain)
    check_created_once(asked)


def test_anothers_batch_of_the_same_size_is_not_taken_for_ours(asked: BatchRuns) -> None:
    if asked.kind == "openai":
        pytest.skip("its batches have names")
    plain, provider = asked.plain(), asked.served.provider
    asked.start("other", batch=True)
    provider.paid.clear()
    provider.trouble["create"] = ["500"]
    asked.start("run", batch=True)
    assert asked.records("run").equals(plain)
    assert provider.paid.total() == CALLS
    assert len(provider.batches) == 2
    assert batch_sender.SETTLES < 1
