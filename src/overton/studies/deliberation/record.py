"""One row of the outcome table of deliberation: one message of one agent; and tables of decisions made elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import msgspec

from overton.errors import Unreadable
from overton.judging import Fault
from overton.studies.deliberation.items import Verdict
from overton.studies.tables import ColumnRules, Once, Rule, TableField, TableKind, means
from overton.untrusted import python_of

if TYPE_CHECKING:
    import polars as pl

Format = Literal["synchronous", "round-robin"]
Goal = Literal["correctness", "balanced"]
Instructions = Literal["paper", "code"]

_INVALID = ("invalid", "none")


class Record(msgspec.Struct, frozen=True, gc=False):
    """One agent's message in one round."""

    row_key: ClassVar[tuple[str, ...]] = ("deliberation", "round", "agent")

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


def _lists(cells: pl.Series) -> pl.Series:
    """Lists of values: JSON, or names separated by ';'; each distinct cell is read once."""
    import polars as pl

    wanted = pl.List(pl.String)
    if cells.dtype in (wanted, pl.List(pl.Null), pl.Null):
        return cells.cast(wanted)
    if cells.dtype != pl.String:
        return pl.Series(cells.name, [None] * len(cells), wanted)
    different = cells.unique().drop_nulls()
    read = pl.DataFrame({"cell": different, "list": pl.Series([_list(cell) for cell in different], dtype=wanted)})
    return cells.to_frame("cell").join(read, on="cell", how="left", maintain_order="left")["list"].alias(cells.name)


def _list(cell: str) -> list[str] | None:
    """The values of a cell, None if they cannot be read."""
    if not cell.strip().startswith("["):
        return [part.strip() for part in cell.split(";") if part.strip()]
    try:
        found = python_of(cell)
    except Unreadable:
        return None
    return found if all(isinstance(name, str) for name in found) else None


def _out_of_turn() -> pl.Expr:
    import polars as pl

    return (pl.col("format") == "round-robin") & ~(pl.col("position") >= 1).fill_null(False)


DECISIONS = TableKind.of(
    Record,
    "decisions",
    (
        "deliberation",
        "dilemma",
        "format",
        "round",
        "position",
        "model",
        "verdict",
        "agent",
        "goal",
        TableField.of(Record, "values", lists=_lists),
        "crowd",
        "failure",
        "values_dropped",
        TableField.of(Record, "faults", lists=_lists),
    ),
    rules=(
        Rule(
            "position",
            _out_of_turn,
            "must be a whole number from 1 in round-robin",
            "must be 1 or more in every row of a round-robin deliberation; otherwise nobody knows who spoke first",
        ),
    ),
    once=Once(
        ("deliberation", "dilemma", "format", "goal", "round", ("agent", "model")),
        "the agent of {first} speaks twice in a round: agents that share a model need a column 'agent', and"
        " deliberations need names of their own",
    ),
    others=True,
)
"""One row for each agent in each round."""
