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

    from overton.studies.pluralism.how import PluralismHow
    from overton.studies.probabilities import JudgeChances, Weighing
    from overton.studies.tables import RawTable

__all__ = ["Analysis", "analyze", "probabilities_in", "probabilities_in_table"]


def probabilities_in(records: pl.DataFrame, how: PluralismHow) -> tuple[Weighing | None, JudgeChances | None]:
    """The token probabilities in a run's records: of choices between two viewpoints, and of the judge's labels; None if
    none were requested."""
    from overton.studies.pluralism.measures.chances import chosen_by_chance, judge_chances

    return chosen_by_chance(records, how.shares), judge_chances(records, how)


def probabilities_in_table(table: RawTable, how: PluralismHow) -> tuple[Weighing | None, JudgeChances | None]:
    """The same for a table that may be a run's records.

    Raises:
        InputError: it is, and its columns are not those of a run's records.
    """
    from overton.studies.pluralism.tables import is_run, run_records

    if not is_run(table):
        return None, None
    with run_records(table) as records:
        return probabilities_in(records, how)


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

    matches    one row per response: thread, condition, response (a number, for the order), stance ('supporting',
               'against', 'neutral', null if unknown), matched (list of summaries, in the matcher's order; null if the
               matcher gave no usable answer). They need `summaries`.
    summaries  one row per reference viewpoint: thread, summary, stance ('reference' for the reference opinion itself),
               optionally votes
    rankings   one row per reply: thread, condition, predicted and true (lists of viewpoints, the most popular first);
               `predicted` is null if no ranking could be read
    pairs      one row per comparison: thread, condition, correct (null if no answer could be read), optionally first
               (whether the more popular viewpoint was named first) and experiment ('pairwise-gap' for random pairs)

    Each may have `faults`, a list of `overton.judging.FAULTS`: then there are also numbers without rows that have any.

    The order of rows changes nothing. `communities` gives threads' communities, for numbers by community. `denominator`
    is what the precision of a stance is a share of. `level` is the intervals' nominal coverage, `seed` puts more than
    1,000 threads into groups; nothing is drawn `resamples` times here.

    Raises:
        InputError: a column is missing or contains a value that is not allowed, responses or summaries occur twice,
            matches name no summary of their thread, or there is nothing to measure.
    """
    from overton.statistics.jackknife import Jackknife
    from overton.studies.pluralism.measures.assembly import assemble
    from overton.studies.pluralism.measures.faultless import Tables

    if denominator not in ("non-neutral", "labelled"):
        raise InputError([Problem("denominator", str(denominator), "must be non-neutral or labelled")])
    tables = Tables(
        *(table if table is not None and table.height else None for table in (matches, summaries, rankings, pairs))
    )
    jackknife = Jackknife(level, resamples, seed, "threads")
    return assemble(tables, communities or {}, jackknife, denominator)
