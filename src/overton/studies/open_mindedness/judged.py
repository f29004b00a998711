"""What an audit's records mean, and what is shown of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from overton.studies.exhibits import Exhibits, Section
from overton.studies.measuring import How, Measuring, Results

if TYPE_CHECKING:
    from overton.studies.open_mindedness.neutrality import Agreement
    from overton.studies.table import RawTable

__all__ = ["MEASURING"]


def _analysis() -> type[Agreement]:
    from overton.studies.open_mindedness.neutrality import Agreement

    return Agreement


def _of_records(results: Results, how: How) -> Agreement:
    from overton.studies.open_mindedness.neutrality import agreement

    return agreement(results.records)


def _of_table(table: RawTable, how: How) -> Agreement:
    from overton.studies.open_mindedness.neutrality import agreement

    return agreement(table.frame())


def _sections(analysis: Agreement) -> Sequence[Section]:
    from overton.studies.open_mindedness.neutrality import agreement_tables

    return [Section("neutrality", "Neutrality of the paraphrases", agreement_tables(analysis))]


def _exhibits(results: Results, analysis: Agreement, how: How) -> Exhibits:
    return Exhibits(
        summary="Whether judges find the paraphrases of issues neutral, and how far the judges agree.",
        sections=_sections(analysis),
        trials=None,
    )


MEASURING: Measuring[Agreement, Any] = Measuring(
    analysis=_analysis,
    records=_of_records,
    tables="the records of an audit",
    table=_of_table,
    sections=_sections,
    exhibits=_exhibits,
)
