"""Several judges, as tables: how far they agree on each label, and headlines by each of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING

from overton.statistics import Estimate
from overton.studies.exhibits import Cell, Column, Exhibit, Facet, Method, Missing, Prose, Section, Table
from overton.studies.numbers import Kind, reason, sentence
from overton.studies.several import Judges

if TYPE_CHECKING:
    import polars as pl

__all__ = ["differing", "judges_section"]

_READ = (
    "Each judge read the same answers independently. The first leads: numbers elsewhere are by its labels."
    " Where judges differ much, a number is as much about the judge as about the model."
)
_METHOD = (
    "Alpha is Krippendorff's, over all judges, kappa Cohen's, for two: 1 is full agreement, 0 what chance alone gives."
    " Rows to which a judge gave no label are in neither. Numbers by two judges are over the items for which both give"
    " one, each left out of both in turn."
)


def judges_section(found: Judges) -> Section:
    """What is shown if there are several judges."""
    tables = [_labels(found), _pairs(found), *_headlines(found)]
    shown: list[Exhibit] = [Prose(_READ), *(table for table in tables if table.rows), Method(_METHOD)]
    return Section("judges", "Several judges", shown)


def differing(
    rows: pl.DataFrame, others: Mapping[str, pl.DataFrame], key: Sequence[str], titles: Mapping[str, str]
) -> list[Facet]:
    """Properties of trials to browse: whether the judges differ, on which labels, and what another judge says instead.

    `rows` are the trials by the first judge, `others` those by others, matched by the columns `key`; `titles` maps the
    columns of labels to their titles. Empty if there is one judge.
    """
    import polars as pl

    if not others:
        return []
    said = {judge: _beside(rows, other, key, list(titles)) for judge, other in others.items()}
    own = {column: rows[column].cast(pl.String).to_list() for column in titles}
    every = range(rows.height)
    wrong = [
        [titles[name] for name in titles if any(own[name][row] != one[name][row] for one in said.values())]
        for row in every
    ]
    found = [
        Facet.of("Judges", ["differ" if one else "agree" for one in wrong], read=True),
        Facet.of("Judges differ on", [", ".join(one) or None for one in wrong], read=True),
    ]
    for judge, one in said.items():
        otherwise = [
            "; ".join(
                f"{titles[name]}: {one[name][row] or 'none'}" for name in titles if own[name][row] != one[name][row]
            )
            for row in every
        ]
        found.append(Facet.of(f"Otherwise, by {judge}", [text or None for text in otherwise], choose=False, read=True))
    return found


def _beside(
    rows: pl.DataFrame, other: pl.DataFrame, key: Sequence[str], columns: Sequence[str]
) -> dict[str, list[str | None]]:
    """Another judge's labels, in the order of the first one's rows."""
    import polars as pl

    found = rows.select(key).join(other.select(*key, *columns), on=list(key), how="left", maintain_order="left")
    return {column: found[column].cast(pl.String).to_list() for column in columns}


def _labels(found: Judges) -> Table:
    columns = [Column("Label"), Column("Judged by two or more", "count"), Column("Judges differ", "count")]
    columns.append(Column("Krippendorff's alpha", "value"))
    rows: list[list[Cell]] = [[_called(one.what), one.rows, one.differ, one.alpha] for one in found.labels]
    return Table("How far the judges agree", columns, rows, summary=True)


def _pairs(found: Judges) -> Table:
    columns = [Column("Label"), Column("Judges"), Column("Same label", "share"), Column("Cohen's kappa", "value")]
    rows: list[list[Cell]] = [
        [_called(one.what), f"{two.first} and {two.second}", two.same, two.kappa]
        for one in found.labels
        for two in one.pairs
    ]
    return Table("Two judges at a time", columns, rows)


def _headlines(found: Judges) -> Iterator[Table]:
    """Numbers are written out, since one column has measures of several kinds."""
    first = found.judges[0]
    columns = [Column("Measure"), Column("Other judge"), Column(f"By {first}"), Column("By the other")]
    columns.append(Column("Difference"))
    rows: list[list[Cell]] = []
    for one in found.headlines:
        kind, gap = one.kinds
        row = f"{one.title}, {one.model}" if one.model else one.title
        numbers = (_cell(one.by_first, kind), _cell(one.by_judge, kind))
        rows.append([row, one.judge, *numbers, _cell(one.difference, gap)])
    note = "The difference is the other judge's number minus that of the first."
    yield Table("Headlines by each judge", columns, rows, note, summary=True)


def _cell(one: Estimate, kind: Kind) -> str | Missing:
    return Missing(reason(one) or "not computed") if isnan(one.value) else sentence(one, kind)


def _called(what: str) -> str:
    return what.replace("_", " ").capitalize()
