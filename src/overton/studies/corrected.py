"""A judged table and its correction, as tables to show: the judge alone, corrected, and the labelled rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING

from overton.studies.exhibits import Cell, Column, Missing, Table
from overton.studies.numbers import Kind

if TYPE_CHECKING:
    from overton.judging.judged_tables import CorrectedDifference, CorrectedGroup, CorrectedNumber, JudgedResult

__all__ = ["correction_tables"]


def correction_tables(found: JudgedResult) -> list[Table]:
    """Shares and mean of all rows, of each group, and between groups; then how well judge and people agree."""
    said = f"{found.labelled:,} of {found.rows:,} rows are labelled by people; the numbers describe {found.population}."
    tables = [_table("All rows", found.all, "share", said)]
    tables += [_table(name, group, "share") for name, group in found.by.items()]
    tables += [_table(f"{one.a} minus {one.b}", one, "points") for one in found.differences]
    agreement = found.agreement
    heads = [Column("Judge and people"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    heads.append(Column("Krippendorff's alpha", "value"))
    row: list[Cell] = ["labelled rows", agreement.same, agreement.kappa, agreement.alpha]
    return [*(table for table in tables if table.rows), Table("Agreement", heads, [row])]


def _table(title: str, group: CorrectedGroup | CorrectedDifference, kind: Kind, note: str = "") -> Table:
    heads = [Column("Label"), Column("Judge alone", kind), Column("Corrected", kind), Column("Labelled alone", kind)]
    rows = [_row(name, one) for name, one in group.shares.items()]
    return Table(title, heads, [*rows, *_mean(group)], note)


def _row(name: str, one: CorrectedNumber) -> list[Cell]:
    judged: Cell = Missing("the judge gives no such label") if isnan(one.judge) else one.judge
    return [name, judged, one.corrected, one.labelled]


def _mean(group: CorrectedGroup | CorrectedDifference) -> Iterator[list[Cell]]:
    """A mean is another kind of number than a share, and so is written out."""
    from overton.studies.numbers import number, sentence

    if group.mean is not None:
        one = group.mean
        yield ["mean", number(one.judge, "value"), sentence(one.corrected, "value"), sentence(one.labelled, "value")]
