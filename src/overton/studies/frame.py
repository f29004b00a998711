"""Every number of an analysis as one row of a table, and what an analysis can do besides.

A study that declares its measures gives an `Analysis`, which is that table. Of a study that does not yet (`Analysed`)
the rows are built from the analysis' JSON and its schema (`overton.studies.document`). The schema says which keys are
fields, which name what is measured, and which are data: they name whom or what it was measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from overton.errors import InputError, Problem
from overton.statistics import Estimate, PreferredEstimate
from overton.studies.document import Shape, document, number_of, plain, schema
from overton.studies.numbers import Kind
from overton.studies.sections import Section, summary

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.measures import Measure
    from overton.studies.probabilities import JudgeChances, Weighing
    from overton.studies.self_agreement import SelfAgreement
    from overton.studies.study import AnyStudy
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

`model`, `item` and `condition` are null if a number covers all of them. `condition` joins by ' / ' what else the number
is for. `measure` is its key, as `overton compare` takes it. In studies that do not declare their measures yet it is the
number's place in the JSON, its fields joined by '.'. `variant` is one of those that a measure has, the leading one
first. If there is no number or no interval, `why` says so.

Four columns are null in studies that do not declare their measures yet. `facet` names the facets whose values follow
the condition in `condition`. `against` is what a difference is from, null for a number. `clusters` counts what the
interval is over. `p` is the corrected P value where a test decides."""

Json: TypeAlias = Any
_CONDITION_SEPARATOR = " / "


@dataclass(frozen=True)
class KeyWords:
    """Names that keys of an analysis can have: its models, and the words for its items ('issue', 'issues')."""

    study: str
    models: frozenset[str]
    items: frozenset[str]


@dataclass(frozen=True)
class _NumberPath:
    """The way to a number: what it is for, and the fields passed on the way."""

    model: str | None = None
    item: str | None = None
    conditions: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def into(self, field: str) -> _NumberPath:
        return replace(self, fields=(*self.fields, field))

    def at(self, key: str, holder: str, named: KeyWords) -> _NumberPath:
        """One step further, by a key that is data, out of the field `holder`, whose name then adds nothing."""
        outside = self.fields[:-1] if self.fields[-1:] == (holder,) else self.fields
        if key in named.models and self.model is None:
            return replace(self, model=key, fields=outside if holder == "models" else self.fields)
        if holder in named.items and self.item is None:
            return replace(self, item=key, fields=outside)
        return replace(self, conditions=(*self.conditions, key))


def frame_of(document: Mapping[str, Json], schema: Mapping[str, Json], named: KeyWords) -> pl.DataFrame:
    """The table of `COLUMNS` of an analysis."""
    return _table(list(rows_of(document, schema, named)))


