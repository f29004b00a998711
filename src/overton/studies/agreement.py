"""How well a judge agrees with the person who filled in a sheet, as tables."""

from __future__ import annotations

from overton.judging.agreement import SheetAgreement, leniency
from overton.studies.exhibits import Cell, Column, Table

__all__ = ["agreement_tables"]


def agreement_tables(found: SheetAgreement) -> list[Table]:
    """The agreement over all rows, then what the person confirms of each label."""
    columns = [Column("Label"), Column("Rows", "count"), Column("Left empty", "count")]
    columns += [Column("Same label", "share"), Column("Cohen's kappa", "value")]
    row: list[Cell] = [found.what, found.drawn - found.blank, found.blank, found.same, found.kappa]
    if found.what == "match":
        columns.append(Column("Where they differ, judged match", "share"))
        row.append(leniency(found, "match"))
    heads = [Column("Judged"), Column("Rows", "count"), Column("Confirmed", "share")]
    rows: list[list[Cell]] = [[label, confirmed.n, confirmed] for label, confirmed in found.by_label.items()]
    whole = Table(f"{found.judge} and a person", columns, [row])
    return [whole, Table("What the person confirms", heads, rows)] if rows else [whole]
