"""Tables of outcomes: records, one row per trial, or counts of how often each model took each stance on each issue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

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


NOTE = "note"
"""A column with what readers must know of a table that was made elsewhere, a line each."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """Records or counts, distinguished by their columns: a column `count` makes it a table of counts.

    Records that lack columns of the design are counted, without failed calls; the column `note` then says what is
    missing.

    Raises:
        InputError: it is neither; otherwise as `table_frames.read`.
    """
    import polars as pl

    from overton.studies import table_frames

    if "count" in raw.columns:
        return table_frames.read(COUNTS, raw)
    if not RECORDS.fits(raw):
        reason = (
            f"is neither records (columns {', '.join(RECORDS.needed)} and more) nor a table of counts "
            f"(columns {', '.join(COUNTS.needed)}); it has {', '.join(raw.columns[:30]) or 'no columns'}"
        )
        raise InputError([Problem(raw.name, "", reason)])
    records = table_frames.read(RECORDS, raw)
    lacking = [column for column in _DESIGN if column not in raw.columns]
    held = _held(raw.name, records)
    notes = [f"{', '.join(held)}: a grammar held answers to their form, so shares of other answers say nothing."]
    notes = notes if held else []
    if lacking:
        file, failed = raw.name.replace("\\", "/").rpartition("/")[2], records["failure"].is_not_null()
        missing = ", ".join(lacking)
        notes.append(f"{file} lacks {missing}: measures that need them (letter, order, draws) are not computed.")
        if failed.any():
            notes.append(f"{int(failed.sum())} failed calls in {file} are not answers and are left out.")
        records = _counted(records.filter(~failed))
    return records.with_columns(pl.lit("\n".join(notes)).alias(NOTE)) if notes else records


def _held(name: str, records: pl.DataFrame) -> list[str]:
    """The models whose answers a grammar held to their form.

    Raises:
        InputError: it held some of a model's answers and not others: the two are never pooled.
    """
    import polars as pl

    if "held" not in records.columns:
        return []
    held = records.filter(pl.col("held"))["model"].unique().sort().to_list()
    free = set(records.filter(~pl.col("held").fill_null(False))["model"].unique())
    reason = "a grammar held some of its answers to their form and not others: give each kind a name of its own"
    if both := [model for model in held if model in free]:
        raise InputError([Problem(name, model, reason) for model in both])
    return held


def _counted(records: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    key = ["model", "issue", "condition", "stance"]
    counts = records.group_by(key).agg(pl.len().cast(pl.Int64).alias("count"), pl.col("topic").drop_nulls().first())
    return counts.sort(key).select(*COUNTS.needed, "topic")


def notes_of_table(records: pl.DataFrame) -> list[str]:
    """What readers must know of a table that was made elsewhere."""
    known = records[NOTE].first() if NOTE in records.columns else None
    return str(known).split("\n") if known else []
