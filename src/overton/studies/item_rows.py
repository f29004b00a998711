"""Items in tables with a column for each key, or in lists with one text per line.

A row becomes an object in the study's own format and is parsed like a line of JSON. Problems name the row and column. A
column has the name of its key, such as `question`. A list has one column for each member. These columns all have the
name of the list (`pros`), or are numbered (`pros 1`). The column `comments.votes` fills the key `votes` of each object
in the list `comments`. The column `crowd.counts.YTA` fills the key `YTA` of the object `counts` within the object
`crowd`. A cell may also contain a list or an object as JSON.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import inspect as kinds

from overton.errors import InputError, Problem, Unreadable, quoted, suggestion
from overton.studies.parsing import Grid, ItemProblem, Notes, Text, add_member_ids, plain_field
from overton.studies.tables import FLAG_WORDS, describe_missing
from overton.untrusted import python_of

if TYPE_CHECKING:
    import polars as pl


ROW_SUFFIXES = (".csv", ".xlsx", ".txt")
"""The suffixes of files whose rows or lines become objects in a study's own format."""

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBERED = re.compile(r"(?P<key>.*?)[ _]?\[?(?P<number>\d{1,4})\]?")
_LINE = re.compile(r"line (\d+)(?:, (.*))?", re.DOTALL)
_QUOTED_STEP = re.compile(r"\['([^']*)'\]")
_LAST_STEP = re.compile(r"(?:\.[^.\[\]]+|\[[^\[\]]*\]|^[^.\[\]]+)$")


@dataclass(frozen=True)
class RowText:
    """A file whose rows were converted to JSON objects, one per line, as the `Text` that a study parses.

    For each line, `keys` maps the keys of the object to columns of the file. `noun` is the users' word for a line.
    """

    file: Text
    objects: Mapping[int, dict[str, Any]]
    keys: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    noun: str = "line"
    findings: tuple[ItemProblem, ...] = ()
    suffix: str = ".jsonl"

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name

    @property
    def stem(self) -> str:
        """The file's name without its suffix."""
        return self.file.stem

    @property
    def in_folder(self) -> bool:
        """Whether the file was found in a folder."""
        return self.file.in_folder

    def read(self) -> str:
        """All objects, one per line."""
        return "\n".join(line for _, line in self.lines() if isinstance(line, str))

    def lines(self) -> Iterator[tuple[int, str | Problem]]:
        """Each object as JSON, with the number of its row."""
        for number, made in self.objects.items():
            yield number, json.dumps(made)

    def grid(self) -> Grid:
        """The file's own cells."""
        return self.file.grid()

    def columns(self) -> list[str]:
        """The file's own columns."""
        return self.file.columns()

    def table(self) -> pl.DataFrame:
        """The file's own table."""
        return self.file.table()

    def located(self, finding: ItemProblem) -> ItemProblem:
        """Return a problem of an object, with the row and column in the user's file as its location."""
        found = _LINE.fullmatch(finding.key) if finding.place == self.name else None
        if found is None:
            return finding
        number, key = int(found[1]), found[2] or ""
        where = ", ".join(filter(None, (f"{self.noun} {number}", self._column(number, key))))
        reason = re.sub(r"\bline (?=\d)", f"{self.noun} ", finding.reason)
        return replace(finding, key=where, reason=reason)

    def _column(self, number: int, key: str) -> str:
        """The column that a key, or the object that contains it, comes from. The key itself if there is no such
        column."""
        columns, outer = self.keys.get(number, {}), _QUOTED_STEP.sub(r".\1", key)
        while outer:
            if outer in columns:
                return columns[outer]
            if inner := [column for known, column in columns.items() if known.startswith((f"{outer}.", f"{outer}["))]:
                return ", ".join(dict.fromkeys(inner)) if len(inner) < 3 else key
            outer = _LAST_STEP.sub("", outer)
        return key


