"""Analyses of studies that declare their measures (schema 2), written as their schema 1 was.

`schema_1/STUDY.csv` says for each number of schema 1 where it is now: in a row (`measure`, `item`, `facet`,
`condition`, `variant` and `against`) or in a table (`table`, and `value`, the column), or why it was dropped. Names in
braces stand for the same text on both sides of a line; `{number}` counts the members of a list. `value` may also be
such a name: the place then had that text. Where it is 'itself', the key is the same in both.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from .schema_1 import pluralism

__all__ = ["FOLDER", "Line", "estimates_1", "lines", "lines_used", "schema_1"]

Json = Any

FOLDER = Path(__file__).with_name("schema_1")
_WHERE = ("measure", "item", "facet", "condition", "variant", "against")
_NAME = re.compile(r"\{(\w+)\}")
_WORDS = {"partisan": True, "not partisan": False}
_EVEN_PARTS = {
    "partisan": {},
    "categories": {},
    "tasks": {},
    "topics": {},
    "groups": {},
    "sides": None,
    "chances": None,
}
"""Keys of a model of even-handedness in schema 1, with their values if the model has none of these numbers."""


Words = frozenset[tuple[str, tuple[str, ...]]]
"""What some names in lines may stand for: patterns, by the name."""


@dataclass(frozen=True)
class Line:
    """A line of a study's file."""

    path: str
    measure: str
    item: str
    facet: str
    condition: str
    variant: str
    against: str
    table: str
    value: str
    dropped: str

    def named(self, row: Mapping[str, Any], words: Words) -> dict[str, str] | None:
        """The texts that the line's names stand for in a row of numbers or of a table; None if it is of another row."""
        found = {"model": row.get("model") or ""}
        for column in _WHERE[0 if self.measure else 1 :]:
            wanted = getattr(self, column)
            if self.table and column not in row:
                continue
            given = row.get(column) or ""
            got = _pattern(wanted, words).fullmatch(given)
            if got is None:
                return None
            found |= got.groupdict()
        # Two conditions of a model are compared: what a difference is from is a condition, too.
        compares = (
            self.path.startswith("contrasts") and re.escape(found.get("second", "")) not in dict(words)["condition"]
        )
        return None if compares else found


@cache
def _pattern(text: str, words: Words) -> re.Pattern[str]:
    """Of a text with names in braces; some of them stand for one of these words."""
    made, end, known = "", 0, dict(words)
    for name in _NAME.finditer(text):
        inside = "|".join(sorted(known[name[1]], key=len, reverse=True)) if name[1] in known else ".+"
        made += re.escape(text[end : name.start()]) + f"(?P<{name[1]}>{inside})"
        end = name.end()
    return re.compile(made + re.escape(text[end:]))


@cache
def lines(study: str) -> tuple[Line, ...]:
    """All lines of a study."""
    with (FOLDER / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Line(**line) for line in csv.DictReader(file))


@dataclass(frozen=True)
class _Moved:
    """A number or another value, its line, and what the names in it stand for."""

    line: Line
    names: Mapping[str, str]
    value: Any
    leads: str = "plain"

    @property
    def path(self) -> list[str]:
        """The keys of schema 1 to its place."""
        return [_NAME.sub(lambda name: self.names[name[1]], part) for part in self.line.path.split(" > ")]


def _words(document: Json) -> Words:
    """The document's conditions, and the words of its study."""
    if document["study"] == "pluralism":
        found, more = pluralism.conditions(document), pluralism.WORDS
    else:
        counts = document["tables"]["counts"]
        found, more = frozenset(str(row["condition"] or "") for row in counts if row["facet"] is None), {}
    return frozenset({**more, "condition": tuple(sorted(map(re.escape, found)))}.items())


def _moved(document: Json) -> Iterator[_Moved]:
    words, leads = _words(document), dict[tuple[Any, ...], str]()
    for row in document["rows"]:
        leads.setdefault(_key(row), row["variant"])
    for line in lines(document["study"]):
        if line.dropped or line.value == "itself":
            continue
        rows = document["tables"].get(line.table, ()) if line.table else document["rows"]
        number = 0
        for at, given in enumerate(rows):
            row = {"item": given.get("topic"), **given}
            if line.table == "calibrations" and row.get(line.value) == 0 and "unweighed" in line.path:
                continue
            names = line.named(row, words)
            more = None if names is None else _MORE.get(document["study"], _no_more)(line.path, row, names)
            if names is None or more is None:
                continue
            names = {**{name: cell for name, cell in row.items() if isinstance(cell, str)}, **names, **more}
            names["number"] = str(at if line.table else number)
            number += 1
            if _NAME.fullmatch(line.value) and line.table:
                for count in row.keys() - {"item", "model", "facet", "condition"}:
                    yield _Moved(line, {**names, line.value[1:-1]: count}, row[count])
            else:
                yield _Moved(line, names, _value(line, row, names), leads.get(_key(row), "plain"))


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """A number's columns but for its variant."""
    return tuple(row.get(name) or "" for name in ("model", *_WHERE) if name != "variant")


