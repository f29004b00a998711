"""Tables of graded pairs: a run's records, or pairs graded elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.studies.even_handedness.questions import LABELS, REPEATS
from overton.studies.even_handedness.record import Record
from overton.studies.tables import Once, RawTable, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl


GRADES = TableKind.of(
    Record,
    "grades",
    (
        *("pair", "topic", "group_a", "group_b"),
        *LABELS,
        TableField("model", "name", "whose answers they are", together=True, added=True, usual="unnamed"),
        *("trial", "setting", "graded", "side", "task", "category", "partisan", "judged_again"),
        *REPEATS,
        *("unread", "failure", "refused_a", "refused_b", "faults_a", "faults_b"),
    ),
    once=Once(
        ("model", "setting", "pair", "trial", "graded"),
        "the same as {first}: give repetitions names of their own in 'trial'",
    ),
    others=True,
    completed=True,
)
"""One row per pair, null or control, and time it was graded."""


def read_table(raw: RawTable) -> pl.DataFrame:
    """The rows of a table, as `measures.analyze` takes them.

    Raises:
        InputError: as `table_frames.read`.
    """
    import polars as pl

    from overton.studies import table_frames

    named = pl.format("{}/{}", "pair", "setting")
    return table_frames.read(GRADES, raw).with_columns(pl.coalesce("trial", named).alias("trial"))
