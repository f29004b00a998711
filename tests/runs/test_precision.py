"""Runs that stop at a target precision: the same decisions and records however often they are killed, and replayed."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.runs.nursery import Nursery

from overton.engine import Budget, Dispatcher, Limits, count_missing, entries
from overton.errors import InputError, JournalError, Stopped
from overton.runs.lanes import lanes_of
from overton.runs.precision import decision_of
from overton.runs.run import Run, open_journal
from overton.studies.open_mindedness import Options
from overton.studies.precision import PrecisionTarget

__all__ = ["Killer", "decided_again", "decisions", "killed_until_finished"]

TRIALS = 6
WANTED = {"share": 0.25}
BOTH = {"share": 0.3, "open_mindedness": 20.0}


def decisions(path: Path) -> list[tuple[int, str]]:
    """The rounds in a run's journal, each as first decided."""
    noted = [(one.place.number, one.outcome) for one in entries(path / "journal.db") if one.place.speaker == "~round"]
    assert len({number for number, _ in noted}) == len(noted), "a round was decided twice"
    return [(number, getattr(outcome, "text", "")) for number, outcome in noted]


def decided_again(run: Run) -> list[str]:
    """A run's decisions, made again from its journal alone, without its notes and with its trials in another order."""
    made: list[str] = []

    async def again() -> None:
        with closing(open_journal(run)) as journal:
            journal._notes.clear()
            (lane,) = lanes_of(run, None)
            decide = lane.rounds._decide  # type: ignore[union-attr]

            def decided(ended: Any) -> str:
                shuffled = list(ended.items())
                random.Random(1).shuffle(shuffled)
                made.append(decide(dict(shuffled)))
                return made[-1]

            lane.rounds._decide = decided  # type: ignore[union-attr,method-assign]
            assert (
                await count_missing([lane], run.study.conduct, Dispatcher(journal, Budget(Limits()), recall_only=True))
                == 0
            )

    asyncio.run(again())
    return made


@pytest.fixture
def whole(runs: Any) -> Any:
    """A run that was never killed."""
    assert runs.start("whole", trials=TRIALS, precision=PrecisionTarget(WANTED)).status == "finished"
    return runs


def test_calls_that_are_allowed_are_divided_among_models(runs: Any, endpoint: Any) -> None:
    wanted = PrecisionTarget(calls=320)
    manifest = runs.start("run", trials=TRIALS, precision=wanted, models=[runs.request("m"), runs.request("n")])
    made = [reached.last.calls for reached in manifest.precise.values()]
    assert len(made) == 2
    assert max(made) <= 160
    assert len(endpoint.asked) == sum(made) <= 320


def test_it_asks_in_rounds_and_says_why_it_stopped(whole: Any, endpoint: Any) -> None:
    manifest = whole.manifest("whole")
    (reached,) = manifest.precise.values()
    assert reached.rounds == len(decisions(whole.folder / "whole")) > 2
    assert not reached.last.blocks
    assert manifest.trials == reached.trials == reached.last.calls == len(endpoint.asked)
    assert manifest.trials < 2 * 66 * TRIALS
    records = whole.records("whole")
    got = Counter(records["issue"])
    for item in got:
        assert got[item] == sum(stop.trials for stop in reached.last.stops if stop.item == item)


def test_records_are_in_plan_order(whole: Any) -> None:
    whole.start("full", trials=TRIALS)
    order = {name: place for place, name in enumerate(whole.records("full")["trial"])}
    places = [order[name] for name in whole.records("whole")["trial"]]
    assert places == sorted(places)


def test_answers_are_those_of_the_full_design(whole: Any) -> None:
    whole.start("full", trials=TRIALS)
    full = whole.records("full")
    asked = whole.records("whole")
    assert full.filter(full["trial"].is_in(asked["trial"].implode())).equals(asked)


