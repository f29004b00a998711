"""Where an endpoint may lack something, one call finds that out; an endpoint that lacks nothing sees no difference."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.runs.labelled_texts import Label, Text, labelled
from tests.runs.starting import resume_run, start_run

from overton.calls import Form, Price, Trial, user
from overton.engine import RetryPolicy
from overton.engine.first_calls import unsupported
from overton.errors import AccessError, CallFailed, RejectedError
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest

CONNECTIONS = 64
TEXTS = 100
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}


def labelling(form: Form | None) -> Any:
    """A study that asks for a text and has it labelled in this form."""

    async def conduct(trial: Trial, ask: Any) -> list[Label]:
        said = await ask("subject", [user(f"Say something of {trial.item}.")])
        try:
            label = await ask("judge", [user(f"Label {trial.item}.")], form=form)
        except CallFailed as failed:
            return [Label(trial.item, said.text, str(failed))]
        return [Label(trial.item, said.text, label.text)]

    return labelled(conduct)


def tokens(text: str) -> dict[str, Any]:
    """Token probabilities of a reply: each character is a token that was certain."""
    return {"content": [{"token": one, "logprob": 0.0, "top_logprobs": []} for one in text]}


def answered(asked: Any, text: str, *, logprobs: bool = False) -> web.Response:
    choice: dict[str, Any] = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    if logprobs:
        choice["logprobs"] = tokens(text)
    asked.replied = True
    return web.json_response({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}})


def refused(message: str, status: int = 400) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "invalid_request_error"}}, status=status)


class Server:
    """A server that counts the requests to each model, and the most in flight of each before its first answer. It
    refuses features that it `lacks`: a field of the body and, as its reply, a message (400), a status, or None for a
    reply without the feature."""

    def __init__(self, endpoint: Any, folder: Path) -> None:
        self.endpoint, self.folder = endpoint, folder
        self.bodies: list[dict[str, Any]] = []
        self.lacks: dict[str, str | None] = {}
        self.statuses: dict[str, int] = {}
        self.fails_first: int = 0
        endpoint.latency = 0.02
        endpoint.behave = self._behave

    async def _behave(self, asked: Any) -> web.Response | None:
        body = msgspec.json.decode(await asked.request.read())
        self.bodies.append(body)
        if len(self.bodies) <= self.fails_first:
            return web.Response(status=503)
        if status := self.statuses.get(body["model"]):
            return refused("No.", status)
        for name, message in self.lacks.items():
            if name in body and message is not None:
                return refused(message)
        text = '{"label": "A"}' if "response_format" in body else "position <<A>>"
        return answered(asked, text, logprobs="logprobs" in body and "logprobs" not in self.lacks)

    def sent(self, name: str) -> int:
        """How many requests had this field."""
        return sum(name in body for body in self.bodies)

    def to(self, model: str) -> int:
        """How many requests this model received."""
        return sum(body["model"] == model for body in self.bodies)

    def request(self, model: str, *args: tuple[str, str]) -> ModelRequest:
        return ModelRequest(f"{self.endpoint.url}#{model}", (("connections", str(CONNECTIONS)), *args))

    def label(self, form: Form | None, *args: tuple[str, str], texts: int = TEXTS) -> Manifest:
        """A run in which a judge, whose temperature is given, labels texts."""
        wanted = {"subject": [self.request("m")], "judge": [self.request("j", ("temperature", "0"), *args)]}
        items = [Text(f"t{number}") for number in range(texts)]
        study = labelling(form)
        asked = Experiment(study, items, study.options())
        return start_run(asked, wanted, self.folder / "run", patience=RetryPolicy(3, 0.002, 0.02))

    def again(self, form: Form | None) -> Manifest:
        return resume_run(labelling(form), self.folder / "run", patience=RetryPolicy(3, 0.002, 0.02))


@pytest.fixture
def server(endpoint: Any, tmp_path: Path) -> Server:
    return Server(endpoint, tmp_path)


def probabilities(runs: Any, *names: str, **more: Any) -> Manifest:
    models = [runs.request(name, connections=CONNECTIONS) for name in names or ("m",)]
    return runs.start(models=models, options={"shares": "probabilities", "calibrate": 0}, **more)


def sentence_of(runs: Any, server: Server, *names: str) -> str:
    with pytest.raises(AccessError) as raised:
        probabilities(runs, *names)
    return str(raised.value)


@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_one_call_shows_that_an_endpoint_has_no_token_probabilities(
    runs: Any, server: Server, names: tuple[str, ...]
) -> None:
    server.lacks["logprobs"] = None
    sentence = sentence_of(runs, server, *names)
    assert (
        "sent no token probabilities (logprobs), which it may not have for this model. Use --shares sampled" in sentence
    )
    assert 1 <= len(server.bodies) == server.sent("logprobs") <= len(names)
    assert all(server.to(name) <= 1 for name in names)
    manifest = runs.manifest()
    assert (manifest.status, manifest.spent.requests) == ("stopped", len(server.bodies))


def test_a_reply_without_token_probabilities_counts_as_paid(runs: Any, server: Server) -> None:
    server.lacks["logprobs"] = None
    price = Price(10.0, 100.0)
    model = ModelRequest(runs.spec(), (("connections", "64"), ("max_tokens", "40")), price)
    with pytest.raises(AccessError, match="no token probabilities"):
        runs.start(models=[model], options={"shares": "probabilities", "calibrate": 0})
    least, most = (9 * 10.0 + 3 * 100.0) / 1e6, (9_000 * 10.0 + 40 * 100.0) / 1e6
    assert least <= runs.manifest().spent.cost <= most


REJECTIONS = {
    "logprobs": "logprobs is not supported with this model",
    "seed": "Unsupported parameter: 'seed' is not supported with this model.",
    "response_format": "This model does not support response_format with json_schema",
}


def test_a_rejection_of_token_probabilities_ends_a_run_after_one_request(runs: Any, server: Server) -> None:
    server.lacks["logprobs"] = REJECTIONS["logprobs"]
    assert f"{REJECTIONS['logprobs']}): the first call with token probabilities was refused" in (
        sentence := sentence_of(runs, server)
    )
    assert sentence.endswith("Use --shares sampled")
    assert len(server.bodies) == 1
    assert runs.outcomes() == {}


FORMS = {
    "JSON schemas": (Form(schema=SCHEMA), "response_format", ("hold", "true")),
    "grammars": (Form(choices=("A", "B")), "response_format", ("hold", "true")),
    "seeds": (None, "seed", ("seed", "3")),
}


@pytest.mark.parametrize("what", FORMS)
def test_a_rejected_feature_ends_a_run_after_one_request_of_its_kind(server: Server, what: str) -> None:
    form, field, argument = FORMS[what]
    server.lacks[field] = REJECTIONS[field]
    with pytest.raises(AccessError) as raised:
        server.label(form, argument)
    assert f"({400}: {REJECTIONS[field]}): the first call with {what} was refused" in str(raised.value)
    assert str(raised.value).endswith(f"Leave out its argument {argument[0]}")
    assert (server.sent(field), server.to("j")) == (1, 1)


@pytest.mark.parametrize(("status", "count"), [(404, 1), (401, 1), (400, 24)])
def test_a_judge_that_answers_nothing_is_asked_no_more_often_than_shows_it(
    server: Server, status: int, count: int
) -> None:
    server.statuses["j"] = status
    if status == 400:  # about this one call, as far as anybody knows: given up once all of many were rejected
        assert "24 calls in a row" in server.label(None).stopped
    else:
        with pytest.raises(AccessError):
            server.label(None)
    assert server.to("j") == count


def test_a_rejection_for_another_reason_is_a_failed_call_and_the_next_goes_alone(server: Server) -> None:
    async def behave(asked: Any) -> web.Response:
        server.bodies.append(msgspec.json.decode(await asked.request.read()))
        if asked.model == "j" and server.to("j") == 1:
            return refused("This prompt was flagged, whatever its seed or schema", 400)
        return answered(asked, '{"label": "A"}')

    server.endpoint.behave = behave
    manifest = server.label(Form(schema=SCHEMA), ("hold", "true"))
    assert (manifest.status, manifest.spent.failed, server.to("j")) == ("finished", 1, TEXTS)


def test_a_finished_run_is_resumed_without_a_request_and_a_stopped_one_tries_again_alone(
    runs: Any, server: Server
) -> None:
    server.lacks["logprobs"] = None
    sentence_of(runs, server)
    with pytest.raises(AccessError):
        runs.resume()
    assert len(server.bodies) == 2
    server.lacks.clear()
    assert runs.resume().status == "finished"
    sent = len(server.bodies)
    assert sent == 2 + 132
    assert runs.resume().status == "finished"
    assert len(server.bodies) == sent


def test_an_endpoint_that_fails_at_first_delays_no_call_for_long(runs: Any, server: Server) -> None:
    """Each attempt without a reply lets one more call go."""
    server.fails_first = 20
    runs.patience = RetryPolicy(8, 0.002, 0.02)
    assert probabilities(runs).status == "finished"
    assert server.endpoint.most_under_way > 8
    assert len(server.bodies) == 132 + 20


class Waits:
    """How many requests of a kind are in flight when the first of them is answered."""

    def __init__(self, server: Server, kind: str) -> None:
        self.most, self.first, self.server, self.kind = 0, True, server, kind
        server.endpoint.behave = self._behave
        self._under_way = 0

    async def _behave(self, asked: Any) -> web.Response | None:
        body = msgspec.json.decode(await asked.request.read())
        own = body["model"] == self.kind or self.kind in body
        self._under_way += own
        if self.first:
            self.most = max(self.most, self._under_way)
        reply = await self.server._behave(asked)
        await asyncio.sleep(0.05)
        self.first = self.first and not own
        self._under_way -= own
        return reply


@pytest.mark.parametrize("kind", ["logprobs", "seed"])
def test_only_the_first_call_of_a_kind_goes_alone(runs: Any, server: Server, kind: str) -> None:
    waits = Waits(server, kind)
    assert probabilities(runs).status == "finished"
    assert waits.most == 1
    assert server.endpoint.most_under_way == CONNECTIONS


def test_the_first_call_to_a_judge_goes_alone(server: Server) -> None:
    waits = Waits(server, "j")
    assert server.label(None).status == "finished"
    assert waits.most == 1
    assert (server.to("m"), server.to("j")) == (TEXTS, TEXTS)


def test_a_models_own_name_is_not_taken_for_a_missing_feature() -> None:
    error = RejectedError("rejected", "p/seed-oss: the request was rejected (400: seed-oss cannot do this)")
    assert unsupported(["seeds"], error, "p/seed-oss") is None
    error = RejectedError("rejected", "p/seed-oss: the request was rejected (400: seed is not supported)")
    assert unsupported(["seeds"], error, "p/seed-oss") is not None
    error = RejectedError("rejected", "m: the request was rejected (400: response_format is not supported)")
    assert unsupported(["grammars"], error, "m") is not None
    error = RejectedError("rejected", "p/seed-oss: the request was rejected (400: seed is not supported)")
    assert unsupported(["grammars", "judging"], error, "p/seed-oss") is None
    assert unsupported(["seeds"], RejectedError("filtered", str(error)), "p/seed-oss") is None
