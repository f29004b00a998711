"""Tables of outcomes: records, one row per trial, or counts of how often each model took each stance on each issue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from overton.errors import InputError, Problem
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED_NAMES
from overton.studies.open_mindedness.record import STANCES, Record
from overton.studies.tables import Once, RawTable, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl


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


def _unfilled(records: pl.DataFrame) -> Iterator[Problem]:
    """Columns of the design that are empty in some row: every trial has them."""
    for name in ("wording", "template", "a_is", "pro_first", "a_first", "stance_published"):
        if name in records.columns and records[name].null_count():
            yield Problem("records", name, "is empty in some row")


RECORDS = TableKind.of(
    Record,
    "records",
    (
        TableField("model", "name", "who answered", needed=True, filled=True),
        TableField("held", "flag", "whether a grammar held its answers to their form", usual=False),
        *Record.__struct_fields__,
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
            words=PUBLISHED_NAMES,
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
