"""Refusals that endpoints flagged, counted for a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["refusals"]


def refusals(records: pl.DataFrame, unit: str) -> Iterator[str]:
    """How many of each model's `unit` its endpoint flagged as refusals, in one sentence; nothing where none was.

    `records` have `model`, and `refused` unless they are of a run made before refusals were kept.
    """
    import polars as pl

    if "refused" not in records.columns or not records["refused"].any():
        return
    counted = records.group_by("model").agg(pl.len(), pl.col("refused").sum()).filter(pl.col("refused") > 0)
    told = [f"{model} {refused:,} of {count:,}" for model, count, refused in counted.sort("model").iter_rows()]
    yield f"{unit.capitalize()} that the endpoint flagged as refusals, kept as they came: {'; '.join(told)}."