def test_a_finished_run_replays_without_models(whole: Any, endpoint: Any) -> None:
    before, noted = whole.records("whole"), decisions(whole.folder / "whole")
    manifest = whole.manifest("whole")
    asked = len(endpoint.asked)
    endpoint.stop()
    (whole.folder / "whole" / "records.parquet").unlink()
    again = whole.resume("whole")
    assert whole.records("whole").equals(before)
    assert (again.status, again.precise) == ("finished", manifest.precise)
    assert decisions(whole.folder / "whole") == noted
    assert len(endpoint.asked) == asked


def test_decisions_are_those_that_the_records_give(whole: Any) -> None:
    run = Run(whole.folder / "whole")
    assert decided_again(run) == [text for _, text in decisions(run.path)]


def test_stopped_within_a_round_it_reports_the_one_before_and_goes_on(whole: Any, endpoint: Any) -> None:
    first = Counter({"night-buses": 72, "trams": 72})
    limit = 144 + 30
    manifest = runs_until(whole, limit)
    assert (manifest.status, manifest.reached) == ("stopped", "calls")
    assert Counter(whole.records("cut")["issue"]) == first
    assert manifest.missing == {whole.spec(): []}
    (reached,) = manifest.precise.values()
    assert reached.last.blocks
    assert reached.trials == 144
    assert whole.resume("cut", limits=Limits(calls=99_000)).status == "finished"
    assert whole.records("cut").equals(whole.records("whole"))
    assert decisions(whole.folder / "cut") == decisions(whole.folder / "whole")


def test_a_stop_while_earlier_rounds_are_replayed_loses_no_records(
    whole: Any, endpoint: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_until(whole, len(endpoint.asked) - 1)
    before, noted = whole.records("cut"), decisions(whole.folder / "cut")
    assert len(noted) > 2
    answer = Dispatcher.outcome

    async def stop_at_once(dispatcher: Dispatcher, *call: Any) -> Any:
        dispatcher.stop(Stopped("interrupted"))
        return await answer(dispatcher, *call)

    monkeypatch.setattr(Dispatcher, "outcome", stop_at_once)
    assert whole.resume("cut", limits=Limits(calls=99_000)).status == "stopped"
    assert whole.records("cut").equals(before)
    monkeypatch.undo()
    assert decisions(whole.folder / "cut") == noted
    whole.resume("cut", limits=Limits(calls=99_000))
    assert whole.records("cut").equals(whole.records("whole"))


def runs_until(runs: Any, calls: int) -> Any:
    return runs.start("cut", trials=TRIALS, precision=PrecisionTarget(WANTED), limits=Limits(calls=calls))


def test_stopped_in_its_first_round_it_reports_whole_items_only(runs: Any) -> None:
    manifest = runs.start(
        "cut",
        trials=TRIALS,
        precision=PrecisionTarget(WANTED),
        limits=Limits(calls=100),
        models=[runs.request(connections=1)],
    )
    assert set(runs.records("cut")["issue"]) == {"night-buses"}
    assert manifest.missing == {runs.spec(): ["trams"]}


def test_calls_that_failed_are_asked_again_and_their_round_decided_again(runs: Any, endpoint: Any) -> None:
    async def refuses_some(asked: Any) -> web.Response | None:
        return web.Response(status=400) if asked.chance < 0.1 else None

    endpoint.behave = refuses_some
    manifest = runs.start("run", trials=TRIALS, precision=PrecisionTarget(WANTED))
    assert manifest.status == "finished"
    assert manifest.spent.failed
    endpoint.behave = None
    again = runs.resume("run", retry_failed=True)
    assert (again.status, again.spent.failed) == ("finished", 0)
    assert runs.resume("run").precise == again.precise


def test_each_model_goes_its_own_way(runs: Any) -> None:
    alone = runs.start("alone", trials=TRIALS, precision=PrecisionTarget(WANTED), models=[runs.request("m")])
    both = runs.start(
        "both", trials=TRIALS, precision=PrecisionTarget(WANTED), models=[runs.request("m"), runs.request("n")]
    )
    assert both.precise[runs.spec("m")] == alone.precise[runs.spec("m")]
    assert len(both.precise) == 2


def test_it_makes_no_more_calls_than_are_allowed(runs: Any, endpoint: Any) -> None:
    manifest = runs.start("run", trials=3, precision=PrecisionTarget({}, 200))
    assert manifest.status == "finished"
    assert 188 < len(endpoint.asked) <= 200


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (PrecisionTarget({}, 100), "the first round alone takes 144"),
        (PrecisionTarget({"none": 1.0}), "no such measure"),
    ],
)
def test_impossible_precision_is_refused_before_any_call(
    runs: Any, endpoint: Any, wanted: PrecisionTarget, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        runs.start("run", trials=TRIALS, precision=wanted)
    assert not endpoint.asked
    assert not (runs.folder / "run").exists()


def test_its_options_do_not_grow(whole: Any) -> None:
    with pytest.raises(InputError, match="start another run"):
        whole.extend("whole", options=Options(trials=TRIALS + 1))


class Killer:
    """Kills a process just before one of its replies, or soon after it, when a round may be decided."""

    def __init__(self, endpoint: Any, chance: random.Random, most: int) -> None:
        self._number, self._seconds = chance.randrange(1, most), chance.choice([0.0, chance.uniform(0, 0.8)])
        self._pid, self._target = 0, threading.Event()
        self._timer: threading.Timer | None = None
        self._endpoint = endpoint
        endpoint.before_reply = self._on_reply

    def aim(self, pid: int) -> None:
        self._pid = pid
        self._target.set()

    def _on_reply(self, asked: Any) -> None:
        self._number -= 1
        if self._number == 0 and self._target.wait(10):
            self._timer = threading.Timer(self._seconds, self._kill)
            (self._kill if not self._seconds else self._timer.start)()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)

    def disarm(self) -> None:
        self._endpoint.before_reply = None
        if self._timer is not None:
            self._timer.cancel()


