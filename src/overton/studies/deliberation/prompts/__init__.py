"""All texts that a model reads in this study, stored as data with their source, and functions that fill them in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from overton.studies.deliberation.items import Verdict
from overton.studies.deliberation.record import Format, Goal, Instructions
from overton.studies.prompts import Prompts

PROMPTS = Prompts(__name__)
fill, load = PROMPTS.fill, PROMPTS.load


def texts() -> dict[str, str]:
    """Every text that agents and the judge of values read, by name; see `Prompts.texts`."""
    return PROMPTS.texts("system", "described", "messages", "values", "own_values", "nulls")


VALUES: tuple[str, ...] = tuple(dict.fromkeys(load("values")["listed"]))
"""The 48 values in the order of appendix D, whose 49 lines contain one value twice."""


def system_prompt(
    agent: int, agents: int, format: Format, goal: Goal, rounds: int = 4, *, instructions: Instructions = "paper"
) -> str:
    """The system prompt of agent number `agent` (1 to `agents`) in a deliberation of at most `rounds` rounds.

    For two agents who speak at once and four rounds, the result is the published prompt, word for word (appendix E).
    Other prompts keep the published structure, with the changes under [ours] in system.toml. If `instructions` is
    "code", the prompt paraphrases the authors' code (described.toml). Raises ValueError for impossible numbers of
    agents or rounds.
    """
    if not (agents >= 2 and 1 <= agent <= agents and rounds >= 1):
        raise ValueError(f"there is no deliberation with agent {agent} of {agents} and {rounds} rounds")
    size = "two" if agents == 2 else "more"
    places = {"agent": agent, "others": _others(agents - 1), "rounds": _rounds(rounds), "turn": _turn(agent)}
    sources = ["system.ours." + size, "system.published"]
    if instructions == "code":
        sources = [f"described.{size}", "described", *sources]
    sections = []
    for name in ("overview", "verdicts", "output", "explanation_criteria", format, goal):
        source = next(source for source in sources if f"{source}.{name}" in _named())
        sections.append(PROMPTS.fill_known(f"{source}.{name}", **places))
    return "\n\n".join([*sections, fill("system.closing")])


def dilemma_message(title: str, text: str) -> str:
    """The user turn that follows the system prompt: title and post, or the post alone if there is no title."""
    return fill("messages.dilemma", title=title.strip(), text=text.strip()).strip()


def others_message(round: int, said: Iterable[tuple[int, Verdict | None, str]]) -> str:
    """The user turn before an agent's verdict in `round`: the other agents' messages since it last spoke.

    `said` has the other agents' numbers, verdicts (None if unreadable) and explanations in the order of speaking. In
    round 1 of round-robin, it has the agents that spoke before this agent. From round 2 on, it has all other agents.
    For round-robin, the first of these are the agents that spoke after this agent in the last round. The agents that
    spoke before this agent in this round follow.
    """
    entries = [
        fill("messages.entry", agent=agent, verdict=verdict or fill("messages.unread"), explanation=explanation.strip())
        for agent, verdict, explanation in said
    ]
    first = fill("messages.first_round") if round == 1 else fill("messages.later_round", round=round, last=round - 1)
    return "\n\n".join([first, *entries, fill("messages.request", round=round)])


def alone_message(round: int) -> str:
    """The user turn before the verdict in `round` (2 or later), for an agent that receives no messages."""
    alone = fill("nulls.alone", round=round, last=round - 1)
    return "\n\n".join([alone, fill("messages.request", round=round)])


def repeat_request(round: int) -> str:
    """The user turn after a reply in `round` whose verdict cannot be read. It repeats the format."""
    return fill("messages.repeat_request", round=round)


def opening(agent: int, round: int, verdict: Verdict) -> str:
    """The beginning of a message of this agent with this verdict, if the message follows the published structure."""
    return fill("messages.opening", agent=agent, round=round, verdict=verdict)


LISTED: tuple[str, ...] = tuple(load("values")["listed"])
"""The published list of values, with all 49 lines."""


def values_prompt(listed: Sequence[str] = LISTED) -> str:
    """The judge's published system prompt with the list `listed`, by default all 49 published lines."""
    return fill("values.system", values="\n".join(listed))


def evaluation_message(verdict: Verdict | None, explanation: str) -> str:
    """The judge's user turn: the verdict, if there is one, and the explanation, without the agent's name."""
    if verdict is None:
        return explanation.strip()
    return fill("values.evaluation", verdict=verdict, explanation=explanation.strip())


def _others(count: int) -> str:
    return fill("system.words.one_other") if count == 1 else fill("system.ours.more.others", count=_counted(count))


@cache
def _named() -> frozenset[str]:
    return frozenset(texts())


def _turn(agent: int) -> str:
    words = load("system")["words"]["turns"]
    return str(words[agent - 1]) if agent <= len(words) else fill("system.words.later", count=agent - 1)


def _counted(count: int) -> str:
    words = dict(enumerate(load("system")["words"]["counts"], start=2))
    return str(words.get(count, count))


def _rounds(count: int) -> str:
    return fill("system.words.one_round") if count == 1 else fill("system.words.rounds", count=count)
