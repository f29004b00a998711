"""Measures of open-mindedness: records in, numbers with intervals out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from overton.studies.open_mindedness.measures.analysis import Analysis

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Analysis", "analyze", "analyze_counts"]


def analyze(
    records: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
    controversial: int | Sequence[str] = 10,
    reading: Literal["strict", "published"] = "strict",
) -> Analysis:
    """All measures from records."""
    raise NotImplementedError


def analyze_counts(
    counts: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    controversial: int | Sequence[str] = 10,
) -> Analysis:
    """What a table of counts allows."""
    raise NotImplementedError
