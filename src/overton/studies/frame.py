"""The analysis of a study: a table with a row for every number, and further tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from importlib.util import find_spec
from math import isfinite
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from overton.errors import InputError, Problem
from overton.statistics import Estimate, PreferredEstimate
from overton.studies.document import Shape, number_of, plain
from overton.studies.numbers import Kind
from overton.studies.sections import Section, summary

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Measure
    from overton.studies.probabilities import JudgeChances, Weighing
    from overton.studies.self_agreement import SelfAgreement
    from overton.studies.warnings import FaultCount


COLUMNS = {
    "study": str,
    "model": str,
    "item": str,
    "condition": str,
    "measure": str,
    "variant": str,
    "estimate": float,
    "low": float,
    "high": float,
    "n": int,
    "method": str,
    "why": str,
    "facet": str,
    "against": str,
    "clusters": int,
    "p": float,
}
"""The columns of a row.

`model`, `item` and `condition` are null if a number covers all of them. `facet` names the facets of a number, and
`condition` has the condition and the facets' values, joined by ' / '. `measure` is the measure's key, as in `overton
compare`. `variant` names the measure's variant; the preferred variant comes first. `against` is the other side of a
difference, and null for other numbers. `clusters` is the number of clusters that the interval is over. `p` is the
corrected p-value, if a test decides. `why` is the reason for a missing number or interval."""


def as_frame(rows: Sequence[Sequence[Any]], columns: Mapping[str, type]) -> pl.DataFrame:
    """Make a frame from rows of cells, with columns of these types."""
    import polars as pl

    kinds = {str: pl.String, float: pl.Float64, int: pl.Int64}
    return pl.DataFrame(rows, schema={name: kinds[kind] for name, kind in columns.items()}, orient="row")


Showing = Callable[[Sequence[Section]], str]
_renderers: list[Showing] = []


def show_with(showing: Showing) -> None:
    """Set the function that makes the HTML of an analysis' summary for notebooks. Studies themselves write no HTML."""
    _renderers[:] = [showing]


class EstimateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number of an analysis. Its columns are those of `estimates()`.

    The row's value, limits, `n` and method come from the estimate `number`. `why` is the reason for a missing number or
    interval.
    """

    model: str | None = None
    item: str | None = None
    facet: str | None = None
    condition: str | None = None
    measure: str
    variant: str = "plain"
    against: str | None = None
    clusters: int | None = None
    p: float | None = None
    number: Estimate

    SHAPE = Shape(
        without=("number",),
        also={name: name for name in ("estimate", "low", "high", "n", "method", "why")},
    )

    @property
    def key(self) -> EstimateKey:
        """The columns that identify a row of an analysis."""
        return (self.measure, self.model, self.item, self.facet, self.condition, self.variant, self.against)

    @property
    def estimate(self) -> float | None:
        """The value."""
        return _finite(self.number.value)

    @property
    def low(self) -> float | None:
        """The lower limit."""
        return _finite(self.number.low)

    @property
    def high(self) -> float | None:
        """The upper limit."""
        return _finite(self.number.high)

    @property
    def n(self) -> int:
        """The number of units that the number is computed from."""
        return self.number.n

    @property
    def method(self) -> str:
        """The method by which the number was computed."""
        method: str = number_of(self.number)["method"]
        return method

    @property
    def why(self) -> str | None:
        """The reason for a missing number or interval."""
        why: str | None = number_of(self.number)["why"]
        return why


def _by_variant(row: EstimateRow) -> Iterator[EstimateRow]:
    if not isinstance(row.number, PreferredEstimate):
        yield row
        return
    leads = row.number.leads
    for name in sorted(row.number.beside, key=lambda name: name != leads):
        yield msgspec.structs.replace(row, variant=name, number=row.number.beside[name])


EstimateKey: TypeAlias = tuple[str, str | None, str | None, str | None, str | None, str, str | None]
"""Measure, model, item, facet, condition, variant and the other side of a difference."""


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


class DeclaredMeasure(msgspec.Struct, frozen=True):
    """A measure's declaration.

    `range` has null for an unbounded end. `judge` names the role whose labels the measure depends on, '' for none. If
    `compared` is true, models are compared by the measure, and `margin` is the largest difference that is treated as
    zero.
    """

    title: str
    kind: Kind
    range: tuple[float | None, float | None]
    judge: str
    headline: bool
    compared: bool
    margin: float
    source: str

    @classmethod
    def of(cls, measure: Measure) -> DeclaredMeasure:
        """The declaration of a measure."""
        low, high = (_finite(end) for end in measure.within)
        return cls(
            measure.title,
            measure.kind,
            (low, high),
            measure.judge,
            measure.leads,
            measure.compared,
            measure.margin,
            measure.source,
        )


Cells: TypeAlias = dict[str, str | float | int | bool | None]


def number_cells(number: Estimate) -> Cells:
    """The cells of a row that come from its number: estimate, low, high, n, method, why."""
    variant = number_of(number)
    low, high = variant["interval"]
    columns = {name: variant[name] for name in ("n", "method", "why")}
    return {"estimate": variant["estimate"], "low": low, "high": high, **columns}


LargeTable: TypeAlias = Any
"""A Polars frame, for tables that may have a row for each of many units. It is converted to cells only for writing."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The analysis of a study that declares its measures: every number is a row of one table.

    rows        the table of estimates: see `estimates()`
    measures    the declaration of each measure, by its key
    counts      other results as tables by name, one mapping of cells for each row: see `tables`
    listed      tables that may have a row for each of many units, such as conversations
    models      the models that were measured, sorted
    warnings    to be read before any number
    faults      malformed replies. For this field and the next three, the numbers are also in `rows` and the counts in
                `tables`
    self_agreement  the judge's agreement with itself
    weighing    whether proportions are means of probabilities
    chances     token probabilities of a judge's labels
    """

    study: str
    level: float
    models: tuple[str, ...]
    warnings: tuple[str, ...]
    measures: dict[str, DeclaredMeasure]
    rows: tuple[EstimateRow, ...]
    counts: dict[str, tuple[Cells, ...]]
    listed: dict[str, LargeTable] = {}
    faults: tuple[FaultCount, ...] = ()
    self_agreement: dict[str, SelfAgreement] = {}
    weighing: Weighing | None = None
    chances: JudgeChances | None = None

    SHAPE = Shape(
        without=("study", "counts", "listed", "faults", "self_agreement", "weighing", "chances"),
        also={"tables": "cells", "rows": "variant_rows"},
    )

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Other results, by name: counts, and properties of each item."""
        import polars as pl

        made = {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in self.counts.items()}
        return {**made, **self.listed}

    @property
    def cells(self) -> dict[str, tuple[Cells, ...]]:
        """The same tables as mappings of cells."""
        return {**self.counts, **{name: tuple(table.to_dicts()) for name, table in self.listed.items()}}

    @cached_property
    def settings(self) -> list[tuple[str, str]]:
        """Every model with each of its conditions, in the order of the rows."""
        rows = (row for row in self.rows if row.facet is None and row.item is None)
        return list(dict.fromkeys((row.model, row.condition or "") for row in rows if row.model))

    @property
    def variant_rows(self) -> tuple[EstimateRow, ...]:
        """The rows. A number that human labels correct has a row for each variant, the preferred variant first."""
        return tuple(part for row in self.rows for part in _by_variant(row))

    @cached_property
    def places(self) -> dict[EstimateKey, int]:
        """The index of each row in `rows`, by the row's key."""
        return {row.key: place for place, row in enumerate(self.rows)}

    @cached_property
    def _row_of(self) -> dict[EstimateKey, EstimateRow]:
        return {row.key: row for row in self.rows}

    @cached_property
    def _indexes(self) -> dict[tuple[str, ...], dict[tuple[str | None, ...], list[EstimateRow]]]:
        return {}

    def _rows_by(self, names: tuple[str, ...]) -> dict[tuple[str | None, ...], list[EstimateRow]]:
        """The rows, grouped by measure, facet and these columns."""
        if names not in self._indexes:
            cells_of, found = attrgetter("measure", "facet", *names), defaultdict(list)
            for row in self.rows:
                found[cells_of(row)].append(row)
            self._indexes[names] = dict(found)
        return self._indexes[names]

    def rows_of(self, measure: str, facet: str | None = None, **where: str | None) -> list[EstimateRow]:
        """The rows of a measure and facet, in order. `where` gives the values that other columns must have."""
        return list(self._rows_by(tuple(where)).get((measure, facet, *where.values()), ()))

    def row(self, measure: str, **where: str | None) -> EstimateRow | None:
        """The row with exactly this key; None if there is none. By default, the variant is 'plain' and the other
        columns are null."""
        names = ("model", "item", "facet", "condition", "variant", "against")
        model, item, facet, condition, variant, against = (where.get(name) for name in names)
        return self._row_of.get((measure, model, item, facet, condition, variant or "plain", against))

    def estimate(
        self,
        measure: str,
        *,
        model: str | None = None,
        condition: str | None = None,
        item: str | None = None,
        facet: str | None = None,
        variant: str | None = None,
        against: str | None = None,
    ) -> Estimate:
        """One number, by its measure's key.

        `model` and `condition` may be left out if the other arguments fit only one number. Without `item` the number
        covers all items, and without `facet` all values of the facet. `against` names the other side of a difference.
        Without `variant`, the result is the preferred number: the corrected one if there are enough human labels,
        otherwise the plain one.

        Raises:
            InputError: there is no such number, or more than one. The message names the most similar keys.
        """
        where = {"model": model, "item": item, "facet": facet, "condition": condition, "against": against}
        if variant is None and (row := self.row(measure, **where)) is not None:
            return row.number
        rows, named = (self.rows, "plain") if variant is None else (self.variant_rows, variant)
        same = [
            row
            for row in rows
            if (row.measure, row.item, row.facet, row.variant, row.against) == (measure, item, facet, named, against)
        ]
        found = [row for row in same if (row.model, row.condition) == (model, condition)] or [
            row for row in same if model in {None, row.model} and condition in {None, row.condition}
        ]
        if len(found) == 1:
            return found[0].number
        wanted = _spelled((measure, model, item, facet, condition, named, against))
        if found:
            several = "; ".join(_spelled(row.key) for row in found[:_MOST_NAMED])
            raise InputError([Problem("estimate", wanted, f"names {len(found)} numbers; choose one: {several}")])
        near = get_close_matches(wanted, map(_spelled, self._row_of), _MOST_NAMED, cutoff=0.0)
        raise InputError([Problem("estimate", wanted, f"there is no such number; the nearest are {'; '.join(near)}")])

    def estimates(self) -> pl.DataFrame:
        """Every number in its own row, with the same columns for every study: `overton.studies.frame.COLUMNS`."""
        values = [(self.study, *(getattr(row, name) for name in list(COLUMNS)[1:])) for row in self.variant_rows]
        return as_frame(values, COLUMNS)

    def to_pandas(self) -> Any:
        """The frame of `estimates()` as a pandas frame.

        Raises:
            InputError: pandas is not installed, or pyarrow, which Polars needs for the conversion.
        """
        if missing := [name for name in ("pandas", "pyarrow") if find_spec(name) is None]:
            reason = f"needs pandas and pyarrow; install what is missing: pip install {' '.join(missing)}"
            raise InputError([Problem("to_pandas", "", reason)])
        return self.estimates().to_pandas()

    def to_json(self) -> dict[str, Any]:
        """The analysis as values for JSON: `models`, `warnings`, `measures`, `rows` and `tables`."""
        made: dict[str, Any] = plain(self)
        return made

    def __repr__(self) -> str:
        return f"Analysis of {self.study}({', '.join(self.models)}): estimates() has every number, to_json() everything"

    def _repr_html_(self) -> str | None:
        """The terminal's summary as HTML for a notebook. None if no function makes the HTML (see `show_with`): then the
        notebook shows text."""
        from overton.studies.registry import study_named

        measuring = study_named(self.study).measuring
        return _renderers[0](summary(measuring.sections(self))) if _renderers and measuring is not None else None


def place_in_rows(analysis: Analysis, place: tuple[str | int | None, ...]) -> tuple[str | int | None, ...] | None:
    """The location of a plain number in an analysis; None if there is no such number. `place` has the number's measure,
    model, condition, facet, and the other side of a difference."""
    measure, model, condition, facet, against = [None if part is None else str(part) for part in place]
    found = analysis.places.get((measure or "", model, None, facet, condition, "plain", against))
    return None if found is None else ("rows", found, "number")


_MOST_NAMED = 5


def _spelled(key: EstimateKey) -> str:
    """A row's key in words: 'even (model m, condition none)'."""
    measure, *values = key
    names = ("model", "item", "facet", "condition", "variant", "against")
    parts = [f"{name} {value}" for name, value in zip(names, values, strict=True) if value not in {None, "plain"}]
    return f"{measure} ({', '.join(parts)})" if parts else measure


class AnyAnalysis(Protocol):
    """An analysis of a study that is known only at run time. Its further fields depend on the study."""

    def estimates(self) -> pl.DataFrame:
        """Every number in a row of its own; see `Analysis.estimates`."""

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that JSON can hold."""

    def __getattr__(self, name: str) -> Any: ...
