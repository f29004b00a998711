"""One row of the outcome table of deliberation: one message of one agent."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from overton.judging import Fault
from overton.studies.deliberation.items import Verdict
from overton.studies.tables import ColumnRules, means

Format = Literal["synchronous", "round-robin"]
Goal = Literal["correctness", "balanced"]
Instructions = Literal["paper", "code"]

_INVALID = ("invalid", "none")


class Record(msgspec.Struct, frozen=True, gc=False):
    """One agent's message in one round."""

    deliberation: Annotated[
        str,
        means("the trial's name: dilemma, agents in speaking order, format, goal, repetition"),
        ColumnRules("its name", needed=True),
    ]
    dilemma: Annotated[str, means("the dilemma's id"), ColumnRules(needed=True)]
    format: Annotated[Format, means("the condition: whether agents speak at once or in turn"), ColumnRules(needed=True)]
    goal: Annotated[Goal, means("the condition: what agents are told to aim for"), ColumnRules(known=(), added=True)]
    agents: Annotated[str, means("the models of all agents in speaking order, joined by ' + '")]
    round: Annotated[
        int, means("from 1 to the maximum number of rounds"), ColumnRules("from 1", needed=True, least=1, most=100)
    ]
    position: Annotated[
        int | None,
        means("the agent's place in the round (1, 2, ...) in round-robin, None if all speak at once"),
        ColumnRules("place in the order of speaking; empty if all speak at once", needed=True, most=100),
    ]
    agent: Annotated[
        str,
        means("'Agent 1', 'Agent 2', ...: the agent's name in the deliberation"),
        ColumnRules("the agent's name, by default its model; needed if agents share a model", added=True),
    ]
    model: Annotated[str, means("the agent's model"), ColumnRules(needed=True)]
    verdict: Annotated[
        Verdict | None,
        means("None if it could not be read even after one more request: it then agrees with nothing"),
        ColumnRules("empty or 'invalid' if it could not be read", needed=True, none=_INVALID),
    ]
    attempts: Annotated[int, means("replies requested, 1 or 2")]
    explanation: Annotated[str, means("what follows the verdict, as the others were shown it")]
    values: Annotated[
        tuple[str, ...] | None,
        means("the values that the judge found, None if no judge was asked or its answer was unusable"),
        ColumnRules(
            "values in the explanation: empty is 'not known', [] is 'none'",
            must="must be a list of texts: JSON, or names separated by ';'",
            added=True,
        ),
    ]
    values_dropped: Annotated[
        int | None,
        means("how many values outside the list the judge named, None like `values`"),
        ColumnRules("values outside the list that the judge named"),
    ]
    agreed: Annotated[
        bool,
        means("whether all verdicts of this round agree: the deliberation ended here with consensus"),
    ]
    last: Annotated[bool, means("whether this was the deliberation's last round")]
    crowd: Annotated[
        Verdict | None,
        means("the crowd's most common verdict, None if unknown or tied"),
        ColumnRules("the crowd's verdict", none=_INVALID, added=True),
    ]
    failure: Annotated[
        str | None,
        means("why the call failed for good ('kind: message'), None if it did not; the deliberation ends there"),
        ColumnRules("a deliberation with a failure is left out entirely and counted", added=True),
    ]
    answer: Annotated[str, means("the reply as received")]
    input_tokens: Annotated[int | None, means("as reported, over all attempts; None if not reported")]
    output_tokens: Annotated[int | None, means("as reported, over all attempts; None if not reported")]
    refused: Annotated[bool, means("whether the endpoint flagged the reply as a refusal")] = False
    faults: Annotated[
        tuple[Fault, ...],
        means(
            "faults of the message's form: empty, cut, echo (of anything the agent was shown), loop, duplicate (its"
            " explanation repeats an earlier one of the same agent)"
        ),
        ColumnRules("faults of the message's form; empty is 'none'", hollow=True),
    ] = ()
    valued_again: Annotated[bool, means("whether the judge was asked again, with its list in another order")] = False
    values_again: Annotated[
        tuple[str, ...] | None, means("`values` from the second request; None as for `values`, and if not asked again")
    ] = None
