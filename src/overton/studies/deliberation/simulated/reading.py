"""What an agent can know of the deliberation: read off the conversation that it is shown, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from overton.calls import Message
from overton.studies.deliberation import prompts
from overton.studies.deliberation.items import VERDICTS, Verdict

__all__ = ["Seen", "read_conversation"]


class Seen(NamedTuple):
    """The state of a deliberation as one agent sees it when it is asked.

    `opening` is the message that tells the dilemma; `agent` its own number, `round` the round, both from 1; `own` its
    verdict of the round before, None where there is none. `previous` and `within` count the others' verdicts of
    earlier rounds and of this one, in the order of `VERDICTS`. `balanced` is True where consensus is as important as
    correctness, `again` where its reply could not be read.
    """

    opening: str
    agent: int
    round: int
    own: Verdict | None
    previous: tuple[int, ...]
    within: tuple[int, ...]
    balanced: bool
    again: bool


def read_conversation(messages: Sequence[Message]) -> Seen | None:
    """The state of the deliberation; None where these are not the messages of an agent."""
    again = _REPEAT.match(messages[-1].content) is not None
    turns = messages[:-2] if again else messages
    named = _NAME.search(turns[0].content)
    told = [turn.content for turn in turns if turn.role == "user"]
    if named is None or not told:
        return None
    opening, _, first = told[0].partition(_FIRST)
    said = [_ENTRY.findall(text) for text in (first, *told[1:])]
    own = [turn.content for turn in turns if turn.role == "assistant"]
    agent = int(named[1])
    previous, within = _counted(agent, said)
    balanced = _BALANCED in turns[0].content
    return Seen(opening, agent, len(told), _own_verdict(own), previous, within, balanced, again)


def _counted(agent: int, said: Sequence[Sequence[tuple[str, str]]]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The others' verdicts of earlier rounds and of this one, from what the agent was told in each round."""
    in_turn = bool(said[0])  # somebody spoke before it in round 1, so those before it have spoken in this round too
    within = [int(other) < agent and in_turn for other, _ in said[-1]]
    earlier = [verdict for told in said[:-1] for _, verdict in told]
    earlier += [verdict for (_, verdict), now in zip(said[-1], within, strict=True) if not now]
    just_now = [verdict for (_, verdict), now in zip(said[-1], within, strict=True) if now]
    return _by_verdict(earlier), _by_verdict(just_now)


def _by_verdict(verdicts: Sequence[str]) -> tuple[int, ...]:
    return tuple([verdicts.count(verdict) for verdict in VERDICTS])


def _own_verdict(own: Sequence[str]) -> Verdict | None:
    stated = _OWN.search(own[-1]) if own else None
    return next((verdict for verdict in VERDICTS if stated and stated[1] == verdict), None)


def _entry() -> str:
    """A pattern for what stands before another agent's explanation, with its number and its verdict."""
    agent, verdict = "\0", "\1"
    before = re.escape(prompts.fill("messages.entry", agent=agent, verdict=verdict, explanation=""))
    return "^" + before.replace(agent, r"(?P<agent>\d+)", 1).replace(agent, "(?P=agent)").replace(verdict, r"([\w ]+)")


_FIRST = f"\n\n{prompts.fill('messages.first_round')}"
_REPEAT = re.compile(re.escape(prompts.fill("messages.repeat_request", round="\0").partition("\0")[0]))
_BALANCED = prompts.fill("system.published.balanced").strip()
_NAME = re.compile(r"Your NAME is Agent (\d+)\.")
_OWN = re.compile(r"^My current verdict: (\w+)\.$", re.MULTILINE)
_ENTRY = re.compile(_entry(), re.MULTILINE)
