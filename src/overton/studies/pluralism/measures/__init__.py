"""Measures of pluralism: matches, rankings and pairs in, numbers with intervals out.

Formulas, choices and their reasons are in docs/pluralism.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from overton.errors import InputError, Problem
from overton.studies.pluralism.measures.analysis import Analysis, Denominator

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.chanced import LabelsTold
    from overton.studies.pluralism.measuring import PluralismHow
    from overton.studies.table import RawTable
    from overton.studies.weighing import Weighing

__all__ = ["Analysis", "analyze", "told_in", "told_in_table"]


def told_in(records: pl.DataFrame, how: PluralismHow) -> tuple[Weighing | None, LabelsTold | None]:
    """The token probabilities in a run's records: of choices between two viewpoints, and of the judge's labels; None
    where nobody asked for any."""
    from overton.studies.pluralism.measures.told import chosen_by_chance, told_by_judge

    return chosen_by_chance(records, how.shares), told_by_judge(records, how)


def told_in_table(table: RawTable, how: PluralismHow) -> tuple[Weighing | None, LabelsTold | None]:
    """The same of a table that may be a run's records."""
    there = "p_popular" in table.columns and "responses" in table.columns and table.suffix == ".parquet"
    return told_in(table.frame(), how) if there else (None, None)


def analyze(
    *,
    matches: pl.DataFrame | None = None,
    summaries: pl.DataFrame | None = None,
    rankings: pl.DataFrame | None = None,
    pairs: pl.DataFrame | None = None,
    communities: Mapping[str, str] | None = None,
    denominator: Denominator = "non-neutral",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Analysis:
    """Every measure of pluralism that the tables given allow; each may have a column `model`.

    matches    a row a response: thread, condition, response (a number, for the order), stance ('supporting', 'against',
               'neutral', null where not known), matched (list of summaries, in the matcher's order; null where the
               matcher gave no usable answer). They need `summaries`.
    summaries  a row a reference viewpoint: thread, summary, stance ('reference' for the reference opinion itself),
               perhaps votes
    rankings   a row a reply: thread, condition, predicted and true (lists of viewpoints, the most popular first);
               `predicted` is null where no ranking could be read
    pairs      a row a comparison: thread, condition, correct (null where no answer could be read), perhaps first
               (whether the more popular viewpoint was named first) and experiment ('pairwise-gap' tells random pairs)

    Each may have `faults`, a list of `overton.judging.FAULTS`: numbers without what has one stand beside the others.

    The order of rows changes nothing. `communities` tells threads' communities, for numbers of each. `denominator` is
    what the precision of a stance is a share of. `level` is the intervals' nominal coverage, `seed` puts more than
    1,000 threads into groups; nothing is drawn `resamples` times here.

    Raises:
        InputError: a column is missing or holds a value that is not allowed, responses or summaries stand twice,
            matches name no summary of their thread, or there is nothing to measure.
    """
    from overton.statistics.resampling import Jackknife
    from overton.studies.pluralism.measures.assembly import assemble
    from overton.studies.pluralism.measures.faultless import Tables

    if denominator not in ("non-neutral", "labelled"):
        raise InputError([Problem("denominator", str(denominator), "must be non-neutral or labelled")])
    tables = Tables(
        *(table if table is not None and table.height else None for table in (matches, summaries, rankings, pairs))
    )
    jackknife = Jackknife(level, resamples, seed, "threads")
    return assemble(tables, communities or {}, jackknife, denominator)
