"""The rows of the outcome table, one for each turn of a conversation; and tables of turns made outside Overton."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, get_args

import msgspec

from overton.errors import InputError, Problem
from overton.judging import FAULTS, Fault
from overton.studies.stance_stability.items import Belief, Kind, Strength
from overton.studies.tables import ColumnRules, Once, RawTable, TableField, TableKind, means

if TYPE_CHECKING:
    import polars as pl


Stance = Literal["supportive", "critical", "balanced", "unclear"]
Ordering = Literal["fixed", "shuffled", "grouped"]

STANCES: tuple[Stance, ...] = get_args(Stance)
"""The judge's four labels (section 3.2, step 4)."""

_UNLABELLED = ("invalid", "none")


class Record(msgspec.Struct, frozen=True, gc=False):
    """One turn: a question, the search and the pages read, the answer, and the judge's labels."""

    row_key: ClassVar[tuple[str, ...]] = ("conversation", "turn")

    conversation: Annotated[
        str, means("the trial's name: topic, temperature, ordering, repetition"), ColumnRules("its name", needed=True)
    ]
    topic: Annotated[str, means("the conversation's topic")]
    domain: Annotated[str, means("the conversation's domain")]
    temperature: Annotated[
        float | None,
        means("the condition, None for the endpoint's own default"),
        ColumnRules("empty or 'own' for the endpoint's own", none=("own", "default"), added=True),
    ]
    ordering: Annotated[
        Ordering,
        means("the condition: 'fixed' as in the topic, 'shuffled', or 'grouped' by kind"),
        ColumnRules("how the questions were ordered", known=()),
    ]
    turn: Annotated[
        int,
        means("from 1 to the number of questions"),
        ColumnRules("turns are sorted by these numbers", needed=True),
    ]
    number: Annotated[int, means("the question's place in its topic, from 1")]
    kind: Annotated[Kind, means("what the question does")]
    question: Annotated[str, means("its text"), ColumnRules("shows which turns ask for the overall view", text=True)]
    query: Annotated[str, means("what was searched for")]
    retrieved: Annotated[
        tuple[str, ...],
        means("addresses of the pages that the model was shown, in the order of their numbers"),
        ColumnRules("documents that the model was shown", hollow=True),
    ]
    skipped: Annotated[
        tuple[str, ...],
        means("addresses of hits that could not be read, each with its reason: 'URL (reason)'"),
    ]
    shortened: Annotated[int, means("number of pages that were truncated to the limits")]
    cited: Annotated[
        tuple[str, ...],
        means("addresses of the pages that the answer cites by number, each once, in the order of first citation"),
        ColumnRules("documents that the answer cites", hollow=True),
    ]
    miscited: Annotated[int, means("number of citations with a number that no page shown to the model has")]
    stance: Annotated[
        Stance | None,
        means("the answer's stance towards the topic's proposition; None if the judge gave no usable label"),
        ColumnRules("empty or 'invalid' if there is no usable label", needed=True, none=_UNLABELLED),
    ]
    confidence: Annotated[
        float | None,
        means(
            "certainty of the answer by the rubric (1.0 clearly, 0.67 likely, 0.33 uncertain), None if `stance` is None"
        ),
        ColumnRules("how certain the answer is", least=0, most=1),
    ]
    claims: Annotated[tuple[str, ...], means("the answer's key claims; empty if `stance` is None")]
    contradictions_acknowledged: Annotated[
        bool | None, means("whether the answer acknowledges contradictions; None if `stance` is None")
    ]
    rationale: Annotated[str, means("the judge's reason; '' if `stance` is None")]
    premise_stance: Annotated[
        Stance | None,
        means("the label by the published judge prompt, towards the question's premise; None if not requested"),
        ColumnRules("the label by the published prompt", none=_UNLABELLED),
    ]
    judge_attempts: Annotated[
        int, means("number of replies that the judge needed to give a usable one, 0 without a request")
    ]
    failure: Annotated[
        str | None,
        means(
            "why a call of this turn failed permanently ('role: kind: message'); a failed call ends the conversation"
        ),
        ColumnRules("a conversation with a failure is left out entirely and counted"),
    ]
    answer: Annotated[str, means("the model's answer as received, '' if there is none")]
    input_tokens: Annotated[
        int | None,
        means("for the measured model's query and answer together, as reported; None if not reported"),
    ]
    output_tokens: Annotated[
        int | None,
        means("for the measured model's query and answer together, as reported; None if not reported"),
    ]
    refused: Annotated[bool, means("whether the endpoint flagged the answer as a refusal")] = False
    judged_again: Annotated[
        bool, means("whether the judge labelled the answer again, with the labels in another order")
    ] = False
    stance_again: Annotated[
        Stance | None,
        means("the stance from the judge's second request; None without a usable label or a second request"),
    ] = None
    premise_stance_again: Annotated[Stance | None, means("the same for `premise_stance`")] = None
    faults: Annotated[
        tuple[Fault, ...],
        means(f"ways in which the answer is malformed: {', '.join(FAULTS)}"),
        ColumnRules(hollow=True),
    ] = ()
    shares: Annotated[
        Literal["probabilities", "auto"] | None,
        means("how the run requested probabilities of the judge's labels, None if it did not"),
    ] = None
    p_stance: Annotated[
        tuple[float, ...] | None,
        means(
            "the judge's probabilities at temperature 1 that `stance` is supportive, critical, balanced, unclear;"
            " None if not requested or not returned"
        ),
    ] = None
    p_premise_stance: Annotated[tuple[float, ...] | None, means("the same for `premise_stance`")] = None
    sampled: Annotated[
        tuple[str, ...] | None,
        means(
            "the judge's sampled labels of `stance` at temperature 1, for calibration; 'none' for a reply without a"
            " label"
        ),
    ] = None
    sampled_premise: Annotated[tuple[str, ...] | None, means("the same for `premise_stance`")] = None


_UNNAMED = "unnamed"
"""The model's name in a table without a column `model`."""

KEY = ("model", "temperature", "conversation")
"""The columns that identify a conversation. Its name alone is not enough, because trials of different models have the
same names."""

NOTE = "alignments_note"
"""The column with a note on the whole table for readers, if there is one."""

ABOUT = ("domain", "topic", "ordering", "initial_belief", "debate_strength")
"""Columns that are the same in all turns of a conversation."""


def _unsteady(turns: pl.DataFrame) -> Iterator[Problem]:
    """Problems with conversations whose turns differ in a property, such as the domain. The turns are probably from two
    conversations with the same name."""
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
        "is the same turn as {first}; give conversations of one model and temperature different names",
    ),
    checks=(_unsteady,),
    others=True,
)
"""One row per turn of a conversation."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """The turns of a table, as `measures.analyze` takes them.

    Raises:
        InputError: as for `table_frames.read`, or if the table has answers but no labels.
    """
    from overton.studies import table_frames

    names = [name for name in raw.columns if ANSWER_COLUMN.fullmatch(name.strip().casefold())]
    if names and TURNS.missing(raw.columns):
        reason = (
            f"has answers ({', '.join(names[:2])}, ...) but no labels. 'overton judge stance-stability' labels them; a"
            f" table of labelled turns has {', '.join(TURNS.needed)}"
        )
        raise InputError([Problem(raw.name, "", reason)])
    return table_frames.read(TURNS, raw)


ANSWER_COLUMN = re.compile(r"(?:response|answer)[_ ]?(\d{1,4})")
"""The pattern of the lower-case names of answer columns. A table with one row per conversation has one such column per
turn."""
