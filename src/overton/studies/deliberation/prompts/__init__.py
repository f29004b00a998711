"""Every word that a model reads in this study, as data with its source, and the functions that fill it in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from overton.studies.deliberation.items import Verdict
from overton.studies.deliberation.record import Format, Goal

__all__ = [
    "VALUES",
    "dilemma_message",
    "evaluation_message",
    "load",
    "opening",
    "others_message",
    "repeat_request",
    "system_prompt",
    "texts",
    "values_prompt",
]

_FILES = ("system", "messages", "values")
_PLACE = re.compile(r"\{\{ (\w+) \}\}")


@cache
def load(name: str) -> dict[str, Any]:
    """The prompt file `name` ('system', 'messages' or 'values') as a dictionary."""
    return tomllib.loads(files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def texts() -> dict[str, str]:
    """Every text of every prompt file by its dotted key, so that a run can tell which of them changed."""
    return dict(pair for name in _FILES for pair in _flatten(name, load(name)))


VALUES: tuple[str, ...] = tuple(dict.fromkeys(load("values")["listed"]))
"""The 48 values in the order of appendix D, whose 49 lines hold one of them twice."""


def system_prompt(agent: int, agents: int, format: Format, goal: Goal, rounds: int = 4) -> str:
    """The system prompt of agent number `agent` (1 to `agents`) of a deliberation of `rounds` rounds at most.

    Two agents, synchronous, four rounds: word for word as published (appendix E). Everything else keeps the published
    structure with the changes under [ours] in system.toml. Raises ValueError for numbers that make no deliberation.
    """
    if not (agents >= 2 and 1 <= agent <= agents and rounds >= 1):
        raise ValueError(f"no deliberation has agent {agent} of {agents} and {rounds} rounds")
    data = load("system")
    sections = {**data["published"], **data["ours"]["two" if agents == 2 else "more"]}
    names = ("overview", "verdicts", "output", "explanation_criteria", format, goal)
    text = "\n\n".join([*(sections[name] for name in names), data["closing"]])
    return _filled(text, agent=agent, others=_others(agents - 1), rounds=_rounds(rounds))


def dilemma_message(title: str, text: str) -> str:
    """The user turn that follows the system prompt: title and post, or the post alone where there is no title."""
    return _filled(load("messages")["dilemma"], title=title.strip(), text=text.strip()).strip()


def others_message(round: int, said: Iterable[tuple[int, Verdict | None, str]]) -> str:
    """The user turn before an agent's verdict in `round`: what the others have said since it last spoke.

    `said` holds the others' numbers, verdicts (None where unreadable) and explanations in the order of speaking. In
    round 1 of round-robin these are the agents before it; from round 2 on all the others, in round-robin those after it
    in the last round followed by those before it in this one.
    """
    data = load("messages")
    entries = [
        _filled(data["entry"], agent=agent, verdict=verdict or data["unread"], explanation=explanation.strip())
        for agent, verdict, explanation in said
    ]
    opening = _filled(data["first_round" if round == 1 else "later_round"], round=round, last=round - 1)
    return "\n\n".join([opening, *entries, _filled(data["request"], round=round)])


def repeat_request(round: int) -> str:
    """The user turn after a reply of `round` whose verdict cannot be read: the format once more."""
    return _filled(load("messages")["repeat_request"], round=round)


def opening(agent: int, round: int, verdict: Verdict) -> str:
    """How a message of this agent and verdict begins where it keeps to the published structure."""
    return _filled(load("messages")["opening"], agent=agent, round=round, verdict=verdict)


def values_prompt() -> str:
    """The judge's system prompt: the published one, with all 49 lines of the published list."""
    data = load("values")
    return _filled(data["system"], values="\n".join(data["listed"]))


def evaluation_message(verdict: Verdict | None, explanation: str) -> str:
    """The judge's user turn: the verdict, where there is one, and the explanation, without the agent's name."""
    if verdict is None:
        return explanation.strip()
    return _filled(load("values")["evaluation"], verdict=verdict, explanation=explanation.strip())


def _others(count: int) -> str:
    data = load("system")
    if count == 1:
        return str(data["words"]["one_other"])
    return _filled(data["ours"]["more"]["others"], count=_counted(count))


def _counted(count: int) -> str:
    words = dict(enumerate(load("system")["words"]["counts"], start=2))
    return str(words.get(count, count))


def _rounds(count: int) -> str:
    words = load("system")["words"]
    return str(words["one_round"]) if count == 1 else _filled(words["rounds"], count=count)


def _filled(template: str, **values: object) -> str:
    # In one pass: a dilemma or an explanation that holds '{{ round }}' is text, not a place.
    return _PLACE.sub(lambda place: str(values[place[1]]), template)


def _flatten(prefix: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in _flatten(f"{prefix}.{key}", inner)]
    return [(prefix, str(value))]
