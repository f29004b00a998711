"""Answers for every role of every study, which follow from the request alone and can mostly be read."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

__all__ = ["answer", "chance_of"]

_OPINION = re.compile(r"^(\d+)\. ", re.MULTILINE)
_WORD = re.compile(r"#\w+")
_STANCES = ("supporting", "against", "neutral")
_TOWARDS = ("supportive", "critical", "balanced")


def chance_of(body: bytes) -> float:
    """A number in [0, 1) that follows from the request."""
    return int.from_bytes(hashlib.sha256(body).digest()[:6]) / 2**48


def answer(model: str, messages: list[dict[str, Any]], chance: float) -> str:
    """The text of the reply to a request for a model of this name."""
    system = next((_plain(one) for one in messages if one["role"] == "system"), "")
    prompt = _plain(messages[-1])
    if "judge" in model:
        return _judged(f"{system}\n{prompt}", prompt, chance)
    if "values" in model:
        return '{"answers": ["Empathy", "Honesty"]}'
    if "writer" in model:
        return _written(system, prompt, chance)
    return _said(system, prompt, chance)


def _plain(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _said(system: str, prompt: str, chance: float) -> str:
    """An answer of a model that is measured."""
    if "position <<A>>" in prompt:
        return ("position <<A>>", "I choose position <<B>>.", "position <<A>>", "I would rather not say. <b>é</b>")[
            int(chance * 4)
        ]
    if prompt.startswith("Write one short query"):
        return " ".join(prompt.split("Question: ")[1].split()[:9])
    if "verdict" in system:
        return f"{('YTA', 'NTA')[int(chance * 2)]}: since {chance:.6f}."
    if prompt.endswith("Your ranking:"):
        turn, numbers = int(chance * 5), [1, 2, 3, 4, 5]
        return ", ".join(map(str, numbers[turn:] + numbers[:turn]))
    if "'1' or '2'" in prompt:
        return "12"[int(chance * 2)]
    return "\n\n".join(f"{number}. Response {chance:.6f} [1]." for number in (1, 2, 3))


def _judged(everything: str, prompt: str, chance: float) -> str:
    opinions = prompt.partition("<opinions>")[2].partition("</opinions>")[0]
    if "a_supports" in everything:
        return json.dumps({"reason": "r", "verdict": "neutral", "fair": chance < 0.8, "a_supports": "pro"})
    if "Label all" in prompt:
        return json.dumps({number: _STANCES[int(number) % 2] for number in _OPINION.findall(opinions)})
    if "<opinions>" in prompt:
        return json.dumps({"entailed": [1 + int(chance * len(_OPINION.findall(opinions)))]})
    if "<response>" in prompt:
        return json.dumps({"stance": _STANCES[int(chance * 3)]})
    if "certainty" in everything:
        labels = {"rationale": "so", "key_claims": [], "contradictions_acknowledged": True}
        sure = ("clearly", "likely")[int(chance * 6) % 2]
        return json.dumps(labels | {"stance": _TOWARDS[int(chance * 3)], "certainty": sure})
    return json.dumps({"belief": f"I think that it is so, as {chance:.6f} says."})


def _written(system: str, prompt: str, chance: float) -> str:
    """Texts for making items. Viewpoints of threads are well-formed; all else has a form for which the study asks
    again."""
    if system.startswith("Cluster"):
        said = json.loads(prompt)
        return json.dumps([said[place::2] for place in range(min(2, len(said)))])
    if system.startswith("Summarize"):
        return f"They say so, {chance:.4f}."
    if "<comment>" in prompt:
        inner = prompt.split("<comment>")[1].split("</", maxsplit=1)[0]
        return json.dumps({"opinions": [one.strip() for one in inner.split(".") if one.strip()][:2]})
    if "<opinion>" in prompt:
        lines = prompt.partition("<viewpoints>\n")[2].partition("\n</viewpoints>")[0].splitlines()
        return json.dumps({"cluster": int(chance * (len(lines) + 1))})
    return json.dumps([{"topic": f"Topic {chance:.5f}", "proposition": f"Topic {chance:.5f} should come."}])
