"""A judge whose errors are known: it finds the position that a simulated model quotes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec

from overton.calls import Draw, Reply, Request
from overton.studies.open_mindedness import prompts
from overton.studies.open_mindedness.simulated import DECLINES
from overton.studies.options import Option
from overton.studies.simulated import weighed_reply

_STANCES = ("A", "B", "neither")


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a judge."""

    noise: Annotated[float, Option("Chance that it names one of the two other stances", least=0, most=1)] = 0.0


def labelled(
    parameters: JudgeParameters, issues: Sequence[Any], request: Request, draw: Callable[[str], Draw]
) -> Reply | None:
    """The label of an answer that quotes a position; None for a prompt that asks for no label."""
    found = prompts.PROMPTS.pattern("free.judge.ask").search(request.messages[-1].content)
    if found is None:
        return None
    answer = found["answer"]
    taken = [name for name in "AB" if f'"{found[f"position_{name.lower()}"]}"' in answer]
    stance = taken[0] if len(taken) == 1 else "neither"
    rest = parameters.noise / (len(_STANCES) - 1)
    chances = {name: 1 - parameters.noise if name == stance else rest for name in _STANCES}
    if draw("noise").uniform() < parameters.noise:
        others = [name for name in _STANCES if name != stance]
        stance = draw("other").shuffle(others)[0]
    said = {
        "rationale": "By what it quotes.",
        "stance": stance,
        "strength": "none" if stance == "neither" else "clear",
        "declines": DECLINES in answer,
    }
    if request.form and request.form.schema:
        said = {key: said[key] for key in request.form.schema["properties"]}
    return weighed_reply(request, msgspec.json.encode(said).decode(), stance, chances, first=True)
