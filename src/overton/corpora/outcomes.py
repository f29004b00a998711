"""Whatever `overton analyze` is given: records where there are records, else counts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from overton.corpora.counts import ALIASES, COUNT_COLUMNS, read_counts
from overton.corpora.records import REQUIRED, read_records, records_file
from overton.corpora.tables import column_names, refuse

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcomes", "read_outcomes"]

_DESIGN = ("wording", "template", "arguments", "last_argument", "a_is", "pro_first", "a_first", "stance_published")


@dataclass(frozen=True)
class Outcomes:
    """A table of outcomes: `kind` says whether `table` is as `read_records` or as `read_counts` gives it.

    `lacking` names columns that the records at hand do not have and that measures of letter, order and draws need:
    such records are counted, failed calls left out (`failed` of them), and `kind` is 'counts'.
    """

    kind: Literal["records", "counts"]
    table: pl.DataFrame
    lacking: tuple[str, ...] = ()
    failed: int = 0


def read_outcomes(path: Path) -> Outcomes:
    """Records or counts at `path`, told apart by their columns: a column `count` makes it a table of counts.

    Raises:
        InputError: it is neither, or a value is wrong (as `read_records` and `read_counts` say).
    """
    file = records_file(path)
    names = column_names(file)
    ours = {ALIASES.get(name, name) for name in names}
    if "count" in ours:
        return Outcomes("counts", read_counts(file))
    if not set(REQUIRED) <= set(names):
        raise refuse(
            file,
            "",
            f"is neither records (columns {', '.join(REQUIRED)} and more) nor a table of counts "
            f"(columns {', '.join(COUNT_COLUMNS)}); it has {', '.join(names[:30]) or 'no columns'}",
        )
    records = read_records(file)
    lacking = tuple(column for column in _DESIGN if column not in names)
    if not lacking:
        return Outcomes("records", records)
    failed = records["failure"].is_not_null()
    return Outcomes("counts", _counted(records.filter(~failed)), lacking, int(failed.sum()))


def _counted(records: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    held = [column for column in ("held",) if column in records.columns]
    key = ["model", *held, "issue", "condition", "stance"]
    counts = records.group_by(key).agg(pl.len().cast(pl.Int64).alias("count"), pl.col("topic").drop_nulls().first())
    return counts.sort(key).select(*COUNT_COLUMNS, "topic", *held)
