"""One row of the outcome table of deliberation: one message of one agent."""

from __future__ import annotations

from typing import Literal

import msgspec

from overton.studies.deliberation.items import Verdict

__all__ = ["Format", "Goal", "Record"]

Format = Literal["synchronous", "round-robin"]
Goal = Literal["correctness", "balanced"]


class Record(msgspec.Struct, frozen=True, gc=False):
    """One agent's message in one round.

    deliberation  the trial's name: dilemma, agents in speaking order, format, goal, repetition
    dilemma       the dilemma's id
    format, goal  the condition
    agents        the models of all agents in speaking order, joined by ' + '
    round         1 to the most rounds
    position      the agent's place in the round (1, 2, ...) in round-robin, None where all speak at once
    agent         'Agent 1', 'Agent 2', ...: the name it has in the deliberation
    model         the agent's model
    verdict       None where it could not be read, after one more request: it agrees with nothing
    attempts      replies asked for, 1 or 2
    explanation   what follows the verdict, as the others were shown it
    values        the values that the judge found, None where no judge was asked or its answer was unusable
    values_dropped how many values outside the list the judge named, None like `values`
    agreed        whether all verdicts of this round agree: the deliberation ended here with consensus
    last          whether this was the deliberation's last round
    crowd         the crowd's most common verdict, None where unknown or tied
    failure       why the call failed for good ('kind: message'), None where it did not; the deliberation ends there
    answer        the reply as it came
    input_tokens, output_tokens   as reported, None where not, all attempts together
    refused       whether the endpoint flagged the reply as a refusal
    """

    deliberation: str
    dilemma: str
    format: Format
    goal: Goal
    agents: str
    round: int
    position: int | None
    agent: str
    model: str
    verdict: Verdict | None
    attempts: int
    explanation: str
    values: tuple[str, ...] | None
    values_dropped: int | None
    agreed: bool
    last: bool
    crowd: Verdict | None
    failure: str | None
    answer: str
    input_tokens: int | None
    output_tokens: int | None
    refused: bool = False