def _no_more(path: str, row: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, str]:
    return {}


_MORE: dict[str, Callable[[str, Mapping[str, Any], Mapping[str, str]], dict[str, str] | None]] = {
    "pluralism": pluralism.names
}


def _value(line: Line, row: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    if line.table:
        value = row[line.value]
        return _WORDS.get(value, value) if line.value == "partisan" else value
    if line.value:
        return line.value.format(**names)
    number = {name: row[name] for name in ("estimate", "n", "method", "why")}
    return {**number, "interval": [row["low"], row["high"]]}


def schema_1(document: Json) -> Json:
    """The document of schema 1."""
    study = document["study"]
    known = {line.path for line in lines(study) if line.value == "itself"}
    made: dict[str, Any] = {name: value for name, value in document.items() if name in {"study", *known}}
    made |= {"schema": 1}
    for moved in _moved(document):
        _put(made, moved.path, moved.value, moved.leads)
    _COMPLETE[study](made)
    return made


def _complete_even_handedness(made: Json) -> None:
    """What schema 1 said where there is nothing."""
    for name, nothing in (("contrasts", []), ("faults", []), ("self_agreement", {}), ("weighing", None)):
        made.setdefault(name, nothing)
    for settings in made["models"].values():
        for name, result in settings.items():
            settings[name] = {**_EVEN_PARTS, **result}
            for part in ("partisan", "categories", "tasks"):
                settings[name][part] = {key: {"gap": None, **one} for key, one in settings[name][part].items()}
    for one in made["self_agreement"].values():
        one["overlap"] = None
    if made["weighing"] is not None:
        made["weighing"].setdefault("unweighed", {})


_COMPLETE: dict[str, Callable[[Json], None]] = {
    "even-handedness": _complete_even_handedness,
    "pluralism": pluralism.complete,
}
_FIELDS = {"even-handedness": frozenset(_EVEN_PARTS)}
"""By study, keys of data that were also names of fields."""
_FIELD_NAMES = {"pluralism": pluralism.FIELDS}
"""By study, names in lines that stand for such keys."""


def _put(made: Json, path: list[str], value: Any, leads: str) -> None:
    *above, last = path
    for key in above:
        if isinstance(made, list):
            if int(key) == len(made):
                made.append({})
            made = made[int(key)]
        else:
            if made.get(key) is None:
                made[key] = {}
            made = made[key]
    made[last] = value
    if isinstance(value, dict):
        made.setdefault("leads", leads)


def estimates_1(document: Json) -> pl.DataFrame:
    """The rows of `estimates()` as they were: a measure was the path of its fields, a condition all other keys."""
    columns = ("model", "item", "condition", "measure", "variant", "estimate", "low", "high", "n", "method", "why")
    rows = []
    for moved in sorted(_moved(document), key=lambda moved: moved.line.variant != moved.leads):
        if not isinstance(moved.value, dict):
            continue
        model, conditions, fields = None, [], []
        *path, variant = moved.line.path.split(" > ")
        for part in path:
            name = _NAME.fullmatch(part)
            if name is None:
                fields.append(part)
            elif name[1] == "model" or moved.names[name[1]] in document["models"]:
                model = moved.names[name[1]]
            elif name[1] == "number":
                model, conditions = moved.names["model"], [moved.names["first"], moved.names["second"]]
            elif name[1] in _FIELD_NAMES.get(document["study"], ()):
                fields.append(moved.names[name[1]])
            elif moved.names[name[1]] in _FIELDS.get(document["study"], ()):
                fields.append(moved.names[name[1]])
            else:
                conditions.append(moved.names[name[1]])
        fields = fields[fields[0] == "models" :]
        value = moved.value
        low, high = value["interval"]
        where = (model, None, " / ".join(conditions) or None, ".".join(fields), variant)
        rows.append((*where, value["estimate"], low, high, value["n"], value["method"], value["why"]))
    kinds = {"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")


def lines_used(document: Json) -> set[Line]:
    """The lines by which something of this document is found."""
    return {moved.line for moved in _moved(document)}
