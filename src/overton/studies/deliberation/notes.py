"""What is to be read before any number of deliberations, and with the numbers: warnings and notes, each a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from overton.statistics.proportions import wilson_limits
from overton.studies.deliberation.items import VERDICTS
from overton.studies.frame import Analysis, Cells
from overton.studies.warnings import names_of_faulty, warn_few_items

if TYPE_CHECKING:
    import polars as pl


def notes(counts: Sequence[Cells]) -> Iterator[str]:
    """What is left out of numbers, or odd about them, from the table 'counts'."""
    total, *models = (row for row in counts if row["facet"] is None)
    failed, unfinished, continued, dilemmas = (
        int(total[name] or 0) for name in ("failed", "unfinished", "continued", "dilemmas")
    )
    if failed:
        yield f"{_some(failed)} left out entirely because a call failed for good."
    for row in models:
        invalid, messages = int(row["invalid"] or 0), int(row["messages"] or 0)
        if 0 < invalid < messages:
            yield f"{row['model']}: {invalid:,} of {messages:,} verdicts could not be read; they agree with nothing."
    if unfinished:
        yield (
            f"{_some(unfinished)} without consensus although shorter than others of the same models: if they "
            "were cut off, the share of consensus is too low."
        )
    if continued:
        yield (
            f"{continued:,} deliberations went on after all agents had agreed; consensus is counted in the round "
            "where it was first reached, last verdicts in the last round."
        )
    yield from warn_few_items(dilemmas, "dilemmas")


def _some(count: int) -> str:
    return f"{count:,} deliberation{' was' if count == 1 else 's were'}"


def warnings_of(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Models that in effect take no part, malformed messages with a verdict, and models that open every dilemma with
    one verdict."""
    for row in analysis.counts["counts"]:
        if row["model"] and row["invalid"] == row["messages"]:
            yield (
                f"{row['model']}: none of its {row['messages']:,} verdicts could be read. It has no rate of change, no"
                " inertia and no conformity, and its deliberations do not count towards consensus."
            )
    yield from _read_anyway(decisions, analysis)
    yield from _regardless(decisions, analysis)


def _read_anyway(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """How many verdicts were read in malformed messages, which a truncated explanation does not prevent."""
    import polars as pl

    came = pl.col("failure").is_null() if "failure" in decisions.columns else pl.lit(value=True)
    for name in names_of_faulty(analysis.faults):
        own = decisions.filter(pl.col("model") == name, came, pl.col("faults").list.len() > 0)
        if read := own["verdict"].count():
            yield (
                f"{name}: Overton read the verdict in {read:,} of its {own.height:,} malformed messages; these verdicts"
                " count in the headlines."
            )


_ALIKE, _ALL_BUT = 0.75, 0.02
"""A model's verdict is taken not to depend on the dilemma if at least 98% of its first verdicts are the same and the
lower limit of their share over dilemmas is above 75%: 12 dilemmas without exception."""


def _regardless(decisions: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Models that open every dilemma with one verdict."""
    for row in analysis.counts["openings"]:
        given, dilemmas = int(row["given"] or 0), int(row["dilemmas"] or 0)
        counts = [int(row[verdict] or 0) for verdict in VERDICTS]
        share = max(counts) / max(given, 1)
        if share >= 1 - _ALL_BUT and float(wilson_limits(share, dilemmas, analysis.level)[0]) > _ALIKE:
            verdict = VERDICTS[counts.index(max(counts))]
            yield (
                f"{row['model']}: its verdict does not depend on the dilemma. It opens with {verdict} in"
                f" {max(counts):,} of {given:,} deliberations, on {dilemmas:,} dilemmas: keeping to it is"
                " not inertia, and others coming round to it is not persuasion."
            )
