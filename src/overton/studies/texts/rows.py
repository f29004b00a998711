"""Records of judged texts made into units, one for each text, with a column for each label."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from overton.studies.frame import Cells
from overton.studies.grouping import Frame
from overton.studies.results import Results
from overton.studies.texts.options import TableHow
from overton.studies.texts.question_files import LABEL
from overton.studies.units import Units
from overton.studies.warnings import FaultCount

_KEPT = ("model", "condition", "group", LABEL, f"{LABEL}_again", "judged_again", "unread", "failure")


@dataclass(frozen=True)
class TextRows:
    """The units of texts that may have some labels: `columns` has the column of each label's share."""

    columns: Mapping[str, str]

    def units_of(
        self, records: pl.DataFrame, how: TableHow, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
    ) -> dict[str, Units]:
        """The texts. For each label there is a column that is true if the text has it, null if it has none."""
        shares = {column: pl.col(LABEL) == label for label, column in self.columns.items()}
        table = records.select(
            *_KEPT,
            *columns,
            **shares,
            known=pl.col(LABEL).is_not_null(),
            failed=pl.col("failure").is_not_null(),
        )
        return {"texts": Units(table.sort("model", "condition", "group"), "group", tuple(columns))}

    def weighing_of(self, records: pl.DataFrame, how: TableHow) -> None:
        """Nobody requests probabilities."""

    def without_faults(self, results: Results) -> Results:
        """The same: nothing is known of how texts came about."""
        return results

    def faults_of(self, records: pl.DataFrame, how: TableHow) -> tuple[FaultCount, ...]:
        """Nothing: texts are not checked for faults."""
        return ()

    def counts_of(self, frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...]]:
        """The table 'counts', by model and condition: `texts` with a label and their `groups`, and of all `labels` that
        were requested the `failed` calls and the `unread` ones."""
        counted = (
            frame.units["texts"]
            .table.group_by("model", "condition")
            .agg(
                texts=pl.col("known").sum().cast(pl.Int64),
                groups=pl.col("group").filter("known").n_unique().cast(pl.Int64),
                failed=pl.col("failed").sum().cast(pl.Int64),
                unread=pl.col("unread").sum().cast(pl.Int64),
                labels=(~pl.col("failed")).sum().cast(pl.Int64),
            )
            .sort("model", "condition")
        )
        rows = counted.iter_rows(named=True)
        return {"counts": tuple({"model": row["model"], "facet": None, **row} for row in rows)}
