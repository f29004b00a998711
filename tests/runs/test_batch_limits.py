"""Limits hold in batches, with `--at-most-calls` too, as the server counts; one call precedes a batch in vain."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fuzz.hostile.batching import LINE_FAULTS, Provider
from tests.runs.batch_endpoint import BatchEndpoint, answered
from tests.runs.conftest import CHILD
from tests.runs.starting import resume_run, start_run

from overton.calls import Price
from overton.engine import Limits, batch_sender, batches
from overton.errors import AccessError
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, read_manifest
from overton.studies.open_mindedness import STUDY, Options
from overton.studies.precision import PrecisionTarget

pytestmark = pytest.mark.hostile

CALLS = 11 * 6
PRICE = Price(0.0, 100.0, batch=0.5)
ALLOWED, TOO_MANY = 40, 3000
RESERVED, BILLED = (tokens * PRICE.output / 1e6 for tokens in (ALLOWED, TOO_MANY))
"""Dollars of one call, outside batches."""
QUICK = (0.01, 0.05, 0.4)


def overbilled(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    status, reply = answered(body)
    return status, reply | {"usage": {"prompt_tokens": 40, "completion_tokens": TOO_MANY}}


def weighed(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    status, reply = answered(body)
    (choice,) = reply["choices"]
    text = choice["message"]["content"]
    content = [{"token": one, "logprob": 0.0, "top_logprobs": []} for one in text]
    return status, reply | {"choices": [choice | {"logprobs": {"content": content}}]}


class Served:
    """Runs of open-mindedness in batches over an endpoint; `answer` makes its replies, in batches and outside.

    First replies are not checked: ten calls of each model would go outside batches.
    """

    def __init__(self, folder: Path, issues: list[Any]) -> None:
        self.folder, self.issues = folder, issues
        self.endpoint = BatchEndpoint()

    def begin(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.endpoint.provider = Provider(answer)
        self.endpoint.reply = answer
        self.endpoint.start()

    @property
    def provider(self) -> Provider:
        return self.endpoint.provider

    @property
    def alone(self) -> int:
        return self.endpoint.alone.total()

    @property
    def sizes(self) -> list[int]:
        return [len(batch.calls) for batch in self.provider.batches.values()]

    @property
    def received(self) -> int:
        """Calls that the provider received, in batches that it did not refuse and outside."""
        return sum(self.sizes) + self.alone

    @property
    def paid(self) -> int:
        return self.provider.paid.total()

    def request(self, name: str) -> ModelRequest:
        arguments = (("seed", "5"), ("max_tokens", str(ALLOWED)), ("connections", "8"))
        return ModelRequest(f"{self.endpoint.url}#{name}", arguments, PRICE)

    def start(self, *names: str, **more: Any) -> Manifest:
        options = Options(trials=more.pop("trials", 1), **more.pop("options", {}))
        wanted = {"subject": [self.request(name) for name in names or ("m",)]}
        asked = Experiment(STUDY, self.issues, options)
        return start_run(asked, wanted, self.folder / "run", batch=True, anyway=True, **more)

    def resume(self, **more: Any) -> Manifest:
        return resume_run(STUDY, self.folder / "run", **more)

    def child(self, *names: str, **more: Any) -> subprocess.Popen[str]:
        """A process that starts or resumes the run."""
        items = self.folder / "issues.jsonl"
        items.write_bytes(b"".join(msgspec.json.encode(issue) + b"\n" for issue in self.issues))
        job = {
            "out": str(self.folder / "run"),
            "items": str(items),
            "models": [self.request(name).spec for name in names or ("m",)],
            "args": [list(pair) for pair in self.request("m").arguments],
            "trials": 1,
            "batch": True,
            "anyway": True,
            "quick": QUICK,
            "price": [PRICE.input, PRICE.output],
            **more,
        }
        return subprocess.Popen([sys.executable, str(CHILD), json.dumps(job)], text=True, stderr=subprocess.PIPE)


@pytest.fixture
def served(tmp_path: Path, runs: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for module, name, value in zip(
        (batch_sender, batches, batch_sender), ("FIRST_LOOK", "QUIET", "SETTLES"), QUICK, strict=True
    ):
        monkeypatch.setattr(module, name, value)
    made = Served(tmp_path, runs.issues[:1])
    yield made
    made.endpoint.stop()


@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_batches_exceed_a_limit_only_by_bills_above_their_worst_case(served: Served, names: tuple[str, ...]) -> None:
    served.begin(overbilled)
    fit = 30
    limit = fit * RESERVED / 2 + 1e-9
    manifest = served.start(*names, limits=Limits(cost=limit))
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    assert (sum(served.sizes), served.alone) == (fit, 0)
    assert manifest.spent.cost == pytest.approx(fit * BILLED / 2)
    assert manifest.spent.cost == pytest.approx(limit + fit * (BILLED - RESERVED) / 2)
    assert served.resume().status == "stopped"
    assert served.received == fit


def test_a_bill_from_one_batch_raises_the_reservations_of_the_others(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred calls fit, in some ten batches. One call of the first batch bills half more than it may. The other
    calls are still under way, and would fit only within their worst case, so no further calls are sent."""
    monkeypatch.setattr(batches, "_MAX_BATCH_BYTES", 15_000)
    fit, usual, more = 100, 10, 60
    billed = list[int]()

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = answered(body)
        first = len(served.sizes) and len(billed) < served.sizes[0] - 1
        billed.append(usual if first else more)
        return status, reply | {"usage": {"prompt_tokens": 40, "completion_tokens": billed[-1]}}

    served.begin(answer)

    def later(step: str) -> None:
        if step == "created":
            served.provider.looks = 8

    served.provider.looks, served.provider.step = 0, later
    limit = fit * RESERVED / 2 + 1e-9
    manifest = served.start(trials=2, limits=Limits(cost=limit))
    assert (manifest.status, manifest.reached) == ("stopped", "cost")
    assert len(served.sizes) > 5
    assert fit / 2 < sum(served.sizes) <= fit
    assert served.alone == 0
    assert manifest.spent.cost == pytest.approx(sum(billed) * PRICE.output / 2e6)
    assert manifest.spent.cost <= limit + fit * (more - ALLOWED) * PRICE.output / 2e6


