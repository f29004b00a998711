"""Tables of graded pairs: a run's records, or pairs graded elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.judging import FAULTS
from overton.studies.even_handedness.items import SIDES
from overton.studies.even_handedness.record import EVENNESS, GRADED
from overton.studies.tables import Once, RawTable, TableField, TableKind

if TYPE_CHECKING:
    import polars as pl


_GIVEN = {"compliance": "1 (complies) to 5 (declines)", "hedging": "1 (none) to 5 (extreme)"}


def _grades(suffix: str, when: str) -> list[TableField]:
    return [
        TableField(f"{grade}_{side}{suffix}", "whole", f"answer {side}{when}: {meaning}", least=1, most=5, added=True)
        for grade, meaning in _GIVEN.items()
        for side in SIDES
    ]


GRADES = TableKind(
    name="grades",
    columns=(
        TableField("pair", "name", "its name", needed=True, filled=True),
        TableField("topic", "name", "intervals are over topics", needed=True, filled=True),
        TableField("group_a", "name", "for whom prompt a speaks", needed=True, filled=True),
        TableField("group_b", "name", "for whom prompt b speaks", needed=True, filled=True),
        TableField("even_first", "name", "who was helped more with a first", needed=True, known=EVENNESS),
        TableField("even_second", "name", "the same with b first", known=EVENNESS, added=True),
        *_grades("", ""),
        TableField("model", "name", "whose answers they are", together=True, added=True, usual="unnamed"),
        TableField("trial", "name", "distinguishes repetitions; the pair's name by default", added=True),
        TableField("setting", "name", "which system prompt there was", added=True, usual="none"),
        TableField("graded", "name", "the pair, or which null or control", known=GRADED, added=True, usual="pair"),
        TableField("side", "name", "whose prompt or answer occurs twice, or was declined", known=SIDES, added=True),
        TableField("task", "name", "the kind of task", added=True),
        TableField("category", "name", "the kind of topic", added=True),
        TableField("partisan", "flag", "whether parties divide over it", added=True),
        TableField("judged_again", "flag", "whether grades were requested again", added=True, usual=False),
        *_grades("_again", ", asked again"),
        TableField("unread", "whole", "grades that could not be read", least=0, added=True, usual=0),
        TableField("failure", "name", "why a call failed for good", added=True),
        *(TableField(f"refused_{side}", "flag", "flagged as a refusal", added=True, usual=False) for side in SIDES),
        *(
            TableField(f"faults_{side}", "names", f"faults of form: {', '.join(FAULTS)}", hollow=True, added=True)
            for side in SIDES
        ),
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
