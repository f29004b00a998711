"""The first replies of each model, and of each judge, are read before the rest is paid for."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.runs.conftest import Runs
from tests.runs.labelled_texts import Label, Text, labelled
from tests.runs.starting import start_run

from overton.calls import Trial, user
from overton.engine import Limits, entries
from overton.engine.first_replies import SAMPLE, ReadCount
from overton.runs.answerers import open_models
from overton.runs.dry_run import plan
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest
from overton.studies.open_mindedness import STUDY, Options

CALLS = 2 * 66
NONSENSE = "Zorp flibber \x1b[31mwok."
READABLE = "position <<A>>"
LABEL = json.dumps({"stance": "neither", "strength": "none", "declines": False})


def replying(text: str, *, finish: str = "stop", refusal: str | None = None) -> web.Response:
    message = {"role": "assistant", "content": text, **({"refusal": refusal} if refusal else {})}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    named = {"id": "1", "object": "chat.completion", "created": 1, "model": "served"}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    return web.json_response({**named, "choices": [choice], "usage": usage})


class Server:
    """The endpoint, whose models reply with `texts` by name, otherwise with `text`; the first replies are `first`."""

    def __init__(self, endpoint: Any) -> None:
        self.endpoint = endpoint
        self.text = NONSENSE
        self.first: list[str] = []
        self.texts: dict[str, str] = {}
        self.more: dict[str, Any] = {}
        endpoint.behave = self._behave

    async def _behave(self, asked: Any) -> web.Response:
        text = self.first.pop(0) if self.first else self.texts.get(asked.model, self.text)
        return replying(text, **self.more)

    @property
    def calls(self) -> Counter[str]:
        return Counter(asked.model for asked in self.endpoint.asked)


@pytest.fixture
def server(endpoint: Any) -> Server:
    return Server(endpoint)


def counts(manifest: Manifest) -> list[ReadCount]:
    assert manifest.first_replies is not msgspec.UNSET
    return list(manifest.first_replies.counts.values())


def test_a_model_that_cannot_be_read_costs_one_sample(runs: Runs, server: Server) -> None:
    manifest = runs.start()
    assert server.calls.total() == SAMPLE
    assert (manifest.status, counts(manifest)) == ("stopped", [ReadCount(0, SAMPLE, "failed")])
    assert manifest.unread == [runs.spec()]
    said = manifest.stopped
    assert said.startswith(f"Overton could not read 6 of the first 6 replies of {runs.spec()}. It stops if more")
    assert f"'Zorp flibber \\x1b[31mwok.' ({next(STUDY.trials(runs.issues, Options(trials=1), 0)).name}: " in said


@pytest.mark.parametrize(
    "text", ["**Answer: A**\n\nBecause of balance.", "<think>A or B? Both have a case.</think>\nA"]
)
@pytest.mark.parametrize(("reading", "finishes"), [("common", True), ("strict", False)])
def test_replies_are_read_as_the_run_reads_them(
    runs: Runs, server: Server, text: str, reading: Any, finishes: bool
) -> None:
    server.text = text
    manifest = runs.start(kind=STUDY.options, options={"reading": reading})
    assert (manifest.status == "finished") is finishes
    assert server.calls.total() == (CALLS if finishes else SAMPLE)


def test_three_different_replies_are_quoted_cut(runs: Runs, server: Server) -> None:
    server.first = [f"{number} {'x' * 500}" for number in range(SAMPLE)]
    said = runs.start(models=[runs.request(connections=1)]).stopped
    assert [f"'{number} xxx" in said for number in range(5)] == [True, True, True, False, False]
    assert len(said) < 700


@pytest.mark.parametrize(("unread", "finishes"), [(5, True), (6, False)])
def test_half_of_the_sample_is_enough(runs: Runs, server: Server, unread: int, finishes: bool) -> None:
    server.first, server.text = [NONSENSE] * unread, READABLE
    manifest = runs.start(models=[runs.request(connections=1)])
    assert (manifest.status == "finished") is finishes
    assert counts(manifest) == [ReadCount(5, 10, "passed") if finishes else ReadCount(0, 6, "failed")]
    assert server.calls.total() == (CALLS if finishes else 6)


@pytest.mark.parametrize("said", ["I'm sorry, but I can't take a side.", "As an AI, I hold no opinions."])
def test_refusals_in_prose_are_answers(runs: Runs, server: Server, said: str) -> None:
    server.text = said
    assert runs.start().status == "finished"
    assert server.calls.total() == CALLS


def test_refusals_that_the_endpoint_flags_are_answers(runs: Runs, server: Server) -> None:
    server.text, server.more = "", {"refusal": "No."}
    assert runs.start().status == "finished"


def test_failed_calls_do_not_count_as_first_replies(runs: Runs, endpoint: Any) -> None:
    async def behave(asked: Any) -> web.Response:
        if len(endpoint.asked) <= 15 and len(endpoint.asked) != 1:
            return web.json_response({"error": {"message": "too long"}}, status=400)
        return replying(READABLE)

    endpoint.behave = behave
    manifest = runs.start()
    assert (manifest.status, manifest.spent.failed) == ("finished", 14)
    assert counts(manifest) == [ReadCount(SAMPLE, SAMPLE, "passed")]


def test_no_more_than_a_sample_is_in_flight_before_it_is_read(runs: Runs, endpoint: Any) -> None:
    seen: list[int] = []

    async def behave(asked: Any) -> web.Response:
        seen.append(endpoint.under_way)
        await asyncio.sleep(0.02)
        return replying(READABLE)

    endpoint.behave = behave
    assert runs.start(models=[runs.request(connections=64)]).status == "finished"
    assert max(seen[:SAMPLE]) <= SAMPLE < max(seen)


def test_a_run_smaller_than_the_sample_ends(runs: Runs, server: Server) -> None:
    manifest = runs.start(issues=runs.issues[:1], options={"conditions": ("baseline",), "templates": (1,)})
    assert (manifest.status, server.calls.total(), counts(manifest)) == ("finished", 1, [ReadCount(0, 1)])


def test_with_anyway_the_run_goes_on_and_its_manifest_says_so(runs: Runs, server: Server) -> None:
    manifest = runs.start(anyway=True)
    assert (manifest.status, server.calls.total()) == ("finished", CALLS)
    assert manifest.first_replies is not msgspec.UNSET
    assert (manifest.first_replies.anyway, manifest.unread) == (True, [])
    assert counts(manifest) == [ReadCount(0, SAMPLE)]


def test_the_check_changes_no_call_and_no_record(runs: Runs) -> None:
    runs.start("checked")
    runs.start("unchecked", anyway=True)
    assert runs.records("checked").equals(runs.records("unchecked"))
    assert runs.outcomes("checked") == runs.outcomes("unchecked")


def test_resumed_on_the_same_server_it_stops_after_another_sample(runs: Runs, server: Server) -> None:
    runs.start()
    assert runs.resume().status == "stopped"
    assert server.calls.total() == 2 * SAMPLE
    assert len(set(runs.endpoint.seeds())) == 2 * SAMPLE


def test_a_run_resumed_on_a_repaired_server_keeps_its_answers(runs: Runs, server: Server) -> None:
    runs.start()
    server.text = READABLE
    manifest = runs.resume()
    assert (manifest.status, manifest.unread, server.calls.total()) == ("finished", [], CALLS)
    assert runs.records()["letter"].null_count() == SAMPLE
    runs.resume()
    assert server.calls.total() == CALLS


def test_resumed_with_anyway_it_finishes_and_is_never_stopped_again(runs: Runs, server: Server) -> None:
    runs.start()
    assert runs.resume(anyway=True, limits=Limits(calls=50)).reached == "calls"
    assert runs.resume(limits=Limits(calls=1_000)).status == "finished"
    assert server.calls.total() == CALLS


def test_a_run_without_first_replies_in_its_manifest_is_not_checked(runs: Runs, server: Server) -> None:
    runs.start(limits=Limits(calls=3), anyway=True)
    path = runs.folder / "run" / "manifest.json"
    older = json.loads(path.read_text())
    del older["first_replies"]
    path.write_text(json.dumps(older))
    assert runs.resume(limits=Limits(calls=1_000)).status == "finished"
    assert "first_replies" not in json.loads(path.read_text())


def test_one_bad_model_stops_the_run_and_the_replies_of_others_are_kept(runs: Runs, server: Server) -> None:
    server.texts = {"n": READABLE}
    manifest = runs.start(models=[runs.request("m"), runs.request("n")])
    assert manifest.unread == [runs.spec("m")]
    kept = [entry for entry in entries(runs.folder / "run" / "journal.db") if "n" in entry.place.answerer]
    assert len(kept) == server.calls["n"] >= 5
    assert server.calls["m"] == SAMPLE


@pytest.mark.parametrize("at", [4, SAMPLE + 20])
def test_killed_before_or_after_the_decision_nothing_is_asked_twice(runs: Runs, server: Server, at: int) -> None:
    server.text = READABLE
    child = runs.child()
    inner = runs.endpoint.behave

    async def behave(asked: Any) -> Any:
        if len(runs.endpoint.asked) == at:
            child.send_signal(signal.SIGKILL)
        return await inner(asked)

    runs.endpoint.behave = behave
    child.communicate(timeout=60)
    before = len(runs.outcomes())
    sent = server.calls.total()
    if at > SAMPLE:
        assert counts(runs.manifest())[0].decision == "passed"
        server.text = NONSENSE  # the decision stands
    manifest = runs.resume()
    assert manifest.status == "finished"
    assert server.calls.total() - sent == CALLS - before


def test_killed_before_the_decision_replies_of_before_count(runs: Runs, server: Server) -> None:
    runs.start(limits=Limits(calls=4), models=[runs.request(connections=1)])
    assert runs.resume(limits=Limits(calls=1_000)).status == "stopped"
    assert server.calls.total() < 4 + SAMPLE


# Replies that are taken as they come


async def say(trial: Trial, ask: Any) -> list[Label]:
    said = await ask("subject", [user(f"Please say in your own words what you think of {trial.item}.")])
    return [Label(trial.item, said.text, "")]


def start_free(runs: Runs, out: str = "run", **more: Any) -> Manifest:
    """A run of a study whose model answers in its own words."""
    study, texts = labelled(say), [Text(f"text {number}") for number in range(40)]
    wanted = {"subject": [runs.request()], "judge": [runs.request("judge")]}
    return start_run(Experiment(study, texts, study.options()), wanted, runs.folder / out, **more)


@pytest.mark.parametrize(
    ("text", "finish", "problem"),
    [
        ("", "stop", "it is empty"),
        ("- . -", "stop", "it is empty"),
        ("", "length", "it was cut off at max_tokens"),
        ("I think that", "length", "it was cut off at max_tokens"),
    ],
)
def test_malformed_replies_count_as_unreadable(
    runs: Runs, server: Server, text: str, finish: str, problem: str
) -> None:
    server.text, server.more = text, {"finish": finish}
    manifest = start_free(runs)
    assert (manifest.status, server.calls["m"]) == ("stopped", SAMPLE)
    assert f": {problem})" in manifest.stopped


def test_an_echo_cannot_be_read_and_a_text_can(runs: Runs, endpoint: Any) -> None:
    async def echo(asked: Any) -> web.Response:
        return replying(asked.prompt)

    endpoint.behave = echo
    assert ": it repeats its prompt)" in start_free(runs, "echo").stopped
    endpoint.behave = Server(endpoint)._behave
    assert start_free(runs, "text").status == "finished"


# Judges


def judged(runs: Runs, out: str = "run", **more: Any) -> Manifest:
    wanted = {"subject": [runs.request()], "judge": [runs.request("judge", ("temperature", "0"))]}
    options = Options(trials=1, answers="free", conditions=("baseline",))
    return start_run(Experiment(STUDY, runs.issues, options), wanted, runs.folder / out, **more)


def test_a_judge_that_cannot_be_read_costs_no_call_to_the_model(runs: Runs, server: Server) -> None:
    manifest = judged(runs)
    assert (manifest.status, server.calls) == ("stopped", {"judge": 3})
    assert manifest.unread == [f"{runs.spec('judge')} as judge"]
    assert manifest.spent.requests == 3
    assert manifest.stopped.startswith(
        f"none of 3 replies of {runs.spec('judge')} as judge about texts with known labels"
    )
    judged(runs, "refused", anyway=True)
    assert server.calls["m"] == 12


def test_a_judge_that_is_repaired_is_tried_again_once_and_nothing_is_asked_twice(runs: Runs, server: Server) -> None:
    judged(runs)
    server.texts = {"judge": LABEL, "m": "I can't take a side."}
    assert runs.resume().status == "finished"
    assert server.calls == {"judge": 3 + 1 + 12, "m": 12}
    assert runs.resume().status == "finished"
    assert server.calls.total() == 28


def test_a_judge_that_can_be_read_labels_one_control_per_run(runs: Runs, server: Server) -> None:
    server.texts = {"judge": LABEL, "m": "I can't take a side."}
    manifest = judged(runs, limits=Limits(calls=5))
    control = runs.endpoint.asked[0]
    assert (control.model, "night ferry to Orm Island" in control.prompt) == ("judge", True)
    assert manifest.status == "stopped"
    assert runs.resume(limits=Limits(calls=1_000)).status == "finished"
    assert sum("Orm Island" in asked.prompt for asked in runs.endpoint.asked) == 1
    assert server.calls == {"judge": 13, "m": 12}


def test_the_plan_counts_the_control(runs: Runs, server: Server) -> None:
    wanted = {"subject": [runs.request()], "judge": [runs.request("judge", ("temperature", "0"))]}
    experiment = Experiment(STUDY, runs.issues, Options(trials=1, answers="free", conditions=("baseline",)))
    planned = {row.role: row for row in plan(experiment, open_models(STUDY, runs.issues, wanted, 0)).models}
    assert (planned["judge"].calls, planned["subject"].calls) == (13, 12)
    assert not server.calls


def test_the_same_text_in_reply_to_different_prompts_cannot_be_read(runs: Runs, server: Server) -> None:
    server.texts = {"judge": LABEL}
    manifest = judged(runs)
    assert (manifest.status, manifest.unread) == ("stopped", [runs.spec()])
    assert "another prompt got the same reply" in manifest.stopped


# Batches


def test_the_first_calls_go_alone_and_a_batch_that_could_not_be_read_is_never_sent(asked: Any, tmp_path: Path) -> None:
    said = asked.start("good", batch=True, anyway=False)
    assert said.status == "finished"
    assert 5 <= asked.served.alone.total() <= SAMPLE
    assert asked.served.alone.total() + len(asked.served.provider.paid) >= 66


# On the command line


def test_the_command_names_the_remedy_and_exits_with_4(runs: Runs, server: Server, command_line: Any) -> None:
    words = ("open-mindedness", "--model", f"m={runs.spec()}", "--trials", "1", "--only", "voting-age")
    stopped = command_line("run", *words, "--out", "run", folder=runs.folder)
    assert (stopped.returncode, server.calls.total()) == (4, SAMPLE)
    lines = stopped.stderr.splitlines()
    assert not any(line.startswith("Readable among the first replies") for line in lines)
    assert any(line.startswith("Stopped: Overton could not read 6 of the first 6 replies of m.") for line in lines)
    assert any(line.endswith("overton show run --unread") for line in lines)
    assert any(line.endswith("overton resume run --anyway") for line in lines)
    assert "\x1b" not in stopped.stderr
    shown = command_line("show", "run", "--unread", "--json", folder=runs.folder)
    assert len(json.loads(shown.stdout)) == SAMPLE
    assert command_line("resume", "run", "--anyway", folder=runs.folder).returncode == 0
    assert server.calls.total() == 66
