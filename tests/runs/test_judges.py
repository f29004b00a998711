"""Judges are called at temperature 0 if their endpoint accepts it: one journaled request finds that out."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.runs.labelled_texts import Label, Labels, Text, labelled
from tests.runs.starting import extend_run, resume_run, start_run

from overton.calls import Price, Trial, user
from overton.engine import Limits, RetryPolicy, entries
from overton.errors import AccessError, RunMismatch
from overton.runs.answerers import ModelRequest, open_models
from overton.runs.dry_run import plan
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, read_manifest, stored_records
from overton.runs.temperature_probe import PROBE
from overton.runs.trust import Trust

OPENAI = {
    "error": {
        "message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is"
        " supported.",
        "type": "invalid_request_error",
        "param": "temperature",
        "code": "unsupported_value",
    }
}
ANTHROPIC = {
    "type": "error",
    "error": {"type": "invalid_request_error", "message": "temperature: `temperature` is deprecated for this model."},
}


async def conduct(trial: Trial, ask: Any) -> list[Label]:
    said = await ask("subject", [user(f"Say something of {trial.item}.")])
    label = await ask("judge", [user(f"Label this: {said.text}")])
    return [Label(trial.item, said.text, label.text)]


STUDY = labelled(conduct)
TEXTS = [Text("one"), Text("two"), Text("three")]
PATIENCE = RetryPolicy(2, 0.002, 0.02)


class Judges:
    """Runs over an endpoint whose models 'reasons' and 'claude' accept no temperature; it keeps every body sent."""

    def __init__(self, endpoint: Any, folder: Path) -> None:
        self.endpoint, self.folder = endpoint, folder
        self.bodies: list[dict[str, Any]] = []
        self.status: int = 0
        self.only_probes = False
        endpoint.behave = self._behave

    async def _behave(self, asked: Any) -> web.Response | None:
        body = msgspec.json.decode(await asked.request.read())
        self.bodies.append(body)
        if self.status and asked.model != "m" and (asked.prompt == PROBE[0].content or not self.only_probes):
            return web.json_response({"error": {"message": "No."}}, status=self.status)
        if asked.model in ("reasons", "claude") and "temperature" in body:
            return web.json_response(OPENAI if asked.model == "reasons" else ANTHROPIC, status=400)
        if asked.model == "claude":
            usage = {"input_tokens": 9, "output_tokens": 2}
            return web.json_response({"content": [{"type": "text", "text": "yes"}], "model": "claude", "usage": usage})
        return None

    def wanted(self, judge: str = "judge", *args: tuple[str, str], price: Price | None = None) -> Any:
        provider, url = ("anthropic/claude", (("base_url", self.endpoint.url),)) if judge == "claude" else ("", ())
        spec = provider or f"{self.endpoint.url}#{judge}"
        subject = ModelRequest(f"{self.endpoint.url}#m", (("connections", "2"),), price)
        return {"subject": [subject], "judge": [ModelRequest(spec, (*url, ("connections", "2"), *args), price)]}

    def start(self, judge: str = "judge", *args: tuple[str, str], out: str = "run", **more: Any) -> Manifest:
        wanted = self.wanted(judge, *args, price=more.pop("price", None))
        return start_run(
            Experiment(STUDY, TEXTS, STUDY.options()), wanted, self.folder / out, patience=PATIENCE, **more
        )

    def resume(self, out: str = "run", **more: Any) -> Manifest:
        return resume_run(STUDY, self.folder / out, patience=PATIENCE, **more)

    def sent(self, model: str) -> list[float | None]:
        return [body.get("temperature") for body in self.bodies if body["model"] == model]

    def probes(self) -> int:
        return sum(body["messages"][-1]["content"] == PROBE[0].content for body in self.bodies)


@pytest.fixture
def judges(endpoint: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judges:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    return Judges(endpoint, tmp_path)


def test_a_judge_that_takes_a_temperature_is_asked_at_0_and_whoever_is_judged_as_before(judges: Judges) -> None:
    manifest = judges.start()
    assert judges.sent("judge") == [0.0] * (1 + len(TEXTS))
    assert judges.sent("m") == [None] * len(TEXTS)
    (entry,) = manifest.models["judge"]
    assert (entry.settings.temperature, entry.unsure, entry.not_sent) == (0.0, False, ())
    assert not manifest.notes


@pytest.mark.parametrize("judge", ["reasons", "claude"])
def test_a_judge_that_refuses_is_asked_without_one_and_the_manifest_says_so(judges: Judges, judge: str) -> None:
    manifest = judges.start(judge)
    assert judges.sent(judge) == [0.0, *[None] * len(TEXTS)]
    (entry,) = manifest.models["judge"]
    assert (entry.settings.temperature, entry.unsure, entry.not_sent) == (None, False, ("temperature",))
    (said,) = [f"{name} {note}" for name, note in manifest.notes.items()]
    assert said.startswith(f"{entry.name} as judge refuses a temperature, so Overton sends none")
    assert manifest.status == "finished"
    assert manifest.spent.failed == 0  # a refusal is the answer sought


def test_it_is_asked_once_before_anything_else(judges: Judges) -> None:
    judges.start("reasons")
    assert judges.probes() == 1
    assert judges.bodies[0]["messages"][-1]["content"] == PROBE[0].content


def test_a_temperature_that_the_user_gives_is_sent_unasked(judges: Judges) -> None:
    manifest = judges.start("judge", ("temperature", "0.7"))
    assert judges.sent("judge") == [0.7] * len(TEXTS)
    assert judges.probes() == 0
    assert manifest.models["judge"][0].settings.temperature == 0.7


def test_a_replay_asks_nothing_and_gives_the_same_records(judges: Judges) -> None:
    judges.start("reasons")
    records, asked = stored_records(judges.folder / "run"), len(judges.bodies)
    judges.endpoint.stop()
    assert judges.resume().status == "finished"
    assert stored_records(judges.folder / "run").equals(records)
    assert len(judges.bodies) == asked


def test_the_probe_counts_as_a_request_and_is_paid(judges: Judges) -> None:
    taken = judges.start(price=Price(1.0, 1.0)).spent
    refused = judges.start("reasons", out="other", price=Price(1.0, 1.0)).spent
    assert taken.requests == refused.requests == 1 + 2 * len(TEXTS)
    assert refused.cost < taken.cost  # what was refused cost nothing


def test_a_limit_applies_to_the_probe_too(judges: Judges) -> None:
    manifest = judges.start(limits=Limits(calls=1))
    assert (manifest.status, manifest.reached, len(judges.bodies)) == ("stopped", "calls", 1)
    assert judges.resume(limits=Limits(calls=100)).status == "finished"
    assert judges.probes() == 1


def test_a_plan_counts_the_probe(judges: Judges) -> None:
    def planned(*args: tuple[str, str]) -> list[int]:
        models = open_models(STUDY, TEXTS, judges.wanted("judge", *args, price=Price(1.0, 1.0)), 0)
        return [row.calls for row in plan(Experiment(STUDY, TEXTS, Labels()), models).models]

    assert planned() == [3, 4]
    assert planned(("temperature", "0")) == [3, 3]


def test_a_refused_key_stops_the_run_before_anything_is_measured(judges: Judges) -> None:
    judges.status = 401
    with pytest.raises(AccessError):
        judges.start()
    assert judges.sent("m") == []
    judges.status = 0
    assert judges.resume().status == "finished"
    assert judges.sent("judge") == [0.0] * (2 + len(TEXTS))


def test_a_judge_that_is_down_stops_the_run_until_it_is_asked_again(judges: Judges) -> None:
    judges.status = 503
    manifest = judges.start("reasons")
    assert manifest.status == "stopped"
    assert "did not answer the request that tests whether it accepts temperature 0" in manifest.stopped
    assert manifest.models["judge"][0].unsure
    judges.status = 0
    assert judges.resume().status == "stopped"
    assert judges.resume(retry_failed=True).status == "finished"
    assert judges.sent("reasons")[-len(TEXTS) :] == [None] * len(TEXTS)
    assert judges.sent("m") == [None] * len(TEXTS)


def test_a_judge_that_rejects_the_request_for_another_reason_is_asked_on_at_0(judges: Judges) -> None:
    judges.only_probes, judges.status = True, 400
    manifest = judges.start()
    assert manifest.status == "finished"
    assert manifest.spent.failed == 1
    assert judges.sent("judge") == [0.0] * (1 + len(TEXTS))
    assert manifest.models["judge"][0].unsure
    assert judges.resume(retry_failed=True).status == "finished"
    assert judges.probes() == 1  # no call is left to make


def test_an_added_lane_uses_the_earlier_temperature_probe(judges: Judges) -> None:
    judges.start("reasons")
    more = {"subject": [ModelRequest(f"{judges.endpoint.url}#n")]}
    manifest = extend_run(STUDY, judges.folder / "run", more=more, patience=PATIENCE)
    assert manifest.status == "finished"
    assert manifest.models["judge"][0].not_sent == ("temperature",)
    assert judges.probes() == 1
    assert judges.sent("reasons")[1:] == [None] * 2 * len(TEXTS)


def test_a_judge_whose_settings_were_changed_in_the_manifest_is_reported(judges: Judges) -> None:
    judges.start("reasons", limits=Limits(calls=3))
    path = judges.folder / "run" / "manifest.json"
    path.write_text(path.read_text().replace('"not_sent": [\n          "temperature"\n        ]', '"not_sent": []'))
    with pytest.raises(RunMismatch, match="its settings is now"):
        judges.resume(limits=Limits(calls=100))


CHILD = "import sys; sys.path.insert(0, sys.argv[1]); from test_judges import killed; killed(*sys.argv[2:])"


def killed(url: str, out: str) -> None:
    """In a separate process: a run with a judge that refuses."""
    wanted = {"subject": [ModelRequest(f"{url}#m")], "judge": [ModelRequest(f"{url}#reasons")]}
    start_run(Experiment(STUDY, TEXTS, STUDY.options()), wanted, Path(out), patience=PATIENCE)


def test_killed_after_the_probe_a_run_does_not_ask_it_again(judges: Judges) -> None:
    child: list[subprocess.Popen[bytes]] = []

    def kill(asked: Any) -> None:
        if asked.model == "reasons":  # the first label, so that the probe is in the journal
            child[0].send_signal(signal.SIGKILL)
            child[0].wait()

    judges.endpoint.before_reply = kill
    out = judges.folder / "run"
    child.append(
        subprocess.Popen([sys.executable, "-c", CHILD, str(Path(__file__).parent), judges.endpoint.url, str(out)])
    )
    assert child[0].wait(30) == -signal.SIGKILL
    judges.endpoint.before_reply = None
    assert read_manifest(out).models["judge"][0].unsure  # it was not written down
    manifest = judges.resume(trust=Trust(True))
    assert judges.probes() == 1
    assert manifest.status == "finished"
    assert manifest.models["judge"][0].not_sent == ("temperature",)
    assert [one.place.speaker for one in entries(out / "journal.db") if not one.place.trial] == ["probe"]
