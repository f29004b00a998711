"""Analyses of studies that declare their measures (schema 2), written as their schema 1 was.

`schema_1/STUDY.csv` says for each number of schema 1 where it is now: in a row (`measure`, `item`, `facet`,
`condition`, `variant` and `against`) or in a table (`table`, and `value`, the column), or why it was dropped. Names in
braces stand for the same text on both sides of a line, or for a cell of the table; `{number}` counts the members of a
list. `value` may also be such a name: the place then had that text. Where it is 'itself', the key is the same in both.

A part of a path in brackets is a member of a list: the one that other lines call by the same text, or a further one.
If the text begins with '=', another line makes it. A path without `{model}` is of rows without a model.
"""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from .schema_1 import deliberation, open_mindedness, pluralism, stance_stability

__all__ = ["FOLDER", "Line", "estimates_1", "lines", "lines_used", "schema_1"]

Json = Any

FOLDER = Path(__file__).with_name("schema_1")
_WHERE = ("measure", "item", "facet", "condition", "variant", "against")
_SHARED = ("variant", "facet", "condition", "against", "item")
_NAME = re.compile(r"\{(\w+)\}")
_CALIBRATIONS = ("calibrations", "label_calibrations")
"""The tables that say how many answers have no probability, 0 for none."""
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

    def fits(self, key: tuple[str, ...], conditions: frozenset[str], study: str) -> bool:
        """Whether the line is of rows of numbers that share these texts (`_SHARED`) besides a measure that fits."""
        return all(_matches(wanted, given, conditions, study) for wanted, given in zip(self._shared, key, strict=True))

    @cached_property
    def _shared(self) -> tuple[str, ...]:
        return tuple(getattr(self, column) for column in _SHARED)

    def named(self, row: Mapping[str, Any], conditions: frozenset[str], study: str) -> dict[str, str] | None:
        """The texts that the line's names stand for in a row of numbers or of a table; None if it is of another row."""
        found = {"model": row.get("model") or ""}
        for column in _WHERE[0 if self.measure else 1 :]:
            wanted = getattr(self, column)
            if self.table and column not in row:
                continue
            given = row.get(column) or ""
            got = _pattern(wanted, conditions, study).fullmatch(given)
            if got is None:
                return None
            found |= got.groupdict()
        if "{number}" not in self.path and ("{model}" in self.path) != bool(found["model"]):
            return None
        # Two conditions of a model are compared: what a difference is from is a condition, too.
        compares = self.path.startswith("contrasts") and found.get("second") not in conditions
        return None if compares else found


@cache
def _pattern(text: str, conditions: frozenset[str], study: str) -> re.Pattern[str]:
    """Of a text with names in braces; `{condition}` stands for one of these conditions, others for what their study
    says."""
    made, end, allowed = "", 0, {**_ALTERNATIVES.get(study, {}), "condition": conditions}
    for name in _NAME.finditer(text):
        known = allowed.get(name[1])
        inside = ".+" if known is None else "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        made += re.escape(text[end : name.start()]) + f"(?P<{name[1]}>{inside})"
        end = name.end()
    return re.compile(made + re.escape(text[end:]))


@cache
def _matches(text: str, given: str, conditions: frozenset[str], study: str) -> bool:
    return _pattern(text, conditions, study).fullmatch(given) is not None


