"""Deliberations over HTTP: agents share endpoints, and a killed run does not pay for any round twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from aiohttp import web

import overton
from overton.engine import RetryPolicy, entries
from overton.engine.identity import call_seed
from overton.errors import InputError
from overton.studies.deliberation import Dilemma

SEED = 5
CONNECTIONS = 4
DILEMMAS = [
    Dilemma(f"d{number}", f"AITA for the garden, {number}?", "I dug up my neighbour's hedge by mistake. " * 8)
    for number in (1, 2)
]
RUN = "import json, sys, overton; given = json.loads(sys.argv[1]); overton.run('deliberation', **given)"


def stated(asked: Any) -> web.Response:
    """A verdict that follows from the request, two in three of one kind, so that rounds continue."""
    verdict = "NTA" if asked.chance < 0.66 else "YTA"
    text = f"My current verdict: {verdict}\n\nHere's my thinking: {asked.chance:.6f}"
    body = {
        "model": asked.model,
        "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9},
    }
    asked.replied = True
    return web.Response(body=msgspec.json.encode(body), content_type="application/json")


@pytest.fixture
def given(endpoint: Any, tmp_path: Path) -> Any:
    """The same run's arguments under different folders: three agents, two of one model, both formats, all orders."""

    async def behave(asked: Any) -> web.Response:
        response = stated(asked)
        endpoint.replied.append(asked)
        if endpoint.before_reply:
            endpoint.before_reply(asked)
        return response

    endpoint.behave = behave
    dilemmas = tmp_path / "dilemmas.jsonl"
    dilemmas.write_bytes(b"".join(msgspec.json.encode(dilemma) + b"\n" for dilemma in DILEMMAS))
    names = [f"{endpoint.url}#{name}" for name in ("m", "n", "m")]
    arguments = {name: {"seed": str(SEED), "connections": str(CONNECTIONS)} for name in names}

    def make(out: str) -> dict[str, Any]:
        return {
            "models": names,
            "items": str(dilemmas),
            "model_args": arguments,
            "out": str(tmp_path / out),
            "formats": ["synchronous", "round-robin"],
        }

    return make


def by_trial(journal: Path) -> Counter[str]:
    return Counter(entry.place.trial for entry in entries(journal))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize(
    "replies", [30, pytest.param(11, marks=pytest.mark.long), pytest.param(61, marks=pytest.mark.long)]
)
def test_paid_rounds_are_not_repeated_after_a_kill(endpoint: Any, given: Any, replies: int) -> None:
    whole = overton.run("deliberation", **given("whole"))
    assert whole.records()["round"].max() > 2
    calls = by_trial(whole.path / "journal.db")
    endpoint.asked.clear()
    endpoint.replied.clear()

    def kill(asked: Any) -> None:
        if len(endpoint.replied) == replies:
            process.send_signal(signal.SIGKILL)

    endpoint.before_reply, endpoint.latency = kill, 0.02
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, json.dumps(given("killed"))], env=os.environ, stderr=subprocess.PIPE
    )
    assert process.wait(60) == -signal.SIGKILL
    assert process.stderr is not None
    process.stderr.close()
    endpoint.before_reply, endpoint.latency = None, 0.0
    asked_before = len(endpoint.asked)

    folder = Path(given("killed")["out"])
    resumed = overton.resume(folder, patience=RetryPolicy(4, 0.002, 0.02))
    assert resumed.manifest.status == "finished"
    assert resumed.records().equals(whole.records())
    kept = {call_seed(entry.identity, SEED) for entry in list(entries(folder / "journal.db"))}
    again = Counter(endpoint.seeds())
    assert set(again) == kept
    twice = sum(count - 1 for count in again.values())
    # Both models' calls in flight, and the replies of the last commit window, shorter than the time for two replies.
    assert twice <= 3 * 2 * CONNECTIONS
    assert len(endpoint.asked) - asked_before == calls.total() - (asked_before - twice)


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_deliberation_cut_in_its_middle_goes_on_where_it_was(endpoint: Any, given: Any, monkeypatch: Any) -> None:
    """A limit stops it cleanly between two rounds; messages are kept, and only the remaining calls are made."""
    whole = overton.run("deliberation", **given("whole"))
    calls = by_trial(whole.path / "journal.db")
    stopped = overton.run("deliberation", **given("stopped"), max_calls=31)
    held = by_trial(stopped.path / "journal.db")
    middle = [trial for trial, count in held.items() if 0 < count < calls[trial]]
    assert stopped.manifest.status == "stopped"
    assert held.total() == 31
    assert middle  # some deliberation has started and not finished
    before = len(endpoint.asked)
    resumed = overton.resume(stopped.path, max_calls=1000)
    assert len(endpoint.asked) - before == calls.total() - 31
    assert resumed.records().equals(whole.records())
    assert by_trial(resumed.path / "journal.db") == calls


def test_agents_of_one_model_are_asked_apart_and_paced_together(endpoint: Any, given: Any) -> None:
    run = overton.run("deliberation", **given("run"))
    first = run.records().filter(pl.col("round") == 1, pl.col("format") == "synchronous")
    agents = first.group_by("deliberation").agg(pl.col("agent").n_unique(), pl.col("answer").n_unique())
    assert agents["agent"].to_list() == [3, 3]
    assert agents["answer"].to_list() == [3, 3]
    assert endpoint.most_under_way <= 2 * CONNECTIONS


def test_only_some_items_are_asked_about_and_the_rest_is_named_as_left_out(given: Any) -> None:
    run = overton.run("deliberation", **given("run"), only=["d2"])
    assert run.records()["dilemma"].unique().to_list() == ["d2"]
    assert run.manifest.left_out == "1 of 2 items"
    with pytest.raises(InputError, match="there is no such item; there are d1, d2"):
        overton.run("deliberation", **given("other"), only=["d3", "d2"])
    assert not Path(given("other")["out"]).exists()


def test_a_model_with_constrained_replies_keeps_its_name_and_gets_a_mark(given: Any) -> None:
    arguments = given("run")
    (name, *_) = arguments["models"]
    arguments["model_args"][name]["hold"] = "true"
    run = overton.run("deliberation", **arguments, only=["d1"])
    analysis = overton.analyze("deliberation", run.path)
    assert name in analysis.models
    assert set(run.records()["model"]) == set(arguments["models"])
    told = overton.report([run.path]).read_text("utf-8")
    assert f"{name}, bound by a grammar" in told
    assert f"{name}: constrained decoding put a verdict" in told
