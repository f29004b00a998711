"""The records of deliberation, one for each message of an agent, and the format of tables of verdicts from outside
Overton."""

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
    goal: Annotated[Goal, means("the condition: the goal in the agents' prompt"), ColumnRules(known=(), added=True)]
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
        means(
            "None if the verdict could not be read even after a second request; an unreadable verdict agrees with no"
            " other"
        ),
        ColumnRules("empty or 'invalid' if it could not be read", needed=True, none=_INVALID),
    ]
    attempts: Annotated[int, means("replies requested, 1 or 2")]
    explanation: Annotated[str, means("the text after the verdict, as shown to the others")]
    values: Annotated[
        tuple[str, ...] | None,
        means("the values that the judge found, None if no judge was asked or its answer was unusable"),
        ColumnRules(
            "values in the explanation; empty means 'not known', [] means 'none'",
            must="must be a list of texts: JSON, or names separated by ';'",
            added=True,
        ),
    ]
    values_dropped: Annotated[
        int | None,
        means("number of values outside the list that the judge named, None if `values` is None"),
        ColumnRules("values outside the list that the judge named"),
    ]
    agreed: Annotated[
        bool,
        means("whether all verdicts of this round agree, so that the deliberation ended here with consensus"),
    ]
    last: Annotated[bool, means("whether this was the deliberation's last round")]
    crowd: Annotated[
        Verdict | None,
        means("the crowd's most common verdict, None if unknown or tied"),
        ColumnRules("the crowd's verdict", none=_INVALID, added=True),
    ]
    failure: Annotated[
        str | None,
        means(
            "why the call failed permanently ('kind: message'), None if it succeeded; a failed call ends the"
            " deliberation"
        ),
        ColumnRules("a deliberation with a failure is left out entirely and counted", added=True),
    ]
    answer: Annotated[str, means("the reply as received")]
    input_tokens: Annotated[int | None, means("as reported, over all attempts; None if not reported")]
    output_tokens: Annotated[int | None, means("as reported, over all attempts; None if not reported")]
    refused: Annotated[bool, means("whether the endpoint flagged the reply as a refusal")] = False
    faults: Annotated[
        tuple[Fault, ...],
        means(
            "how the message is malformed: empty, cut, echo (of a text in its prompt), loop, duplicate (its"
            " explanation repeats an earlier one of the same agent)"
        ),
        ColumnRules("how the message is malformed; empty means 'not at all'", hollow=True),
    ] = ()
    valued_again: Annotated[
        bool, means("whether the judge got a second request, with the list of values in another order")
    ] = False
    values_again: Annotated[
        tuple[str, ...] | None,
        means(
            "the values that the judge found in the second request; None without a usable answer or a second request"
        ),
    ] = None


def _lists(cells: pl.Series) -> pl.Series:
    """Parse lists of values, given as JSON or as names separated by ';'. Each distinct cell is parsed once."""
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
    """The values of a cell; None if the cell cannot be parsed."""
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
            "must be 1 or more in every row of a round-robin deliberation, to show who spoke first",
        ),
    ),
    once=Once(
        ("deliberation", "dilemma", "format", "goal", "round", ("agent", "model")),
        "the agent of {first} speaks twice in a round; agents that share a model need a column 'agent', and each"
        " deliberation needs its own name",
    ),
    others=True,
)
"""The format of a table of decisions, with one row for each agent in each round."""
