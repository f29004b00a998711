"""The rows of tables made outside Overton, with each cell converted to the kind of value that a mapping expects.

A table is a CSV, Parquet, JSON Lines or JSON file. A JSON file has a list of objects, or one object that maps ids to
objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Any, Literal, NamedTuple

from overton.errors import InputError, Problem, list_names, quoted, suggestion
from overton.studies.parsing import Notes, Text, kind_of, object_lines, read_value, read_whole
from overton.studies.tables import FLAG_WORDS

Kind = Literal["id", "text", "whole", "sum", "count", "ids", "counts", "flag"]

_MAX_ROWS = 5_000_000


class Row(NamedTuple):
    """A row of a table: its file, the file's stem, its location in the file and its cells. `key` is the row's key if a
    JSON object contains the rows, otherwise ''."""

    file: str
    stem: str
    place: str
    key: str
    cells: Mapping[str, Any]


def read_rows(text: Text, wanted: Sequence[str], under: str) -> list[Row]:
    """The rows of a table with the `wanted` columns. If `under` is not '', the rows are under this key of a JSON
    object.

    A wanted column may be a dotted path whose first part is a column of the table.

    Raises:
        InputError: the table cannot be read, lacks a column, or has no rows; the problem names the file.
    """
    if text.suffix in (".json", ".jsonl"):
        rows = [*_json_rows(text, under)]
        _check_columns(text, wanted, dict.fromkeys(key for row in rows for key in row.cells))
    else:
        rows = [*_table_rows(text, wanted)]
    if not rows:
        raise InputError([Problem(text.name, "", "contains no rows")])
    return rows


def _check_columns(text: Text, wanted: Sequence[str], known: Iterable[str]) -> None:
    names = dict.fromkeys(known)
    problems = [
        Problem(text.name, column, no_such("column", column, names))
        for column in dict.fromkeys(wanted)
        if not has_column(names, column)
    ]
    if problems and names:
        raise InputError(problems)


def has_column(known: Iterable[str], column: str) -> bool:
    """Whether the `known` columns include `column`, or its first part if it is a dotted path."""
    return column in known or column.partition(".")[0] in known


def no_such(what: str, column: str, known: Iterable[str]) -> str:
    """The message about a column (or key) that does not exist."""
    return f"no such {what}{suggestion(column, known) or f'; there are {list_names([*known], 20)}'}"


def _table_rows(text: Text, wanted: Sequence[str]) -> Iterator[Row]:
    frame = text.table()
    _check_columns(text, wanted, frame.columns)
    if frame.height > _MAX_ROWS:
        raise InputError([Problem(text.name, "", f"has more than {_MAX_ROWS:,} rows")])
    heads = {name for column in wanted for name in (column, column.partition(".")[0])}
    used = frame.select([name for name in frame.columns if name in heads])
    for number, cells in enumerate(used.iter_rows(named=True), 1):
        yield Row(text.name, text.stem, f"row {number}", "", cells)


def _json_rows(text: Text, under: str) -> Iterator[Row]:
    """Rows from a file with one object per line, a list of objects, or an object of objects by their ids."""
    if text.suffix == ".jsonl":
        for line in object_lines([text], noun="row", most=_MAX_ROWS):
            if line.data is None:
                raise InputError([finding.problem() for finding in line.notes.findings])
            yield Row(text.name, text.stem, line.notes.prefix, "", line.data)
        return
    notes = Notes(text.name)
    content = read_whole(text, notes)
    value = None if content is None else read_value(content, notes)
    if notes.failed:
        raise InputError([finding.problem() for finding in notes.findings])
    value = _step_into(value, under) if under else value
    members = members_of(value)
    if members is None or not all(isinstance(member, dict) for _, member in members):
        what = f"{quoted(under)} is {kind_of(value)}" if under else f"contains {kind_of(value)}"
        reason = f"{what}, not a list of objects; set 'rows' in the mapping to the key of that list"
        raise InputError([Problem(text.name, "", reason)])
    for number, (key, member) in enumerate(members, 1):
        yield Row(text.name, text.stem, f"object {number}", key, member)


def members_of(value: Any) -> list[tuple[str, Any]] | None:
    """The members of a list or an object, each with its key ('' in a list); None for any other value."""
    if isinstance(value, list | tuple):
        return [("", member) for member in value]
    if isinstance(value, dict):
        return [(str(key), member) for key, member in value.items()]
    return None


def _step_into(value: Any, path: str) -> Any:
    """The value at a dotted path within objects. A list on the path gives a list of values. None if the path does not
    exist."""
    for key in path.split("."):
        value = opened_cell(value)
        if isinstance(value, list):
            value = [member.get(key) if isinstance(member, dict) else None for member in value]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def cell_of(cells: Any, column: str) -> Any:
    """The cell of a column, or the value at a dotted path that starts in a column."""
    return cells[column] if column in cells else _step_into(cells, column)


def opened_cell(value: Any) -> Any:
    """The value of a cell. A text that starts like a JSON list or object is parsed; other values stay as they are.

    Raises:
        ValueError: the cell starts like a list or an object but is not valid JSON.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    notes = Notes("")
    opened = read_value(value, notes)
    if notes.failed:
        raise ValueError("starts like a list or an object, but is not JSON; write it with Python's json.dumps")
    return opened


# Values.


def value_of(kind: Kind, value: Any) -> Any:
    """Convert a cell to a value of a kind; None if the cell is empty.

    Raises:
        ValueError: the cell cannot be converted; the message gives the reason.
    """
    if value is None or value == "" or (isinstance(value, float) and isnan(value)):  # NaN is an empty cell
        return "" if kind == "text" else None
    match kind:
        case "text":
            return _text(value)
        case "id":
            return _id(value)
        case "whole":
            return _whole(value)
        case "sum":
            opened = opened_cell(value)
            members = opened if isinstance(opened, list) else [value]
            return sum(_whole(member) for member in members if member is not None)
        case "count":
            opened = opened_cell(value)
            return len(opened) if isinstance(opened, list | dict) else _whole(value)
        case "ids":
            opened = opened_cell(value)
            members = opened if isinstance(opened, list) else [value]
            return [name for member in members if (name := _id(member))]
        case "flag":
            return _flag(value)
        case "counts":
            opened = opened_cell(value)
            if not isinstance(opened, dict):
                raise ValueError(f"is {kind_of(value)}, not an object of words and numbers")
            return {str(key): _number(number) for key, number in opened.items() if number is not None}


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"is {kind_in_words(value)}, not a text")


def _id(value: Any) -> str | None:
    """An id without surrounding spaces. A data frame may keep a whole number as a decimal number; 3.0 becomes '3'."""
    return _text(int(value) if isinstance(value, float) and value % 1 == 0 else value).strip() or None


def _number(value: Any) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        return float(value) if isinstance(value, str) and len(value) < 40 else int("")
    except ValueError:
        raise ValueError(
            f"is {quoted(value) if isinstance(value, str) else kind_in_words(value)}, not a number"
        ) from None


def _whole(value: Any) -> int:
    number = _number(value)
    if number % 1 or not abs(number) < 1e15:  # also NaN
        raise ValueError(f"is {quoted(value)}, not a whole number")
    return int(number)


def _flag(value: Any) -> bool:
    found = value if isinstance(value, bool) else FLAG_WORDS.get(str(value).strip().casefold())
    if found is None:
        raise ValueError(f"is {quoted(value)}, neither true nor false")
    return found


def kind_in_words(value: Any) -> str:
    """The kind of a cell, in words, because a table has more kinds than JSON."""
    said = kind_of(value)
    return said if said != "null" else f"of the type {type(value).__name__}"
