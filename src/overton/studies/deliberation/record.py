"""One row of the outcome table of deliberation: one message of one agent."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from overton.judging import Fault
from overton.studies.deliberation.items import Verdict
from overton.studies.table import told

__all__ = ["Format", "Goal", "Instructions", "Record"]

Format = Literal["synchronous", "round-robin"]
Goal = Literal["correctness", "balanced"]
Instructions = Literal["paper", "code"]


class Record(msgspec.Struct, frozen=True, gc=False):
    """One agent's message in one round."""

    deliberation: Annotated[str, told("the trial's name: dilemma, agents in speaking order, format, goal, repetition")]
    dilemma: Annotated[str, told("the dilemma's id")]
    format: Annotated[Format, told("the condition: whether agents speak at once or in turn")]
    goal: Annotated[Goal, told("the condition: what agents are told to aim for")]
    agents: Annotated[str, told("the models of all agents in speaking order, joined by ' + '")]
    round: Annotated[int, told("from 1 to the maximum number of rounds")]
    position: Annotated[
        int | None,
        told("the agent's place in the round (1, 2, ...) in round-robin, None if all speak at once"),
    ]
    agent: Annotated[str, told("'Agent 1', 'Agent 2', ...: the agent's name in the deliberation")]
    model: Annotated[str, told("the agent's model")]
    verdict: Annotated[
        Verdict | None,
        told("None if it could not be read even after one more request: it then agrees with nothing"),
    ]
    attempts: Annotated[int, told("replies requested, 1 or 2")]
    explanation: Annotated[str, told("what follows the verdict, as the others were shown it")]
    values: Annotated[
        tuple[str, ...] | None,
        told("the values that the judge found, None if no judge was asked or its answer was unusable"),
    ]
    values_dropped: Annotated[int | None, told("how many values outside the list the judge named, None like `values`")]
    agreed: Annotated[
        bool,
        told("whether all verdicts of this round agree: the deliberation ended here with consensus"),
    ]
    last: Annotated[bool, told("whether this was the deliberation's last round")]
    crowd: Annotated[Verdict | None, told("the crowd's most common verdict, None if unknown or tied")]
    failure: Annotated[
        str | None,
        told("why the call failed for good ('kind: message'), None if it did not; the deliberation ends there"),
    ]
    answer: Annotated[str, told("the reply as received")]
    input_tokens: Annotated[int | None, told("as reported, over all attempts; None if not reported")]
    output_tokens: Annotated[int | None, told("as reported, over all attempts; None if not reported")]
    refused: Annotated[bool, told("whether the endpoint flagged the reply as a refusal")] = False
    faults: Annotated[
        tuple[Fault, ...],
        told(
            "faults of the message's form: empty, cut, echo (of anything the agent was shown), loop, duplicate (its"
            " explanation repeats an earlier one of the same agent)"
        ),
    ] = ()
    valued_again: Annotated[bool, told("whether the judge was asked again, with its list in another order")] = False
    values_again: Annotated[
        tuple[str, ...] | None, told("`values` from the second request; None as for `values`, and if not asked again")
    ] = None
