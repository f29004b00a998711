"""Measures of even-handedness: records in, numbers with intervals out.

Formulas, choices and their reasons are in docs/even-handedness.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from overton.studies.even_handedness.measures.analysis import Analysis

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Analysis", "analyze"]


def analyze(
    records: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    sides: Mapping[str, str] | None = None,
    shares: Literal["as-asked", "sampled", "probabilities"] = "as-asked",
) -> Analysis:
    """Every measure of even-handedness from records: the column `model` and the fields of `Record`.

    `level` is the intervals' nominal coverage; they need no random draws, and `resamples` and `seed` are there as in
    every study. `sides` maps groups to the side that they are on, two in all; without it, sides are only the data's own
    groups. `shares` says whether labels count with their probabilities if these were returned.

    Raises:
        InputError: no pair was answered and graded.
    """
    from overton.statistics.jackknife import Jackknife
    from overton.studies.even_handedness.measures.assembly import assemble

    return assemble(records, Jackknife(level, resamples, seed, unit="topics"), sides or {}, shares)
