"""Tables of turns: which stance each answer in a conversation takes, how certainly, and from which documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from overton.errors import InputError, Problem
from overton.studies.stance_stability.items import Belief, Strength
from overton.studies.stance_stability.record import Record
from overton.studies.tables import Once, RawTable, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl


_UNNAMED = "unnamed"
"""The model's name if a table names none."""

KEY = ("model", "temperature", "conversation")
"""What identifies a conversation: models share the names of trials."""

ABOUT = ("domain", "topic", "ordering", "initial_belief", "debate_strength")
"""What is the same in all turns of a conversation."""


def _unsteady(turns: pl.DataFrame) -> Iterator[Problem]:
    """Conversations with two domains, for example: most likely two conversations with the same name."""
    import polars as pl

    key = [name for name in KEY if name in turns.columns]
    names = [name for name in ABOUT if name in turns.columns]
    if not names:
        return
    differs = turns.group_by(key).agg(pl.col(name).drop_nulls().n_unique() > 1 for name in names)
    for name in names:
        if differs[name].any():
            conversation = differs.filter(name)["conversation"].min()
            yield Problem("turns", name, f"conversation {conversation!r} has more than one")


TURNS = TableKind.of(
    Record,
    "turns",
    (
        "conversation",
        "turn",
        "stance",
        TableField("model", "name", "whose answer it is", together=True, added=True, usual=_UNNAMED),
        "domain",
        "topic",
        "temperature",
        "ordering",
        TableField("initial_belief", "name", "the topic's, according to its writer", known=get_args(Belief)),
        TableField("debate_strength", "name", "the topic's, according to its writer", known=get_args(Strength)),
        "question",
        "confidence",
        "retrieved",
        "cited",
        "premise_stance",
        "faults",
        "refused",
        "failure",
        "judge_attempts",
        "miscited",
    ),
    once=Once(
        ("model", "temperature", "conversation", "turn"),
        "the turn of {first} occurs again: give conversations of one model and temperature different names",
    ),
    checks=(_unsteady,),
    others=True,
)
"""One row per turn of a conversation."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """The turns of a table, as `measures.analyze` takes them.

    Raises:
        InputError: as `table_frames.read`; or the table has answers but no labels.
    """
    from overton.studies import table_frames

    names = [name for name in raw.columns if _ANSWER.fullmatch(name.strip().casefold())]
    if names and TURNS.missing(raw.columns):
        reason = (
            f"has answers ({', '.join(names[:2])}, ...) but no labels: 'overton judge stance-stability' labels them;"
            f" a table of turns has {', '.join(TURNS.needed)}"
        )
        raise InputError([Problem(raw.name, "", reason)])
    return table_frames.read(TURNS, raw)


_ANSWER = re.compile(r"(?:response|answer)[_ ]?\d{1,4}")