def as_rows(text: Text, kind: type[msgspec.Struct], noun: str, plural: str, mapping: str = "") -> RowText:
    """Read a .csv, .xlsx or .txt file as objects of `kind`; `findings` are errors and warnings about the file itself.

    `mapping` is the documentation page on the study's mappings for tables with other columns, '' if there are none.
    """
    try:
        return _of_list(text, kind, noun) if text.suffix == ".txt" else _of_table(text, kind, noun, plural, mapping)
    except InputError as error:
        notes = Notes(text.name)
        notes.refused(error)
        return RowText(text, {}, findings=tuple(notes.findings))


def known_columns(grid: Grid, kind: type[msgspec.Struct]) -> set[str]:
    """The keys of an item's object that have a column in the table."""
    header = grid.rows[0][1] if grid.rows else []
    found = (_path(name, kinds.type_info(kind)) for name in header if name)
    return {str(path[0][0]) for path in found if path is not None}


def _of_list(text: Text, kind: type[msgspec.Struct], noun: str) -> RowText:
    plain = plain_field(kind)
    if not plain:
        needed = ", ".join(known.encode_name for known in msgspec.structs.fields(kind) if known.required)
        reason = (
            f"is a list of texts, but this study's items have more than one text each ({needed}); use JSON or a table"
        )
        raise InputError([Problem(text.name, "", reason)])
    objects: dict[int, dict[str, Any]] = {}
    keys: dict[int, dict[str, str]] = {}
    findings: list[ItemProblem] = []
    for number, line in text.lines():
        if isinstance(line, Problem):
            findings.append(ItemProblem("error", line.place, line.key, line.reason))
        else:
            objects[number] = {"id": _made_id(noun, len(objects) + 1), plain: line.strip()}
            keys[number] = {plain: ""}
    return RowText(text, objects, keys, findings=tuple(findings))


def _made_id(noun: str, number: int) -> str:
    return f"{noun}-{number:04d}"


class _Column(NamedTuple):
    """A column: its index, its name in messages, the keys and list members that lead to its value, and its type."""

    place: int
    shown: str
    steps: tuple[str | int, ...]
    type: kinds.Type
    required: bool


def _of_table(text: Text, kind: type[msgspec.Struct], noun: str, plural: str, mapping: str) -> RowText:
    grid = text.grid()
    notes = Notes(text.name)
    for sheet in grid.others:
        notes.warning("", f"has a further sheet, {quoted(sheet)}, which is not read; only the first sheet is read")
    if not grid.rows:
        notes.error("", f"has no {plural}")
        return RowText(text, {}, findings=tuple(notes.findings))
    (first, header), *rows = grid.rows
    columns = _columns(header, kind, grid, replace_prefix(notes, f"{grid.noun} {first}"))
    missing = _missing_columns(columns, kind)
    if missing:
        reason = describe_missing(missing, plural, _field_names(kind))
        notes.error("", f"{reason}; for other columns, name a TOML mapping ({mapping})" if mapping else reason)
    elif not rows:
        notes.error("", f"has no {plural}")
    made = [] if notes.failed else [(number, *_object(row, columns, kind)) for number, row in rows]
    has_ids = any(column.steps == ("id",) for column in columns)
    for place, (_, found, _) in enumerate(made, 1):
        if not has_ids and "id" in _field_names(kind):
            found["id"] = _made_id(noun, place)
    objects = {number: found for number, found, _ in made}
    return RowText(text, objects, {number: keys for number, _, keys in made}, grid.noun, tuple(notes.findings))


def replace_prefix(notes: Notes, prefix: str) -> Notes:
    """Make notes about one row of the file. They go to the list of findings in `notes`."""
    return Notes(notes.place, prefix, notes.findings)


@cache
def _field_names(kind: type[msgspec.Struct]) -> list[str]:
    return [known.encode_name for known in msgspec.structs.fields(kind)]


