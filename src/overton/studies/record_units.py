"""Units that are the records themselves: for a study each of whose records has the values that its measures are of."""

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
    """Every record is a unit: one of the kind `kind`, in the cluster that the column `cluster` names.

    `values` are the values that measures are means of, by column, null where a record has none: a record without any
    is not counted. The column `condition` names the record's condition; without it all are alike. A record with a
    `failure` is counted as one whose call failed, and `unread` counts labels that could not be read, if there are such
    columns.
    """

    kind: str
    cluster: str
    values: Mapping[str, pl.Expr]
    condition: str = ""

    def units_of(
        self, records: pl.DataFrame, how: Any, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
    ) -> dict[str, Units]:
        """The units, by model, condition and cluster."""
        import polars as pl

        from overton.studies.units import Units

        failed = pl.col("failure").is_not_null() if "failure" in records.columns else pl.lit(value=False)
        condition = pl.col(self.condition) if self.condition else pl.lit("")
        table = records.with_columns(**self.values, condition=condition, failed=failed).with_columns(
            known=pl.any_horizontal(pl.col(name).is_not_null() for name in self.values)
        )
        weight = WEIGHT if is_weighted(records) else ""
        return {self.kind: Units(table.sort("model", "condition", self.cluster), self.cluster, tuple(columns), weight)}