def _table(rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Rows as a table with the columns `COLUMNS`; null for those that the rows do not have."""
    import polars as pl

    kinds = {str: pl.String, float: pl.Float64, int: pl.Int64}
    lacking = [None] * (len(COLUMNS) - len(rows[0])) if rows else []
    schema = {name: kinds[kind] for name, kind in COLUMNS.items()}
    return pl.DataFrame([[*row, *lacking] for row in rows], schema=schema, orient="row")


def rows_of(document: Mapping[str, Json], schema: Mapping[str, Json], named: KeyWords) -> Iterator[tuple[Any, ...]]:
    """One row for each variant of each measure, in the order of the document."""
    yield from _EstimateWalk(schema.get("$defs", {}), named).rows(document, schema, _NumberPath(), "")


@dataclass(frozen=True)
class _EstimateWalk:
    defined: Mapping[str, Json]
    named: KeyWords

    def rows(
        self, value: Json, schema: Json, where: _NumberPath, holder: str, siblings: Collection[str] = ()
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a value in the field `holder`; `siblings` are the fields beside it.

        A key that is no field names a measure if its object has fields too, or a field beside it has its name: so do
        those of dictionaries that are written into the object around them, and those of standard deviations.
        """
        if isinstance(value, list):
            yield from self._member_rows(value, self._resolve_schema(schema, value), where, holder)
        elif _is_measure(value):
            yield from self._measure_rows(value, where)
        elif isinstance(value, dict):
            shape = self._resolve_schema(schema, value)
            fields = shape.get("properties", {})
            rest = shape.get("additionalProperties") or {}
            for key, inner in value.items():
                if key in fields:
                    yield from self.rows(inner, fields[key], where.into(key), key, fields)
                elif not isinstance(rest, dict):
                    continue
                elif key not in self.named.models and (fields or key in siblings):
                    yield from self.rows(inner, rest, where.into(key), key, fields)
                else:
                    yield from self.rows(inner, rest, where.at(key, holder, self.named), holder)

    def _member_rows(
        self, members: Sequence[Json], schema: Json, where: _NumberPath, holder: str
    ) -> Iterator[tuple[Any, ...]]:
        """The rows of a list's members, distinguished by their own texts, and by numbers if those are not enough."""
        inner = schema.get("items") or {}
        objects = [member for member in members if isinstance(member, dict) and any(True for _ in _measures(member))]
        for member, marks in zip(objects, _distinguishing_marks(objects), strict=True):
            place = where
            for key, mark in marks:
                if mark in self.named.models and key == "model" and place.model is None:
                    place = replace(place, model=mark)
                elif key in self.named.items and place.item is None:
                    place = replace(place, item=mark)
                else:
                    place = replace(place, conditions=(*place.conditions, mark))
            yield from self.rows(member, inner, place, holder)

    def _measure_rows(self, value: Json, where: _NumberPath) -> Iterator[tuple[Any, ...]]:
        leads = value["leads"]
        names = sorted((name for name in value if name != "leads"), key=lambda name: name != leads)
        of = (
            self.named.study,
            where.model,
            where.item,
            _CONDITION_SEPARATOR.join(where.conditions) or None,
            ".".join(where.fields),
        )
        for name in names:
            variant = value[name]
            yield (
                *of,
                name,
                variant["estimate"],
                *variant["interval"],
                variant["n"],
                variant["method"],
                variant["why"],
            )

    def _resolve_schema(self, schema: Json, value: Json) -> Mapping[str, Json]:
        """The schema behind references; of several alternatives the one that fits."""
        while "$ref" in schema:
            schema = self.defined.get(schema["$ref"].rpartition("/")[2], {})
        if "anyOf" in schema:
            fitting = (self._resolve_schema(option, value) for option in schema["anyOf"])
            wanted = "array" if isinstance(value, list) else "object"
            return next((option for option in fitting if option.get("type") == wanted), {})
        return dict(schema)


def _is_measure(value: Json) -> bool:
    return isinstance(value, dict) and isinstance(value.get("leads"), str) and "plain" in value


def _measures(value: Json) -> Iterator[Json]:
    if _is_measure(value):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _measures(inner)


def _distinguishing_marks(members: Sequence[Mapping[str, Json]]) -> list[list[tuple[str, str]]]:
    """For each member of a list what distinguishes it: its texts, then as many numbers as are needed."""
    marks = [dict(_scalars(member)) for member in members]
    names = list(dict.fromkeys(name for mark in marks for name in mark))
    chosen = [name for name in names if any(isinstance(mark.get(name), str) for mark in marks)]
    for name in (name for name in names if name not in chosen):
        if len({tuple(str(mark.get(key)) for key in chosen) for mark in marks}) == len(marks):
            break
        chosen.append(name)
    return [[(name, str(mark[name])) for name in chosen if mark.get(name) is not None] for mark in marks]


def _scalars(member: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """A member's own texts and numbers, those of an object in it that has no measure, and lists of texts joined."""
    for name, value in member.items():
        if isinstance(value, dict) and not any(True for _ in _measures(value)):
            yield from _scalars(value)
        elif isinstance(value, list) and value and all(isinstance(text, str) for text in value):
            yield name, " + ".join(value)
        elif isinstance(value, str | int | float):
            yield name, value


Showing = Callable[[Sequence[Section]], str]
_renderers: list[Showing] = []


def show_with(showing: Showing) -> None:
    """Have notebooks show an analysis' summary as `showing` writes it, as HTML: studies write none."""
    _renderers[:] = [showing]


def estimates_of(study: AnyStudy, analysis: Any) -> pl.DataFrame:
    """Every number of a study's analysis as a row; see `overton.studies.frame.COLUMNS`."""
    measuring, items = study.measuring, study.items
    if measuring is None:
        raise TypeError(f"{study.name} has no measures")
    made = document(study.name, measuring.schema, analysis)
    models = made.get("models") or ()
    column = measuring.headline.item if measuring.headline else items.noun
    words = frozenset((items.noun, items.plural, column, f"{column}s", "item", "items"))
    return frame_of(
        made, schema(measuring.analysis(), study.name, measuring.schema), KeyWords(study.name, frozenset(models), words)
    )


class EstimateRow(msgspec.Struct, frozen=True, kw_only=True):
    """One number: `measure` is its key, and the other columns are those of `estimates()`.

    `number` is the estimate, of whose value, limits, `n` and method the row consists; `why` says why there is no number
    or no interval.
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
        """The columns that no two rows of an analysis share."""
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
        """How many units are behind it."""
        return self.number.n

    @property
    def method(self) -> str:
        """How it was computed."""
        method: str = number_of(self.number)["method"]
        return method

    @property
    def why(self) -> str | None:
        """Why there is no number, or no interval."""
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
"""Measure, model, item, facet, condition, variant and what a difference is from."""


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


class DeclaredMeasure(msgspec.Struct, frozen=True):
    """A measure's declaration.

    `range` has null for an end without a bound. `judge` names the role on whose labels the measure rests, '' for none.
    `compared` says whether models are compared by it, with `margin` as the largest difference that counts as none.
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
LargeTable: TypeAlias = Any
"""A Polars frame, for tables that may have a row for each of many units: they become cells only when they are
written."""


class Analysis(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The analysis of a study that declares its measures: every number is a row of one table.

    rows        the table of estimates: see `estimates()`
    measures    what each measure is, by its key
    counts      other results as tables by name, one mapping of cells for each row: see `tables`
    listed      tables that may have a row for each of many units, such as conversations
    models      the models that were measured, sorted
    warnings    to be read before any number
    faults, self_agreement, weighing, chances  malformed replies, the judge's agreement with itself, whether shares are
                means of probabilities, and what a judge's probabilities say of labels that measures count as written.
                Their numbers are rows, too, and their counts are tables
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
        """The same as mappings of cells."""
        return {**self.counts, **{name: tuple(table.to_dicts()) for name, table in self.listed.items()}}

    @cached_property
    def settings(self) -> list[tuple[str, str]]:
        """Every model with each of its conditions, in the order of the rows."""
        rows = (row for row in self.rows if row.facet is None and row.item is None)
        return list(dict.fromkeys((row.model, row.condition or "") for row in rows if row.model))

    @property
    def variant_rows(self) -> tuple[EstimateRow, ...]:
        """The rows, with one for each variant of a number that is also corrected by human labels; the variant that
        leads comes first."""
        return tuple(part for row in self.rows for part in _by_variant(row))

    @cached_property
    def places(self) -> dict[EstimateKey, int]:
        """The place of each row by its key."""
        return {row.key: place for place, row in enumerate(self.rows)}

    @cached_property
    def _row_of(self) -> dict[EstimateKey, EstimateRow]:
        return {row.key: row for row in self.rows}

    @cached_property
    def _rows_by(self) -> dict[tuple[str, str | None], list[EstimateRow]]:
        found: dict[tuple[str, str | None], list[EstimateRow]] = {}
        for row in self.rows:
            found.setdefault((row.measure, row.facet), []).append(row)
        return found

    def rows_of(self, measure: str, facet: str | None = None, **where: str | None) -> list[EstimateRow]:
        """The rows of a measure by a facet whose other columns are as given, in order."""
        own = self._rows_by.get((measure, facet), [])
        return [row for row in own if all(getattr(row, name) == value for name, value in where.items())]

    def row(self, measure: str, **where: str | None) -> EstimateRow | None:
        """The row with exactly this key; None if there is none. By default the variant is 'plain' and all else null."""
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

        `model` and `condition` may be left out if only one is possible. Without `item` the number covers all items,
        without `facet` all their values, and `against` names what a difference is from. Without `variant` it is the
        number that leads: the corrected one with enough human labels, otherwise the plain one.

        Raises:
            InputError: there is no such number, or more than one; names the nearest keys.
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
            raise InputError([Problem("estimate", wanted, f"is not one number, but {len(found)}: {several}")])
        near = get_close_matches(wanted, map(_spelled, self._row_of), _MOST_NAMED, cutoff=0.0)
        raise InputError([Problem("estimate", wanted, f"there is no such number; the nearest are {'; '.join(near)}")])

    def estimates(self) -> pl.DataFrame:
        """Every number in a row of its own, with the same columns for every study: `overton.studies.frame.COLUMNS`."""
        values = [(self.study, *(getattr(row, name) for name in list(COLUMNS)[1:])) for row in self.variant_rows]
        return _table(values)

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that JSON can hold: `models`, `warnings`, `measures`, `rows` and `tables`."""
        made: dict[str, Any] = plain(self)
        return made

    def __repr__(self) -> str:
        return f"Analysis of {self.study}({', '.join(self.models)}): estimates() has every number, to_json() everything"

    def _repr_html_(self) -> str | None:
        """The terminal's summary for a notebook; None outside `overton`, so that the notebook shows text."""
        from overton.studies.registry import study_named

        measuring = study_named(self.study).measuring
        return _renderers[0](summary(measuring.sections(self))) if _renderers and measuring is not None else None


def place_in_rows(analysis: Analysis, place: tuple[str | int | None, ...]) -> tuple[str | int | None, ...] | None:
    """Where an analysis has the plain number of a measure, model, condition, facet and other side; None if nowhere."""
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
    """An analysis whose study is named at run time; its other fields are the study's own."""

    def estimates(self) -> pl.DataFrame:
        """Every number in a row of its own; see `Analysed.estimates`."""

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that JSON can hold."""

    def __getattr__(self, name: str) -> Any: ...


class Analysed(msgspec.Struct, frozen=True):
    """An analysis of a study that declares its measures. It adds no field to classes that derive from it."""

    def to_json(self) -> dict[str, Any]:
        """The analysis as values that JSON can hold; see `overton.studies.document` for how numbers are given."""
        made: dict[str, Any] = plain(self)
        return made

    def estimates(self) -> pl.DataFrame:
        """Every number in a row of its own, with the same columns for every study.

        They are study, model, item, condition, measure, variant, estimate, low, high, n, method, why, and four more;
        `overton.studies.frame.COLUMNS` says what each means. The numbers are those of `to_json`.
        """
        return estimates_of(_study_of(type(self)), self)

    def __repr__(self) -> str:
        models = ", ".join(getattr(self, "models", ()))
        return f"{type(self).__module__}.Analysis({models}): estimates() has every number, to_json() everything"

    def _repr_html_(self) -> str | None:
        """The terminal's summary for a notebook; None outside `overton`, so that the notebook shows text."""
        measuring = _study_of(type(self)).measuring
        return _renderers[0](summary(measuring.sections(self))) if _renderers and measuring is not None else None


def _study_of(kind: type) -> AnyStudy:
    from overton.errors import InputError
    from overton.studies.registry import asking_names, study_named

    for name in asking_names():
        try:
            study = study_named(name)
        except InputError:
            continue
        if study.measuring is not None and issubclass(kind, study.measuring.analysis()):
            return study
    raise TypeError(f"{kind.__name__} is the analysis of no study that is installed")