@cache
def lines(study: str) -> tuple[Line, ...]:
    """All lines of a study."""
    with (FOLDER / f"{study}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Line(**line) for line in csv.DictReader(file))


@dataclass(frozen=True)
class _Moved:
    """A number or another value, its line, what the names in it stand for, and whether it is the variant that leads."""

    line: Line
    names: Mapping[str, str]
    value: Any
    leads: bool = False

    @property
    def path(self) -> list[str]:
        """The keys of schema 1 to its place."""
        return [_NAME.sub(lambda name: self.names[name[1]], part) for part in self.line.path.split(" > ")]


def _moved(document: Json) -> Iterator[_Moved]:
    counted = pluralism.COUNTS if document["study"] == "pluralism" else ("counts",)
    counts = [row for name in counted for row in document["tables"].get(name, ())]
    conditions = frozenset(str(row["condition"] or "") for row in counts if row["facet"] is None)
    leading: dict[tuple[Any, ...], str] = {}
    for row in document["rows"]:
        leading.setdefault(_without_variant(row), row["variant"])
    tables = {name: _placed(rows) for name, rows in document["tables"].items()}
    groups = _groups_of(_placed(document["rows"]))
    for line in lines(document["study"]):
        if line.dropped or line.value == "itself":
            continue
        numbers: Counter[str] = Counter()
        if line.table:
            rows = tables.get(line.table, [])
        else:
            rows = sorted(chain(*_fitting(line, groups, conditions, document["study"])), key=itemgetter(0))
        for at, row in rows:
            if line.table in _CALIBRATIONS and row.get(line.value) == 0 and "unweighed" in line.path:
                continue
            names = line.named(row, conditions, document["study"])
            if names is None:
                continue
            if line.table and line.value not in row:
                continue
            if document["study"] == "pluralism":
                names |= pluralism.more_names(row, names)
            names = {**{name: str(cell) for name, cell in row.items()}, **names} if line.table else names
            list_of = line.path.partition("{number}")[0].format_map(defaultdict(str, names))
            of_all = line.table and list_of == line.path.partition("{number}")[0]
            names["number"] = str(at if of_all else numbers[list_of])
            numbers[list_of] += 1
            leads = not line.table and not line.value and leading[_without_variant(row)] == row["variant"]
            yield _Moved(line, names, _value(line, row, names), leads)


_Placed = list[tuple[int, Json]]


def _placed(rows: Json) -> _Placed:
    """Rows with their places in their table, each with the item that it is about."""
    return [(at, {"item": row.get("issue", row.get("topic")), **row}) for at, row in enumerate(rows)]


_Groups = dict[str, dict[tuple[str, ...], _Placed]]
"""By measure, rows that differ in model only, by what they share: most lines are of few of these."""


def _groups_of(rows: _Placed) -> _Groups:
    found: _Groups = defaultdict(lambda: defaultdict(list))
    for at, row in rows:
        found[row["measure"]][tuple([row[column] or "" for column in _SHARED])].append((at, row))
    return found


def _fitting(line: Line, groups: _Groups, conditions: frozenset[str], study: str) -> Iterator[_Placed]:
    for measure, some in groups.items():
        if not line.measure or _matches(line.measure, measure, conditions, study):
            yield from (rows for key, rows in some.items() if line.fits(key, conditions, study))


def _without_variant(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("model", *_WHERE) if name != "variant")


def _value(line: Line, row: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    if line.table and line.value == "agents":
        return row[line.value].split(" + ")
    if line.table:
        value = row[line.value]
        return _WORDS.get(value, value) if line.value == "partisan" else value
    if line.value:
        text = line.value.format(**names)
        return int(text) if text.isdigit() else text
    number = {name: row[name] for name in ("estimate", "n", "method", "why")}
    return {**number, "interval": [row["low"], row["high"]]}


def schema_1(document: Json) -> Json:
    """The document of schema 1."""
    study = document["study"]
    known = {line.path for line in lines(study) if line.value == "itself"}
    made: dict[str, Any] = {name: value for name, value in document.items() if name in {"study", *known}}
    made |= {"schema": 1}
    members: _Members = {}
    for moved in _moved(document):
        _put(made, moved, members)
    _COMPLETE[study](made, document)
    return made


def _complete_even_handedness(made: Json, document: Json) -> None:
    """The values of schema 1 where there are no data."""
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


_COMPLETE: dict[str, Callable[[Json, Json], None]] = {
    "even-handedness": _complete_even_handedness,
    "deliberation": deliberation.complete,
    "open-mindedness": open_mindedness.complete,
    "pluralism": pluralism.complete,
    "stance-stability": stance_stability.complete,
}
_ALTERNATIVES: dict[str, Mapping[str, frozenset[str]]] = {
    "pluralism": pluralism.ALTERNATIVES,
    "stance-stability": stance_stability.ALTERNATIVES,
}
_ESTIMATES: dict[str, Callable[[Json], pl.DataFrame]] = {
    "deliberation": deliberation.estimates,
    "stance-stability": stance_stability.estimates,
}
"""Studies whose documents of schema 1 are read as they were."""
_FIELDS = {"even-handedness": frozenset(_EVEN_PARTS)}
"""By study, keys of data that were also names of fields."""
_FIELD_NAMES = {"pluralism": pluralism.FIELDS}
"""By study, names in lines that stand for such keys."""


_Members = dict[int, dict[str, int]]
"""By the identity of a list, the places of its members by their texts."""


def _put(made: Json, moved: _Moved, members: _Members) -> None:
    path, value = moved.path, moved.value
    *above, last = path
    for key, following in zip(above, path[1:], strict=True):
        inner = _into(made, key, members, in_list=following.startswith("["))
        if inner is None:
            return
        made = inner
    if isinstance(made, list):
        made.append(value)
        return
    made[last] = value
    if isinstance(value, dict):
        variant = moved.line.variant.format(**moved.names)
        made["leads"] = last if moved.leads and last == variant else made.get("leads", "plain")


def _into(made: Json, key: str, members: _Members, *, in_list: bool) -> Json:
    """The value under a key, made if it is not there; None if a member of a list is to be there and is not."""
    if isinstance(made, list) and key.startswith("["):
        places = members.setdefault(id(made), {})
        if key.startswith("[= ") and f"[{key[3:]}" not in places:
            return None
        place = places.setdefault(key.replace("[= ", "["), len(made))
        if place == len(made):
            made.append({})
        return made[place]
    if isinstance(made, list):
        if int(key) == len(made):
            made.append({})
        return made[int(key)]
    if made.get(key) is None:
        made[key] = [] if in_list else {}
    return made[key]


def estimates_1(document: Json) -> pl.DataFrame:
    """The rows of `estimates()` as they were: a measure was the path of its fields, a condition all other keys."""
    if document["study"] in _ESTIMATES:
        return _ESTIMATES[document["study"]](schema_1(document))
    columns = ("model", "item", "condition", "measure", "variant", "estimate", "low", "high", "n", "method", "why")
    rows, study = [], document["study"]
    for moved in sorted(_moved(document), key=lambda moved: not moved.leads):
        if not isinstance(moved.value, dict):
            continue
        model, conditions, fields = None, [], []
        *path, variant = moved.line.path.split(" > ")
        if document["study"] == "open-mindedness":
            model, item, condition, measure = open_mindedness.where(path, moved.names)
            rows.append((model, item, condition, measure, variant.format(**moved.names), *_cells(moved.value)))
            continue
        for part in path:
            name = _NAME.fullmatch(part)
            if name is None:
                fields.append(part)
            elif name[1] == "model" or moved.names[name[1]] in document["models"]:
                model = moved.names[name[1]]
            elif name[1] == "number":
                model, conditions = moved.names["model"], [moved.names["first"], moved.names["second"]]
            elif name[1] in _FIELD_NAMES.get(study, ()) or moved.names[name[1]] in _FIELDS.get(study, ()):
                fields.append(moved.names[name[1]])
            else:
                conditions.append(moved.names[name[1]])
        fields = fields[fields[0] == "models" :]
        where = (model, None, " / ".join(conditions) or None, ".".join(fields), variant)
        rows.append((*where, *_cells(moved.value)))
    kinds = {"estimate": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    schema = {name: kinds.get(name, pl.String) for name in columns}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _cells(value: Json) -> tuple[Any, ...]:
    low, high = value["interval"]
    return value["estimate"], low, high, value["n"], value["method"], value["why"]


def lines_used(document: Json) -> set[Line]:
    """The lines by which something of this document is found."""
    return {moved.line for moved in _moved(document)}