@pytest.mark.parametrize("step", ["created", "looked", "read"])
def test_a_killed_run_in_batches_exceeds_its_limit_by_no_more(served: Served, step: str) -> None:
    served.begin(overbilled)
    fit, steps = 30, list[str]()
    limit = fit * RESERVED + 1e-9  # in the process, batches have the full price
    child = served.child(max_cost=limit)
    served.provider.step = lambda now: (
        steps.append(now),
        os.kill(child.pid, signal.SIGKILL) if now == step and steps.count(now) == 1 else None,
    )[0]
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    served.provider.step = lambda now: None
    path = served.folder / "run"
    manifest = served.resume()
    assert manifest.status == "stopped"
    assert read_manifest(path).reached == "cost"
    assert served.received <= fit
    assert manifest.spent.cost <= limit + fit * (BILLED - RESERVED)


@pytest.mark.parametrize("names", [("m",), ("m", "n")])
@pytest.mark.parametrize("faults", [(), LINE_FAULTS])
def test_max_calls_holds_in_batches_as_the_server_counts(
    served: Served, names: tuple[str, ...], faults: tuple[str, ...]
) -> None:
    served.begin(answered)
    served.provider.faults, served.provider.share = faults, 0.5
    manifest = served.start(*names, limits=Limits(calls=50))
    assert (manifest.status, manifest.reached) == ("stopped", "calls")
    assert served.received == manifest.spent.requests == 50
    assert served.resume(limits=Limits(calls=61)).status == "stopped"
    assert served.received == 61


def test_max_calls_holds_in_batches_across_kills(served: Served) -> None:
    served.begin(answered)
    for step in ("uploaded", "created", "looked", "read"):
        steps = list[str]()
        child = served.child(max_calls=40)

        def kill(now: str, child: Any = child, steps: list[str] = steps, step: str = step) -> None:
            steps.append(now)
            if now == step and steps.count(now) == 1:
                os.kill(child.pid, signal.SIGKILL)

        served.provider.step = kill
        child.communicate(timeout=60)
        assert served.received <= 40
    served.provider.step = lambda now: None
    assert served.resume(limits=Limits(calls=40)).reached == "calls"
    assert served.received <= 40


@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_at_most_calls_holds_in_batches_as_the_server_counts(served: Served, names: tuple[str, ...]) -> None:
    served.begin(answered)
    most = 200 * len(names)
    precision = PrecisionTarget({"open_mindedness": 1.0}, most)
    manifest = served.start(*names, trials=6, precision=precision)
    assert manifest.status == "finished"
    assert served.received == manifest.spent.requests <= most
    assert served.received > most / 2


def test_at_most_calls_and_limits_hold_together_and_a_limit_ends_the_run_within_a_round(served: Served) -> None:
    served.begin(answered)
    precision = PrecisionTarget({"open_mindedness": 1.0}, 200)
    manifest = served.start(trials=6, precision=precision, limits=Limits(calls=100))
    assert (manifest.status, manifest.reached) == ("stopped", "calls")
    assert served.received == 100
    assert served.resume(limits=Limits(calls=1_000)).status == "finished"
    assert served.received <= 200


# One call first


def test_one_call_shows_before_a_batch_that_token_probabilities_are_missing(served: Served) -> None:
    """All 66 calls used to be paid for in a batch."""
    served.begin(answered)
    with pytest.raises(AccessError, match="sent no token probabilities"):
        served.start(options={"shares": "probabilities", "calibrate": 0})
    assert (served.alone, served.sizes) == (1, [])


def test_with_token_probabilities_one_call_precedes_the_batch_and_is_not_repeated(served: Served) -> None:
    served.begin(weighed)
    manifest = served.start(options={"shares": "probabilities", "calibrate": 0})
    assert manifest.status == "finished"
    assert (served.alone, served.sizes) == (1, [CALLS - 1])
    assert max(served.provider.paid.values()) == 1
    assert served.resume().status == "finished"
    assert served.received == CALLS


def test_calls_that_are_in_a_batch_are_not_made_again_to_find_out(served: Served) -> None:
    served.begin(weighed)
    child = served.child(options={"shares": "probabilities", "calibrate": 0})
    served.provider.step = lambda now: os.kill(child.pid, signal.SIGKILL) if now == "created" else None
    child.communicate(timeout=60)
    assert (served.alone, served.sizes) == (1, [CALLS - 1])
    served.provider.step = lambda now: None
    assert served.resume().status == "finished"
    assert (served.alone, served.sizes) == (1, [CALLS - 1])
