"""Tables of decisions: which verdict each agent gave in each round of which deliberation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.errors import Unreadable
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.options import FORMATS
from overton.studies.tables import Once, RawTable, Rule, TableField, TableKind
from overton.untrusted import python_of

if TYPE_CHECKING:
    import polars as pl


_INVALID = ("invalid", "none")


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
    return found if all(isinstance(one, str) for one in found) else None


def _out_of_turn() -> pl.Expr:
    import polars as pl

    return (pl.col("format") == "round-robin") & ~(pl.col("position") >= 1).fill_null(False)


DECISIONS = TableKind(
    name="decisions",
    columns=(
        TableField("deliberation", "name", "its name", needed=True, filled=True),
        TableField("dilemma", "name", "the dilemma's name", needed=True, filled=True),
        TableField("format", "name", "who speaks when", needed=True, filled=True, known=FORMATS),
        TableField("round", "whole", "from 1", needed=True, filled=True, least=1, most=100),
        TableField(
            "position",
            "whole",
            "place in the order of speaking; empty if all speak at once",
            needed=True,
            most=100,
        ),
        TableField("model", "name", "the agent's model", needed=True, filled=True),
        TableField(
            "verdict",
            "name",
            "empty or 'invalid' if it could not be read",
            needed=True,
            known=VERDICTS,
            none=_INVALID,
        ),
        TableField(
            "agent", "name", "the agent's name, by default its model; needed if agents share a model", added=True
        ),
        TableField("goal", "name", "what the agents were told to aim for", added=True),
        TableField(
            "values",
            "names",
            "values in the explanation: empty is 'not known', [] is 'none'",
            lists=_lists,
            must="must be a list of texts: JSON, or names separated by ';'",
            added=True,
        ),
        TableField("crowd", "name", "the crowd's verdict", known=VERDICTS, none=_INVALID, added=True),
        TableField("failure", "name", "a deliberation with a failure is left out entirely and counted", added=True),
        TableField("values_dropped", "whole", "values outside the list that the judge named"),
        TableField(
            "faults",
            "names",
            "faults of the message's form; empty is 'none'",
            lists=_lists,
            hollow=True,
        ),
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


def read_table(raw: RawTable) -> pl.DataFrame:
    """The decisions of a table, as `measures.analyze` takes them.

    Raises:
        InputError: as `table_frames.read`.
    """
    from overton.studies import table_frames

    return table_frames.read(DECISIONS, raw)