def _missing_columns(columns: Sequence[_Column], kind: type[msgspec.Struct]) -> list[str]:
    given = {column.steps[0] for column in columns} | {"id"}
    wanted = (known.encode_name for known in msgspec.structs.fields(kind) if known.required)
    return [name for name in wanted if name not in given]


def _columns(header: Sequence[str], kind: type[msgspec.Struct], grid: Grid, notes: Notes) -> list[_Column]:
    """The columns that are read. Other columns are noted, and so are columns that occur twice without being a list."""
    repeated = Counter(header)
    met = Counter[tuple[str | int, ...]]()
    columns: list[_Column] = []
    for place, name in enumerate(header):
        shown = name if repeated[name] == 1 else f"{name} (column {_place_name(place, grid)})"
        found = _path(name, kinds.type_info(kind)) if name else None
        if found is None:
            _note_ignored(name, place, kind, grid, notes)
            continue
        steps, type_, required = found
        met[steps] += 1
        steps = tuple(met[steps] if step == 0 else step for step in steps)
        if any(column.steps == steps for column in columns):
            notes.error(shown, "occurs twice, but an item has only one such value; rename or remove one column")
        columns.append(_Column(place, shown, steps, type_, required))
    return columns


def _note_ignored(name: str, place: int, kind: type[msgspec.Struct], grid: Grid, notes: Notes) -> None:
    if name:
        known = _field_names(kind)
        hint = suggestion(name, known) or f"; columns that are read are {', '.join(known)}"
        notes.warning(quoted(name), f"is not a column that is read, and is ignored{hint}")
    elif any(len(row) > place and row[place] for _, row in grid.rows):
        notes.warning(f"column {_place_name(place, grid)}", "has no name in the first row, and is ignored")


def _place_name(place: int, grid: Grid) -> str:
    """A column's letter in a spreadsheet, or its number in a CSV."""
    if grid.noun == "line":
        return str(place + 1)
    letters = ""
    number = place + 1
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


_Path = tuple[tuple[str | int, ...], kinds.Type, bool]


def _path(name: str, shape: kinds.Type) -> _Path | None:
    """The keys and list members that lead to a column's values, from the column's name. None if no key has this name.
    The number of a list member is 0 if the name has no number."""
    step, _, rest = name.partition(".")
    if isinstance(shape, kinds.DictType):
        return (name.strip(),), shape.value_type, False
    if not isinstance(shape, kinds.StructType):
        return None
    field_, number = _field_of(step, shape)
    if field_ is None:
        return None
    inner = _without_none(field_.type)
    steps: tuple[str | int, ...] = (field_.encode_name,)
    member = _member_type(inner)
    if member is not None:
        steps, inner = (*steps, number), member
    elif number:
        return None
    if not rest:
        return steps, inner, field_.required
    further = _path(rest, inner)
    return None if further is None else ((*steps, *further[0]), *further[1:])


def _field_of(step: str, shape: kinds.StructType) -> tuple[kinds.Field | None, int]:
    """The field that a name in a header refers to, and the number in the name (0 if it has no number)."""
    known = {_plain_name(each.encode_name): each for each in shape.fields}
    if (exact := known.get(_plain_name(step))) is not None:
        return exact, 0
    numbered = _NUMBERED.fullmatch(step.strip())
    found = known.get(_plain_name(numbered["key"])) if numbered else None
    if numbered is None or found is None or int(numbered["number"]) == 0:
        return None, 0
    return found, int(numbered["number"])


def _plain_name(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())


def _without_none(type_: kinds.Type) -> kinds.Type:
    """The type without None, if it is optional. Other unions stay."""
    if not isinstance(type_, kinds.UnionType):
        return type_
    others = [member for member in type_.types if not isinstance(member, kinds.NoneType)]
    return others[0] if len(others) == 1 else type_


