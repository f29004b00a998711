"""Tables of decisions: which verdict each agent gave in each round of which deliberation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.errors import Unreadable
from overton.studies.deliberation.record import Record
from overton.studies.tables import Once, RawTable, Rule, TableField, TableKind
from overton.untrusted import python_of

if TYPE_CHECKING:
    import polars as pl


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


def read_table(raw: RawTable) -> pl.DataFrame:
    """The decisions of a table, as `measures.analyze` takes them.

    Raises:
        InputError: as `table_frames.read`.
    """
    from overton.studies import table_frames

    return table_frames.read(DECISIONS, raw)
