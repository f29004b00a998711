"""Every number of an analysis as one row of a table, and what an analysis can do besides.

The rows are built from the analysis' JSON and its schema (`overton.studies.document`). The schema says which keys are
fields, which name what is measured, and which are data: they name whom or what it was measured on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import msgspec

from overton.studies.document import document, plain, schema
from overton.studies.sections import Section, summary

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.study import AnyStudy


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
}
"""The columns of a row. `model`, `item` and `condition` are null if a number covers all of them; `condition` joins by
' / ' what else the number is for; `measure` is its place in the JSON, its fields joined by '.'; `variant` is one of
those that a measure has, the leading one first. If there is no number or no interval, `why` says so."""

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
    import polars as pl

    kinds = {str: pl.String, float: pl.Float64, int: pl.Int64}
    rows = list(rows_of(document, schema, named))
    return pl.DataFrame(rows, schema={name: kinds[kind] for name, kind in COLUMNS.items()}, orient="row")


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

        They are study, model, item, condition, measure, variant, estimate, low, high, n, method and why;
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
