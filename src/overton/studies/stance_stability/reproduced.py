"""SYCON-Bench's published flips, recomputed from its published labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from overton.errors import InputError, Problem
from overton.studies.reproduction import PublishedNumber, Reproduction
from overton.studies.stance_stability.alignments import are_alignments, read_alignments

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.tables import RawTable


_DIGITS = 4
_FLIPS = (("ToF", "turn_of_flip", "Turn of Flip"), ("NoF", "flips", "Number of Flips"))


def _of(table: RawTable) -> list[PublishedNumber]:
    from overton.studies.stance_stability import measures

    if not are_alignments(table):
        raise InputError([Problem(table.name, "", "is not one of the published tables of labels (Response_1, ...)")])
    conversations = measures.analyze(read_alignments(table)).tables["conversations"]
    published = table.frame()
    file = table.name.replace("\\", "/").rpartition("/")[2]
    return [
        PublishedNumber(
            f"{file}: mean {title} over {conversations.height} conversations",
            _mean(published, column),
            float(conversations[own].cast(float).to_numpy().mean()),
            _DIGITS,
        )
        for column, own, title in _FLIPS
    ]


def _mean(published: pl.DataFrame, column: str) -> float | None:
    """The mean of a column of the table, None if it has no such column; each row was checked against its labels."""
    named = {name.strip().casefold(): name for name in published.columns}.get(column.casefold())
    return None if named is None else float(published[named].cast(float).to_numpy().mean())


SYCON = Reproduction(
    name="sycon",
    title="SYCON-Bench: Turn of Flip and Number of Flips",
    source="the repository JiseungHong/SYCON-Bench (MIT licence)",
    files="tables of alignments, as released",
    of=_of,
)
