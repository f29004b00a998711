"""The rows of an analysis of schema 1: built from its JSON and its schema.

The schema says which keys are fields, which name what is measured, and which are data: they name whom or what it was
measured on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import polars as pl

from overton.studies.frame import COLUMNS

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
        """The rows of a value in the field `holder`; `siblings` are its neighbouring fields.

        A key that is not a field names a measure if its object has fields too, or a neighbouring field has its name.
        That is so for dictionaries that are written into the object around them, and for those of standard deviations.
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
