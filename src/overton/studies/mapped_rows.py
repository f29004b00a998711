"""The rows of tables that somebody else made, and their cells as values of the kinds that a mapping fills.

A table is a CSV or Parquet file, JSON lines, or JSON: a list of objects, or an object of objects by their ids.
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
    """A row of a table: its file, the file's stem, its place in it, its key in an object of objects, and its cells."""

    file: str
    stem: str
    place: str
    key: str
    cells: Mapping[str, Any]


def read_rows(text: Text, wanted: Sequence[str], under: str) -> list[Row]:
    """The rows of a table with the `wanted` columns; `under` is the key of a JSON object that contains them.

    A column may be a dotted path that starts in a column.

    Raises:
        InputError: it cannot be read, has no such column, or no rows; the problem names the file.
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
    """Whether a column, or the one in which a dotted path starts, is among these."""
    return column in known or column.partition(".")[0] in known


def no_such(what: str, column: str, known: Iterable[str]) -> str:
    """The problem of a column (or key) that is not among those known."""
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
    """Lines of objects; or, in a whole file, a list of objects, or an object of objects by their ids."""
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
        reason = f"{what}, not a list of objects; 'rows' in the mapping names the key under which they are"
        raise InputError([Problem(text.name, "", reason)])
    for number, (key, member) in enumerate(members, 1):
        yield Row(text.name, text.stem, f"object {number}", key, member)


def members_of(value: Any) -> list[tuple[str, Any]] | None:
    """The members of a list, or of an object by their keys; None if it is neither."""
    if isinstance(value, list | tuple):
        return [("", member) for member in value]
    if isinstance(value, dict):
        return [(str(key), member) for key, member in value.items()]
    return None


def _step_into(value: Any, path: str) -> Any:
    """The value at a dotted path within objects, or a list of values through a list; None if it leads nowhere."""
    for key in path.split("."):
        value = opened_cell(value)
        if isinstance(value, list):
            value = [member.get(key) if isinstance(member, dict) else None for member in value]
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def cell_of(cells: Any, column: str) -> Any:
    """The cell of a column, or what is at a dotted path that starts in one."""
    return cells[column] if column in cells else _step_into(cells, column)


def opened_cell(value: Any) -> Any:
    """A cell, with JSON in a text read; other texts stay as they are.

    Raises:
        ValueError: it starts like a list or an object and is not JSON.
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    notes = Notes("")
    opened = read_value(value, notes)
    if notes.failed:
        raise ValueError("starts like a list or an object, but is not JSON; Python's json.dumps writes it")
    return opened


# Values.


def value_of(kind: Kind, value: Any) -> Any:
    """A cell as a value of a kind; None if it is empty.

    Raises:
        ValueError: it cannot be one, with the reason.
    """
    if value is None or value == "" or (isinstance(value, float) and isnan(value)):  # as data frames write it
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
    """A text without spaces around it; whole numbers that a data frame keeps as decimal ones are ids, too."""
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
    """The kind of a cell, in words: a table has more kinds than JSON."""
    said = kind_of(value)
    return said if said != "null" else f"of the type {type(value).__name__}"
