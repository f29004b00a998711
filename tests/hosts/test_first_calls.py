"""Where an endpoint may lack something, one call finds that out; with an endpoint that lacks nothing, all is as before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from overton.calls import Form, Trial, user
from overton.engine import Patience
from overton.errors import AccessError
from overton.hosts.local import Manifest, ModelRequest, resume, start
from overton.studies.items import Items
from overton.studies.study import Role, Study

CONNECTIONS = 64
TEXTS = 100
SCHEMA = {"type": "object", "properties": {"label": {"type": "string"}}, "required": ["label"]}


class Text(msgspec.Struct, frozen=True):
    id: str


class Label(msgspec.Struct, frozen=True):
    text: str
    label: str


class Labels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


def trials(texts: Sequence[Text], options: Any, seed: int) -> Iterator[Trial]:
    for text in texts:
        yield Trial(f"{text.id}/label", text.id, seed)


def labelling(form: Form | None) -> Any:
    """A study that asks for a text and has it labelled in this form."""

    async def conduct(trial: Trial, ask: Any) -> list[Label]:
        await ask("subject", [user(f"Say something of {trial.item}.")])
        label = await ask("judge", [user(f"Label {trial.item}.")], form=form)
        return [Label(trial.item, label.text)]

    return Study(
        name="labelled",
        roles=(Role("subject", "Model to measure", flag="model"), Role("judge", "Model that labels", judges=True)),
        items=Items(Text, "text", "texts"),
        options=Labels,
        record=Label,
        trials=trials,
        conduct=conduct,
        prompts=dict,
    )


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
    """Counts the requests to each model, most in flight of each before its first answer, and refuses what it `lacks`:
    a field of the body and, as its reply, a message (400), a status, or None for a reply without what was asked."""

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
        return start(labelling(form), items, wanted, self.folder / "run", patience=Patience(3, 0.002, 0.02))

    def again(self, form: Form | None) -> Manifest:
        return resume(labelling(form), self.folder / "run", patience=Patience(3, 0.002, 0.02))


@pytest.fixture
def server(endpoint: Any, tmp_path: Path) -> Server:
    return Server(endpoint, tmp_path)


def probabilities(runs: Any, *names: str, **more: Any) -> Manifest:
    models = [runs.request(name, connections=CONNECTIONS) for name in names or ("m",)]
    return runs.start(models=models, options={"shares": "probabilities", "calibrate": 0}, **more)


@pytest.mark.parametrize("names", [("m",), ("m", "n")])
def test_one_call_shows_that_an_endpoint_has_no_token_probabilities(
    runs: Any, server: Server, names: tuple[str, ...]
) -> None:
    server.lacks["logprobs"] = None
    with pytest.raises(AccessError, match=r"sent no token probabilities .*Use --shares sampled"):
        probabilities(runs, *names)
    assert all(server.to(name) <= 1 for name in names)
    assert 1 <= server.sent("logprobs") <= len(names)
    manifest = runs.manifest()
    assert (manifest.status, manifest.spent.requests) == ("stopped", len(server.bodies))
    print(Counter(body["model"] for body in server.bodies))
