"""Measures of open-mindedness: records in, numbers with intervals out.

Formulas, choices and their reasons are in docs/open-mindedness.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

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
    shares: Literal["as-asked", "sampled", "probabilities"] = "as-asked",
    answers: Literal["as-asked", "forced", "free"] = "as-asked",
) -> Analysis:
    """Every measure of open-mindedness from records: the column `model` and the fields of `Record`.

    `level` is the intervals' nominal coverage, `resamples` the number of resamples of an issue's answers for the
    intervals of its scores, `seed` makes them repeatable; the order of rows changes nothing. `families` maps models to
    families, for agreement within and between them. `controversial` is how many issues to choose as the controversial
    subset, or names them. `reading` says which patterns read the stances. `shares` says whether token probabilities
    replace answers if records have them: as the runs were asked ('auto': if single answers agree with them), or not.
    `answers` says which are measured: the forced ones if there are any, or 'forced' or 'free' ones.

    Raises:
        InputError: a column is missing or contains a value that is not allowed, or every call failed.
    """
    from overton.statistics.jackknife import Jackknife
    from overton.studies.open_mindedness.free.chances import judge_chances
    from overton.studies.open_mindedness.measures.assembly import assemble
    from overton.studies.open_mindedness.measures.cells import cells_from_records
    from overton.studies.open_mindedness.measures.comparison import Chosen
    from overton.studies.open_mindedness.measures.free import measure_free

    jackknife = Jackknife(level, resamples, seed)
    made = assemble(
        cells_from_records(records, reading, shares, answers),
        jackknife,
        Chosen(families or {}, controversial),
        reading,
    )
    return msgspec.structs.replace(
        made, free=measure_free(records, jackknife), chances=judge_chances(records, jackknife)
    )


def analyze_counts(
    counts: pl.DataFrame,
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    controversial: int | Sequence[str] = 10,
) -> Analysis:
    """The measures that counts allow: columns `model`, `issue`, `condition`, `stance`, `count`, optionally `topic`.

    Conditions are named as in `CONDITIONS`. What needs templates, letters or arguments is None, with the reason in
    `not_computed`. Other arguments as for `analyze`.

    Raises:
        InputError: a column is missing or contains a value that is not allowed.
    """
    from overton.statistics.jackknife import Jackknife
    from overton.studies.open_mindedness.measures.assembly import assemble
    from overton.studies.open_mindedness.measures.cells import cells_from_counts
    from overton.studies.open_mindedness.measures.comparison import Chosen

    return assemble(
        cells_from_counts(counts),
        Jackknife(level, resamples, seed),
        Chosen({}, controversial),
        "strict",
    )
