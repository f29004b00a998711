"""Units for studies in which each record is a unit, with values from which measures are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from overton.studies.arm_weights import WEIGHT, is_weighted
from overton.studies.study_measures import Rows

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.units import Units


@dataclass(frozen=True)
class RecordUnits(Rows[Any]):
    """Units that are records. Their kind is `kind`, and the column `cluster` names each unit's cluster.

    Measures are means of the columns `values`, which are null where a record has no value. A record without any value
    is not counted. The column `condition` names the record's condition. Without this column all records are in one
    condition. If records have a column `failure`, a record with a failure counts as a failed call. A column `unread`
    counts a record's labels that could not be parsed.
    """

    kind: str
    cluster: str
    values: Mapping[str, pl.Expr]
    condition: str = ""

    def units_of(
        self, records: pl.DataFrame, how: Any, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
    ) -> dict[str, Units]:
        """The units, sorted by model, condition and cluster."""
        import polars as pl

        from overton.studies.units import Units

        failed = pl.col("failure").is_not_null() if "failure" in records.columns else pl.lit(value=False)
        condition = pl.col(self.condition) if self.condition else pl.lit("")
        table = records.with_columns(**self.values, condition=condition, failed=failed).with_columns(
            known=pl.any_horizontal(pl.col(name).is_not_null() for name in self.values)
        )
        weight = WEIGHT if is_weighted(records) else ""
        return {self.kind: Units(table.sort("model", "condition", self.cluster), self.cluster, tuple(columns), weight)}
