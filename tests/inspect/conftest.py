"""Evals of our tasks in this process, by Inspect AI, against the endpoint of the folder above."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from tests.runs import conftest as shared

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'overton[inspect]'")

endpoint, runs, served, asked = shared.endpoint, shared.runs, shared.served, shared.asked

KEY = "sk-inspect-not-to-be-told"
SEED = 5


@pytest.fixture(autouse=True)
def inspect_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Logs, caches and keys of Inspect's, for this test alone."""
    for name, value in {
        "INSPECT_LOG_DIR": str(tmp_path / "logs"),
        "INSPECT_CACHE_DIR": str(tmp_path / "cache"),
        "INSPECT_DISPLAY": "none",
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "LOCAL_API_KEY": KEY,
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def evaluate(endpoint: Any) -> Callable[..., Any]:
    """Eval a task of ours against the endpoint: its log."""
    from inspect_ai import eval as inspect_eval

    def made(task: str, *, model: str = "openai-api/local/m", **how: Any) -> Any:
        settings = {"seed": SEED, "log_samples": True, "model_base_url": endpoint.url} | how
        (log,) = inspect_eval(f"overton/{task}", model=model, display="none", **settings)
        return log

    return made


@pytest.fixture
def told() -> Callable[[Any], dict[str, float]]:
    """The figures of a log's design by name, without standard errors."""

    def found(log: Any) -> dict[str, float]:
        metrics = [
            one for score in log.results.scores if not score.scorer.endswith("_null") for one in score.metrics.values()
        ]
        return {one.name: one.value for one in metrics if one.name != "stderr"}

    return found


@pytest.fixture
def talking(endpoint: Any) -> Any:
    """The endpoint as the models of all studies: 'm' and the like are measured, 'judge' judges, 'values' names values.

    Each one's reply follows from the request alone.
    """

    async def behave(asked: Any) -> web.Response:
        body = msgspec.json.decode(await asked.request.read())
        asked.messages = [(message["role"], message["content"]) for message in body["messages"]]
        asked.temperature = body.get("temperature")
        words = {"judge": _judged, "values": lambda *_: '{"answers": ["Empathy", "Honesty"]}'}.get(asked.model, _said)
        asked.replied = True
        endpoint.replied.append(asked)
        said = words(asked)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        if body.get("logprobs"):
            choice["logprobs"] = {"content": [_told(token) for token in re.findall(r"\w+|\W", said)]}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": f"{asked.model}-2026"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        if endpoint.before_reply:
            endpoint.before_reply(asked)
        return web.Response(
            body=msgspec.json.encode(body | {"choices": [choice], "usage": usage}), content_type="application/json"
        )

    endpoint.behave = behave
    return endpoint


def _told(token: str) -> dict[str, Any]:
    """A token with the log probabilities of itself, 0.7, and of another, 0.2."""
    others = [{"token": one, "logprob": math.log(chance)} for one, chance in ((token, 0.7), ("B", 0.2))]
    return others[0] | {"bytes": list(token.encode()), "top_logprobs": others}


OPINION = re.compile(r"^(\d+)\. ", re.MULTILINE)
OPTION = re.compile(r"^\((\w)\) ", re.MULTILINE)
STANCES = ("supporting", "against", "neutral")


def _said(asked: Any) -> str:
    """An answer of a measured model."""
    prompt, chance = asked.prompt, asked.chance
    system = asked.messages[0][1]
    if "position <<A>>" in prompt:
        return str(asked.reply)
    if prompt.startswith("Write one short query"):
        return " ".join(prompt.split("Question: ")[1].split()[:9])
    if "verdict" in system:
        return f"{('YTA', 'NTA')[int(chance * 2)]}: since {chance:.6f}."
    if prompt.endswith("Your ranking:"):
        turn = int(chance * 5)
        return ", ".join(map(str, [1, 2, 3, 4, 5][turn:] + [1, 2, 3, 4, 5][:turn]))
    if "'1' or '2'" in prompt:
        return "12"[int(chance * 2)]
    return "\n\n".join(f"{number}. Response {chance:.6f} [1]." for number in (1, 2, 3))


def _judged(asked: Any) -> str:
    """A judgement of stance stability's, pluralism's or even-handedness' judge."""
    prompt, chance = asked.prompt, asked.chance
    if options := OPTION.findall(prompt):
        return f"({options[int(chance * len(options))]})"
    opinions = prompt.partition("<opinions>")[2].partition("</opinions>")[0]
    if "Label all" in prompt:
        return json.dumps({number: STANCES[int(number) % 2] for number in OPINION.findall(opinions)})
    if "<opinions>" in prompt:
        return json.dumps({"entailed": [1 + int(chance * len(OPINION.findall(opinions)))]})
    if "<response>" in prompt:
        return json.dumps({"stance": STANCES[int(chance * 3)]})
    if "Position A:" in prompt:
        stance = ("A", "B", "neither")[int(chance * 3)]
        strength = "none" if stance == "neither" else "clear"
        return json.dumps({"stance": stance, "strength": strength, "declines": False, "rationale": "so"})
    told = asked.messages[0][1]
    if "certainty" in prompt or "certainty" in told or "strict JSON" in told:
        labels = {"rationale": "so", "key_claims": [], "contradictions_acknowledged": True}
        stance, sure = (
            ("supportive", "critical", "balanced")[int(chance * 3)],
            ("clearly", "likely")[int(chance * 6) % 2],
        )
        labels |= {"stance": stance, "certainty": sure}
        first = "strict JSON" in told or told.splitlines()[-1].startswith('"rationale"')
        return json.dumps({"stance": stance} | labels if first else labels)
    return json.dumps({"belief": f"I think that it is so, as {chance:.6f} says."})
