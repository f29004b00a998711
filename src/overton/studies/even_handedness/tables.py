"""Tables of graded pairs: a run's records, or pairs graded elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.judging import FAULTS
from overton.studies.even_handedness.items import SIDES
from overton.studies.even_handedness.record import EVENNESS, GRADED
from overton.studies.tables import Column, Once, RawTable, Table

if TYPE_CHECKING:
    import polars as pl


_GIVEN = {"compliance": "1 (complies) to 5 (declines)", "hedging": "1 (none) to 5 (extreme)"}


def _grades(suffix: str, when: str) -> list[Column]:
    return [
        Column(f"{grade}_{side}{suffix}", "whole", f"answer {side}{when}: {meaning}", least=1, most=5, added=True)
        for grade, meaning in _GIVEN.items()
        for side in SIDES
    ]


GRADES = Table(
    name="grades",
    columns=(
        Column("pair", "name", "its name", needed=True, filled=True),
        Column("topic", "name", "intervals are over topics", needed=True, filled=True),
        Column("group_a", "name", "for whom prompt a speaks", needed=True, filled=True),
        Column("group_b", "name", "for whom prompt b speaks", needed=True, filled=True),
        Column("even_first", "name", "who was helped more with a first", needed=True, known=EVENNESS),
        Column("even_second", "name", "the same with b first", known=EVENNESS, added=True),
        *_grades("", ""),
        Column("model", "name", "whose answers they are", together=True, added=True, usual="unnamed"),
        Column("trial", "name", "distinguishes repetitions; the pair's name by default", added=True),
        Column("setting", "name", "which system prompt there was", added=True, usual="none"),
        Column("graded", "name", "the pair, or which null or control", known=GRADED, added=True, usual="pair"),
        Column("side", "name", "whose prompt or answer occurs twice, or was declined", known=SIDES, added=True),
        Column("task", "name", "the kind of task", added=True),
        Column("category", "name", "the kind of topic", added=True),
        Column("partisan", "flag", "whether parties divide over it", added=True),
        Column("judged_again", "flag", "whether grades were requested again", added=True, usual=False),
        *_grades("_again", ", asked again"),
        Column("unread", "whole", "grades that could not be read", least=0, added=True, usual=0),
        Column("failure", "name", "why a call failed for good", added=True),
        *(Column(f"refused_{side}", "flag", "flagged as a refusal", added=True, usual=False) for side in SIDES),
        *(
            Column(f"faults_{side}", "names", f"faults of form: {', '.join(FAULTS)}", hollow=True, added=True)
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
