"""Conversations that stop at a target precision: the same decisions and records however often a run is killed."""

from __future__ import annotations

import random
import sys
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from aiohttp import web
from tests.runs.nursery import Nursery
from tests.runs.test_deliberation import DILEMMAS
from tests.runs.test_deliberation import stated as deliberated
from tests.runs.test_precision import Killer, decided_again, decisions, killed_until_finished
from tests.runs.test_stance_stability import ONLY
from tests.runs.test_stance_stability import completion as talked

import overton
from overton.engine import RetryPolicy, entries
from overton.errors import InputError
from overton.runs.folder import stored_records
from overton.runs.run import Run
from overton.studies.registry import study_named

PATIENCE = RetryPolicy(4, 0.002, 0.02)
WANTED = {"deliberation": {"consensus": 0.27}, "stance-stability": {"change_rate": 0.25}}


class Asking(NamedTuple):
    """A study with its runs' arguments; the runs differ in their folders."""

    study: str
    arguments: dict[str, Any]
    folder: Path

    def given(self, out: str, **more: Any) -> dict[str, Any]:
        return self.arguments | {"out": str(self.folder / out)} | more

    def run(self, out: str, **more: Any) -> Any:
        return overton.run(self.study, **self.given(out, precision=WANTED[self.study]) | more, patience=PATIENCE)


@pytest.fixture(params=[*WANTED])
def asking(request: Any, endpoint: Any, tmp_path: Path) -> Asking:
    """Deliberations of two agents on two dilemmas, or conversations of three turns on two topics."""
    reply = deliberated if request.param == "deliberation" else talked

    async def behave(asked: Any) -> web.Response:
        if endpoint.before_reply:
            endpoint.before_reply(asked)
        response = reply(asked)
        asked.replied = True
        endpoint.replied.append(asked)
        return response

    endpoint.behave = behave
    names = [f"{endpoint.url}#{name}" for name in ("m", "n")]
    arguments: dict[str, Any] = {"model_args": {name: {"seed": "5", "connections": "4"} for name in names}, "trials": 8}
    if request.param == "deliberation":
        items = tmp_path / "dilemmas.jsonl"
        items.write_bytes(b"".join(msgspec.json.encode(dilemma) + b"\n" for dilemma in DILEMMAS))
        arguments |= {"models": names, "items": str(items), "rounds": 2}
    else:
        judge = f"{endpoint.url}#judge"
        arguments["model_args"] = {name: {"seed": "5", "connections": "4"} for name in (names[0], judge)}
        arguments |= {"models": names[:1], "others": {"judge": [judge]}, "only": ONLY}
        arguments |= {"temperatures": [0.0, 1.0], "turns": 3}
    return Asking(request.param, arguments, tmp_path)


@pytest.fixture
def whole(asking: Asking) -> Any:
    """A run that was never killed."""
    made = asking.run("whole")
    assert made.finished
    return made


def test_it_asks_in_rounds_and_says_why_each_item_stopped(asking: Asking, whole: Any) -> None:
    (reached,) = whole.manifest.precise.values()
    assert reached.rounds == len(decisions(whole.path)) > 2
    own = study_named(asking.study).blocks.trial
    trials = whole.records().n_unique(own)
    assert trials == reached.trials == sum(stop.trials for stop in reached.last.stops)
    items = {stop.item for stop in reached.last.stops}
    assert len(items) == 2
    (limit,) = reached.last.limits
    assert limit.wanted == WANTED[asking.study][limit.measure]
    assert {stop.why for stop in reached.last.stops} <= {"precise enough", "all of its trials were asked"}


def test_conversations_are_those_of_the_full_design(asking: Asking, whole: Any) -> None:
    full, own = asking.run("full", precision=None).records(), study_named(asking.study).blocks.trial
    asked = whole.records()
    assert asked.height < full.height
    assert full.filter(full[own].is_in(asked[own].unique().implode())).equals(asked)


def test_a_finished_run_replays_without_models(asking: Asking, whole: Any, endpoint: Any) -> None:
    before, noted, asked = whole.records(), decisions(whole.path), len(endpoint.asked)
    endpoint.stop()
    (whole.path / "records.parquet").unlink()
    again = overton.resume(whole.path, patience=PATIENCE)
    assert again.records().equals(before)
    assert again.manifest.precise == whole.manifest.precise
    assert decisions(whole.path) == noted
    assert len(endpoint.asked) == asked


def test_decisions_are_those_that_the_records_give_in_any_order(asking: Asking, whole: Any) -> None:
    assert decided_again(Run(whole.path)) == [text for _, text in decisions(whole.path)]


def test_stopped_within_a_round_it_goes_on_as_if_it_had_not(asking: Asking, whole: Any) -> None:
    calls = len(list(entries(whole.path / "journal.db")))
    cut = asking.run("cut", max_calls=calls * 2 // 3)
    assert (cut.manifest.status, cut.manifest.reached) == ("stopped", "calls")
    resumed = overton.resume(cut.path, max_calls=99_000, patience=PATIENCE)
    assert resumed.records().equals(whole.records())
    assert decisions(cut.path) == decisions(whole.path)


def test_it_decides_on_no_more_calls_than_are_allowed(asking: Asking, endpoint: Any) -> None:
    allowed = 60 if asking.study == "deliberation" else 260
    run = asking.run("run", precision=None, at_most_calls=allowed)
    (reached,) = run.manifest.precise.values()
    assert run.finished
    assert reached.rounds > 1
    own = [one for one in entries(run.path / "journal.db") if one.place.trial]
    assert len(own) == reached.last.calls <= allowed


def test_several_judges_are_refused_before_anything_is_asked(asking: Asking, endpoint: Any) -> None:
    role = study_named(asking.study).several
    judges = [f"{endpoint.url}#judge", f"{endpoint.url}#other"]
    more = {"others": {role: judges}, "model_args": {}}
    with pytest.raises(InputError, match="2 judges, each would stop at a different point"):
        asking.run("run", **more)
    assert not endpoint.asked


def test_a_plan_expects_about_as_many_calls_as_its_pilot(asking: Asking, whole: Any) -> None:
    planned = overton.plan(
        asking.study,
        **{k: v for k, v in asking.given("plan").items() if k != "out"},
        precision=WANTED[asking.study],
        pilot=whole.path,
    )
    assert planned.precision is not None
    own = len([one for one in entries(whole.path / "journal.db") if one.place.trial])
    assert own / 3 < planned.precision.calls < own * 3
    assert planned.precision.pilot == f"run {whole.path.name}"


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.long)])
def test_killed_at_random_moments_it_decides_and_records_the_same(
    asking: Asking, endpoint: Any, nursery: Nursery, tmp_path: Path, kills: int
) -> None:
    whole = asking.run("whole")
    calls = len(endpoint.asked)
    chance, killed, number = random.Random(kills), 0, 0
    endpoint.latency = 0.002
    while killed < kills:
        number += 1
        job = {"study": asking.study, "given": asking.given(f"run-{number}", precision=WANTED[asking.study])}
        killed += killed_until_finished(nursery, job, partial(Killer, endpoint, chance, calls), kills - killed)
        folder = tmp_path / f"run-{number}"
        records = stored_records(folder)
        assert records.equals(whole.records())
        assert decisions(folder) == decisions(whole.path)
