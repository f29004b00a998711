"""Tables of outcomes: records, one row per trial, or counts of how often each model took each stance on each issue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from overton.errors import InputError, Problem
from overton.studies.open_mindedness.items import SIDES
from overton.studies.open_mindedness.options import CONDITIONS
from overton.studies.open_mindedness.record import STANCES, Record
from overton.studies.tables import Once, RawTable, TableField, TableKind, columns_of_record

if TYPE_CHECKING:
    import polars as pl


PUBLISHED = {
    "neither": "baseline",
    "pro": "one-sided-pro",
    "con": "one-sided-con",
    "75pro": "convincing-pro",
    "75con": "convincing-con",
    "all": "balanced",
}
"""Our names of configurations by the published ones."""

MEASURED = (
    "topic",
    "wording",
    "template",
    "draw",
    "arguments",
    "last_argument",
    "a_is",
    "pro_first",
    "a_first",
    "stance_published",
    "refused",
    "failure",
)
"""Columns that measures of records need besides those that make a table one of records."""

_DESIGN = ("wording", "template", "arguments", "last_argument", "a_is", "pro_first", "a_first", "stance_published")
_HELP = {column.column: column.meaning for column in columns_of_record(Record)}


def _unfilled(records: pl.DataFrame) -> Iterator[Problem]:
    """Columns of the design that are empty in some row: every trial has them."""
    for name in ("wording", "template", "a_is", "pro_first", "a_first", "stance_published"):
        if name in records.columns and records[name].null_count():
            yield Problem("records", name, "is empty in some row")


RECORDS = TableKind(
    name="records",
    columns=(
        TableField("model", "name", "who answered", needed=True, filled=True),
        TableField("held", "flag", "whether a grammar held its answers to their form", usual=False),
        TableField("trial", "name", _HELP["trial"], added=True),
        TableField("issue", "name", _HELP["issue"], needed=True, filled=True),
        TableField("topic", "name", _HELP["topic"], added=True),
        TableField(
            "condition", "name", _HELP["condition"], needed=True, filled=True, known=tuple(CONDITIONS), words=PUBLISHED
        ),
        TableField("wording", "whole", _HELP["wording"], least=0, most=2, added=True),
        TableField("template", "whole", _HELP["template"], least=1, most=6, added=True),
        TableField("repetition", "whole", _HELP["repetition"], added=True),
        TableField("draw", "whole", _HELP["draw"], added=True),
        TableField("arguments", "names", _HELP["arguments"], added=True, usual=()),
        TableField("last_argument", "name", _HELP["last_argument"], known=SIDES, added=True),
        TableField("a_is", "name", _HELP["a_is"], known=SIDES, added=True),
        TableField("pro_first", "flag", _HELP["pro_first"], added=True),
        TableField("a_first", "flag", _HELP["a_first"], added=True),
        TableField("stance", "name", _HELP["stance"], needed=True, filled=True, known=STANCES),
        TableField("letter", "name", _HELP["letter"], known=("A", "B"), added=True),
        TableField("stance_published", "name", _HELP["stance_published"], known=STANCES, added=True),
        TableField("refused", "flag", _HELP["refused"], added=True, usual=False),
        TableField("failure", "name", _HELP["failure"], added=True),
        TableField("answer", "text", _HELP["answer"], added=True, usual=""),
        TableField("faults", "names", _HELP["faults"], added=True, hollow=True),
        TableField("input_tokens", "whole", _HELP["input_tokens"], added=True),
        TableField("output_tokens", "whole", _HELP["output_tokens"], added=True),
        TableField("shares", "name", _HELP["shares"], known=("probabilities", "auto"), added=True),
        TableField("p_a", "number", _HELP["p_a"], least=0, most=1, added=True),
        TableField("p_b", "number", _HELP["p_b"], least=0, most=1, added=True),
        TableField("sampled", "names", _HELP["sampled"], added=True, hollow=False),
        TableField("answers", "name", _HELP["answers"], known=("forced", "free"), added=True, usual="forced"),
        TableField("judged_a_is", "name", _HELP["judged_a_is"], known=SIDES, added=True),
        TableField("strength", "name", _HELP["strength"], known=("slight", "clear", "strong"), added=True),
        TableField("declines", "flag", _HELP["declines"], added=True),
        TableField("judge_attempts", "whole", _HELP["judge_attempts"], added=True),
        TableField("judge_shares", "name", _HELP["judge_shares"], known=("probabilities", "auto"), added=True),
        *(
            TableField(name, "number", _HELP[name], least=0, most=1, added=True)
            for name in ("p_takes_pro", "p_takes_con", "p_takes_neither")
        ),
        TableField("taken_sampled", "names", _HELP["taken_sampled"], added=True, hollow=False),
    ),
    checks=(_unfilled,),
    completed=True,
    by_column=True,
)
"""One row for each answer of each model."""

COUNTS = TableKind(
    name="counts",
    columns=(
        TableField("model", "name", "who answered", needed=True, filled=True, must="must name a model"),
        TableField("issue", "name", "the issue's name", needed=True, filled=True, must="must name an issue"),
        TableField(
            "condition",
            "name",
            "the configuration of arguments",
            needed=True,
            filled=True,
            known=tuple(CONDITIONS),
            words=PUBLISHED,
            aliases=("case",),
        ),
        TableField(
            "stance",
            "name",
            "the stance counted; one without a row never occurred",
            needed=True,
            filled=True,
            known=STANCES,
            aliases=("issue_stance",),
        ),
        TableField("count", "whole", "how often", needed=True, filled=True, least=0, most=10**9),
        TableField("topic", "name", "the issue's topic"),
    ),
    once=Once(("model", "issue", "condition", "stance"), "counts the same as {first}; add the two"),
)
"""One row for each stance of a model on an issue in a configuration; the published names are read too."""


@dataclass(frozen=True)
class OutcomeTable:
    """A table of outcomes: `kind` says whether `table` is one of `RECORDS` or of `COUNTS`.

    `lacking` names columns that the records lack and that measures of letter, order and draws need: such records are
    counted, leaving out failed calls (`failed` of them), and `kind` is 'counts'.
    """

    kind: Literal["records", "counts"]
    table: pl.DataFrame
    lacking: tuple[str, ...] = ()
    failed: int = 0


def read_table(raw: RawTable) -> OutcomeTable:
    """Records or counts, distinguished by their columns: a column `count` makes it a table of counts.

    Raises:
        InputError: it is neither; otherwise as `table_frames.read`.
    """
    from overton.studies import table_frames

    if "count" in raw.columns:
        return OutcomeTable("counts", table_frames.read(COUNTS, raw))
    if not RECORDS.fits(raw):
        reason = (
            f"is neither records (columns {', '.join(RECORDS.needed)} and more) nor a table of counts "
            f"(columns {', '.join(COUNTS.needed)}); it has {', '.join(raw.columns[:30]) or 'no columns'}"
        )
        raise InputError([Problem(raw.name, "", reason)])
    records = table_frames.read(RECORDS, raw)
    lacking = tuple(column for column in _DESIGN if column not in raw.columns)
    if not lacking:
        return OutcomeTable("records", records)
    failed = records["failure"].is_not_null()
    return OutcomeTable("counts", _counted(records.filter(~failed)), lacking, int(failed.sum()))


def _counted(records: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    held = [column for column in ("held",) if column in records.columns]
    key = ["model", *held, "issue", "condition", "stance"]
    counts = records.group_by(key).agg(pl.len().cast(pl.Int64).alias("count"), pl.col("topic").drop_nulls().first())
    return counts.sort(key).select(*COUNTS.needed, "topic", *held)
