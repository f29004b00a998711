"""Tables of turns: which stance each answer in a conversation takes, how certainly, and from which documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

from overton.errors import InputError, Problem
from overton.judging import FAULTS
from overton.studies.stance_stability.items import Belief, Strength
from overton.studies.stance_stability.record import STANCES
from overton.studies.tables import Once, RawTable, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl


_UNNAMED = "unnamed"
"""The model's name if a table names none."""

KEY = ("model", "temperature", "conversation")
"""What identifies a conversation: models share the names of trials."""

ABOUT = ("domain", "topic", "ordering", "initial_belief", "debate_strength")
"""What is the same in all turns of a conversation."""

_UNLABELLED = ("invalid", "none")


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


TURNS = TableKind(
    name="turns",
    columns=(
        TableField("conversation", "name", "its name", needed=True, filled=True),
        TableField("turn", "whole", "turns are taken in the order of their numbers", needed=True, filled=True),
        TableField(
            "stance",
            "name",
            "empty or 'invalid' if there is no usable label",
            needed=True,
            known=STANCES,
            none=_UNLABELLED,
        ),
        TableField("model", "name", "whose answer it is", together=True, added=True, usual=_UNNAMED),
        TableField("domain", "name", "the conversation's domain"),
        TableField("topic", "name", "the conversation's topic"),
        TableField(
            "temperature", "number", "empty or 'own' for the endpoint's own", none=("own", "default"), added=True
        ),
        TableField("ordering", "name", "how the questions were ordered"),
        TableField("initial_belief", "name", "the topic's, according to its writer", known=get_args(Belief)),
        TableField("debate_strength", "name", "the topic's, according to its writer", known=get_args(Strength)),
        TableField("question", "text", "shows which turns ask for the overall view"),
        TableField("confidence", "number", "how certain the answer is", least=0, most=1),
        TableField("retrieved", "names", "documents that the model was shown", hollow=True),
        TableField("cited", "names", "documents that the answer cites", hollow=True),
        TableField("premise_stance", "name", "the label by the published prompt", known=STANCES, none=_UNLABELLED),
        TableField("faults", "names", f"faults of the answer's form: {', '.join(FAULTS)}", hollow=True),
        TableField("refused", "flag", "whether the endpoint flagged the answer as a refusal"),
        TableField("failure", "name", "a conversation with a failure is left out entirely and counted"),
        TableField("judge_attempts", "whole", "replies requested of the judge"),
        TableField("miscited", "whole", "cited numbers that belong to no document"),
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