def _member_type(type_: kinds.Type) -> kinds.Type | None:
    """The type of a list's members; None if it is not a list."""
    return type_.item_type if isinstance(type_, kinds.CollectionType) else None


_Cells = dict[tuple[str | int, ...], Any]


def _object(
    row: Sequence[str], columns: Sequence[_Column], kind: type[msgspec.Struct]
) -> tuple[dict[str, Any], dict[str, str]]:
    """A row's object, and the column of each of its keys."""
    cells = [(column, row[column.place] if column.place < len(row) else "") for column in columns]
    filled = {column.steps[:depth] for column, cell in cells if cell for depth in range(len(column.steps) + 1)}
    made: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for column, cell in cells:
        top = len(column.steps) == 1
        within = any(isinstance(step, int) for step in column.steps[:-1]) and column.steps[:-1] in filled
        if cell or (column.required and isinstance(column.type, kinds.StrType) and (top or within)):
            _put(made, column, _value(cell, column))
    result = _in_order(made, {column.steps: column for column in columns}, "", keys, ())
    for known in msgspec.structs.fields(kind):
        given = any(column.steps[0] == known.encode_name for column in columns)
        if given and known.required and _member_type(kinds.type_info(known.type)) is not None:
            result.setdefault(known.encode_name, [])
    for column, _ in cells:
        keys.setdefault(str(column.steps[0]), column.shown)
    return add_member_ids(result, kind), keys


def _put(made: dict[Any, Any], column: _Column, value: Any) -> None:
    """Set a value at the keys and members that lead to it. At this point, lists are dicts by number."""
    inner = made
    for step in column.steps[:-1]:
        inner = inner.setdefault(step, {})
        if not isinstance(inner, dict):
            return
    inner[column.steps[-1]] = value


def _in_order(
    made: Any,
    columns: Mapping[tuple[str | int, ...], _Column],
    key: str,
    keys: dict[str, str],
    steps: tuple[str | int, ...],
) -> Any:
    """Replace dicts by number with lists. `keys` receives the column of each value, by the value's key."""
    own = columns.get(steps)
    if own is not None:
        keys[key] = own.shown
    if not isinstance(made, dict) or own is not None:
        return made
    if not made or not all(isinstance(step, int) for step in made):
        dot = f"{key}." if key else ""
        return {step: _in_order(value, columns, f"{dot}{step}", keys, (*steps, step)) for step, value in made.items()}
    members: list[Any] = []
    for number in sorted(made):
        value = made[number]
        if isinstance(value, _Listed):
            shown = columns[*steps, number].shown
            keys |= {f"{key}[{len(members) + n}]": f"{shown}[{n}]" for n in range(len(value.members))}
            members += value.members
        else:
            members.append(_in_order(value, columns, f"{key}[{len(members)}]", keys, (*steps, number)))
    return members


class _Listed(NamedTuple):
    """The members of a list that one cell contains."""

    members: list[Any]


def _value(cell: str, column: _Column) -> Any:
    """A cell as a value of its column's type. A cell of another type stays a text, and the study's parser notes the
    error."""
    if cell.startswith("[") and isinstance(column.steps[-1], int):
        found = _decoded(cell)
        return _Listed(found) if isinstance(found, list) else cell
    match column.type:
        case kinds.StructType() | kinds.DictType() | kinds.CollectionType() if cell.startswith(("[", "{")):
            return _decoded(cell)
        case kinds.IntType() if _WHOLE.fullmatch(cell):
            return int(cell)
        case kinds.FloatType():
            return _number(cell)
        case kinds.BoolType():
            return FLAG_WORDS.get(cell.casefold(), cell)
        case _:
            return cell


def _decoded(cell: str) -> Any:
    """The list or object in a cell, or the text itself if the cell contains neither."""
    try:
        return python_of(cell)
    except Unreadable:
        return cell


def _number(cell: str) -> Any:
    try:
        number = float(cell)
    except ValueError:
        return cell
    return number if isfinite(number) else cell