def killed_until_finished(nursery: Nursery, job: Any, killer: Callable[[], Killer], kills: int) -> int:
    """Start a job again until it finishes, killed so many times at most; gives how often it was."""
    killed, status = 0, -signal.SIGKILL
    while status != 0:
        armed = killer() if killed < kills else None
        pid = nursery.start(job)
        if armed:
            armed.aim(pid)
        status = nursery.status()
        if armed:
            armed.disarm()
        assert status in (0, -signal.SIGKILL), nursery.log.read_text()
        killed += status != 0
    return killed


@pytest.mark.parametrize(("kills", "wanted"), [(2, WANTED), pytest.param(20, BOTH, marks=pytest.mark.long)])
def test_killed_at_random_moments_it_decides_and_records_the_same(
    runs: Any, endpoint: Any, nursery: Nursery, kills: int, wanted: dict[str, float]
) -> None:
    whole = runs
    assert whole.start("whole", trials=TRIALS, precision=PrecisionTarget(wanted)).status == "finished"
    chance, killed, number = random.Random(kills), 0, 0
    endpoint.latency = 0.002
    while killed < kills:
        number += 1
        job = whole.job(f"run-{number}", trials=TRIALS, precision=wanted)
        asked = len(endpoint.asked)
        killed += killed_until_finished(nursery, job, partial(Killer, endpoint, chance, 250), kills - killed)
        assert whole.records(f"run-{number}").equals(whole.records("whole"))
        assert decisions(whole.folder / f"run-{number}") == decisions(whole.folder / "whole")
        assert set(endpoint.seeds(asked)) == set(endpoint.seeds()[: whole.manifest("whole").trials])


def test_notes_are_read_with_care() -> None:
    """A journal may be somebody else's."""
    for text in ("", "[]", json.dumps({"blocks": [["a", "b", "c"]]}), "{" * 10_000):
        with pytest.raises(JournalError, match="note of a round"):
            decision_of(text)
