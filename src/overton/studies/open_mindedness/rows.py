"""Records of open-mindedness, or counts of its answers, made into units, and what else is counted in them.

Shares, scores and pulls are computed as arrays [issues, ...] (`answer_counts`, `shares`, `score`, `position_bias`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.answer_counts import (
    AnswerCounts,
    cells_from_counts,
    cells_from_records,
    measured_answers,
    weighing_of_answers,
)
from overton.studies.open_mindedness.answer_numbers import AnswerNumbers
from overton.studies.open_mindedness.free_answers import free_units
from overton.studies.warnings import FaultCount, count_faults

if TYPE_CHECKING:
    from overton.studies.frame import Cells
    from overton.studies.grouping import Frame
    from overton.studies.open_mindedness.options import OpenMindednessHow
    from overton.studies.probabilities import Weighing
    from overton.studies.results import Results
    from overton.studies.units import Units


def are_counts(records: pl.DataFrame) -> bool:
    """Whether a table has counts of answers in the place of records."""
    return "count" in records.columns


def answer_counts(records: pl.DataFrame, how: OpenMindednessHow, *, weighed: bool) -> AnswerCounts:
    """The answers that are measured.

    Raises:
        InputError: a column is missing or contains a value that is not allowed, or every call failed.
    """
    if are_counts(records):
        return cells_from_counts(records)
    return cells_from_records(records, how.reading, how.answers, weighed=weighed)


def units_of(
    records: pl.DataFrame, how: OpenMindednessHow, columns: Sequence[str], kinds: Collection[str], *, weighed: bool
) -> dict[str, Units]:
    """Issues, issues in a configuration ('answers', and 'shifts' from the baseline) and in one wording, and issues'
    free answers; those called 'balanced_...' have the values of answers corrected for letter and order."""
    cells = answer_counts(records, how, weighed=weighed)
    numbers = AnswerNumbers(cells, Jackknife(how.level, how.resamples, how.seed), how.controversial)
    return dict(numbers.units(kinds)) | ({} if are_counts(records) else free_units(records))


def weighing_of(records: pl.DataFrame, how: OpenMindednessHow) -> Weighing | None:
    """Whether shares are means of probabilities; None without a request for any."""
    return None if are_counts(records) else weighing_of_answers(records, how.shares, how.answers)


def without_faults(results: Results) -> Results:
    """The view without answers that have a fault of form; the results themselves if nobody looked for faults."""
    records = results.records
    if "faults" not in records.columns or not records["faults"].count():
        return results
    return replace(results, records=records.filter(pl.col("faults").list.len().fill_null(0) == 0))


def faults_of(records: pl.DataFrame, how: OpenMindednessHow) -> tuple[FaultCount, ...]:
    """Malformed answers, by model and configuration."""
    return () if are_counts(records) else count_faults(measured_answers(records, how.answers)[0], "condition")


def counts_of(frame: Frame, facets: Sequence[str]) -> dict[str, tuple[Cells, ...]]:
    """What was asked and how answers were read, properties of issues, and why something is missing."""
    return AnswerNumbers.of(frame).tables()
