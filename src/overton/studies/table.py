"""Tables that were made elsewhere, declared once: what reads, checks and documents them comes from a list of columns.

A study touches no files: whoever hosts it opens a table and hands it over as a `RawTable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from overton.errors import InputError, Problem

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "RECORDS_FORMAT",
    "RECORDS_KEY",
    "Column",
    "Kind",
    "Once",
    "RawTable",
    "Rule",
    "Table",
    "columns_of_record",
    "told",
]

RECORDS_KEY, RECORDS_FORMAT = "overton.records", 1
"""Where the outcome table's file says its format, and the format that this version reads and writes."""


Kind = Literal["name", "text", "whole", "number", "flag", "names"]

_KINDS: Mapping[Kind, str] = {
    "name": "text",
    "text": "text",
    "whole": "whole number",
    "number": "number",
    "flag": "true or false",
    "names": "list",
}


@dataclass(frozen=True)
class RawTable:
    """A table as it was opened, before anything in it is believed.

    `name` is what problems call it: its path. In a '.csv' (`suffix`) every cell is a text, an empty one null, and rows
    are named by their lines. `frame()` reads it whole; it raises InputError where that cannot be done.
    """

    name: str
    suffix: str
    columns: tuple[str, ...]
    frame: Callable[[], pl.DataFrame]

    def place(self, row: int) -> str:
        """What a person calls the row with this index from 0."""
        return f"line {row + 2}" if self.suffix == ".csv" else f"row {row + 1}"


@dataclass(frozen=True)
class Column:
    """A column: what it holds, and what its cells may be.

    name      as measures know it; `aliases` are names that others give it
    kind      'name': a short text, trimmed, null where it is empty. 'text': as it stands. 'whole', 'number': finite,
              from `least` to `most`. 'flag': true or false. 'names': a list, in a cell of text with spaces between
    help      what it holds, in a few words
    needed    a table without it is none of its kind; `filled`: no cell may be empty; `together`: all are, or none is
    known     the values that a name may have, in whatever case, '-', '_' or ' ' between words; `words` are other words
              for them, as {'neither': 'baseline'}
    none      words that say as much as an empty cell, in small letters
    must      what a cell must be, where that does not follow from the rest
    hollow    an empty cell of text is a list of nothing, else nothing is known
    lists     reads lists out of a column that does not hold them as the kind says: null where a cell cannot be read
    added     where it is missing, it is added for measures; `usual` stands there, and in empty cells
    """

    name: str
    kind: Kind
    help: str
    needed: bool = False
    filled: bool = False
    together: bool = False
    known: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    least: float | None = None
    most: float | None = None
    none: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    must: str = ""
    hollow: bool = False
    lists: Callable[[pl.Series], pl.Series] | None = None
    added: bool = False
    usual: Any = None

    def values(self) -> str:
        """The values that it can have, '' where that is not limited."""
        if self.known:
            return ", ".join(dict.fromkeys((*self.known, *self.words)))
        if self.least is None and self.most is None:
            return ""
        if self.most is None:
            return f"from {self.least:,g}"
        if self.least is None:
            return f"up to {self.most:,g}"
        if self.kind == "whole":
            return f"{self.least:,.0f} to {self.most:,.0f}"
        return f"between {self.least:g} and {self.most:g}"

    def demand(self) -> str:
        """What a cell must be: 'must be a number between 0 and 1'."""
        if self.must:
            return self.must
        empty = "" if self.filled else ", or empty"
        if self.known:
            return f"must be one of {self.values()}{empty}"
        if self.kind in ("whole", "number"):
            own = f", '{self.none[0]}' or empty" if self.none else ""
            limits = f"{',' if self.kind == 'whole' else ''} {self.values()}" if self.values() else ""
            return f"must be a {_KINDS[self.kind]}{limits}{own}"
        if self.kind == "flag":
            return f"must be true or false{empty}"
        if self.together:
            return "must be there in every row or in none"
        return "must not be empty" if self.filled else f"must be a {_KINDS[self.kind]}{empty}"


@dataclass(frozen=True)
class Rule:
    """What a row must hold as a whole, in a table with all columns that it looks at: `broken()` is true of those that
    do not.

    The cell in `column` is shown, with what it `must` be. Of a frame, whose rows have no places, it is said `in_frame`,
    for each value of the column `of` apart where one is named.
    """

    column: str
    broken: Callable[[], pl.Expr]
    must: str
    in_frame: str
    of: str = ""

    def breaking(self, table: pl.DataFrame) -> pl.Series | None:
        """Which rows break it, None where none does."""
        broken = self.broken()
        if not {self.column, *broken.meta.root_names()} <= set(table.columns):
            return None
        rows = table.select(broken).to_series().fill_null(False)
        return rows if rows.any() else None


@dataclass(frozen=True)
class Once:
    """No two rows are equal in these columns, those that the table has; of ('agent', 'model') the first that is filled.

    `again` is said of the later row, '{first}' being the place of the earlier one; `in_frame` is said of a frame, where
    it is '' measures find it out as they go.
    """

    columns: tuple[str | tuple[str, ...], ...]
    again: str
    in_frame: str = ""


class Documented(NamedTuple):
    """What there is to be told of a column: its name, kind, whether it is needed, meaning, and values."""

    column: str
    kind: str
    needed: bool
    meaning: str
    values: str


@dataclass(frozen=True)
class Table:
    """A kind of table: what `overton analyze` reads from a file, and what measures take from Python.

    name       what a problem calls it where it came from no file: 'decisions'
    columns    those that are read, in the order in which they come back
    rules      what holds of rows, and `once` of all of them; `checks` find more in a frame, once all else is right
    others     whether other columns of a .parquet are kept, such as a run's records have
    completed  whether `read` adds what is missing; `check` always does
    by_column  whether problems are told by column, with their rows: for tables of tens of thousands of rows
    """

    name: str
    columns: tuple[Column, ...]
    rules: tuple[Rule, ...] = ()
    once: Once | None = None
    checks: tuple[Callable[[pl.DataFrame], Iterator[Problem]], ...] = ()
    others: bool = False
    completed: bool = False
    by_column: bool = False

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which a table is none of this kind."""
        return tuple(column.name for column in self.columns if column.needed)

    def ours(self, name: str) -> str:
        """Our name of a column that others name otherwise."""
        return next((column.name for column in self.columns if name in column.aliases), name)

    def missing(self, names: Sequence[str]) -> list[str]:
        """The needed columns that are not among these."""
        there = {self.ours(name) for name in names}
        return [name for name in self.needed if name not in there]

    def fits(self, raw: RawTable) -> bool:
        """Whether a table has the columns of this kind."""
        return not self.missing(raw.columns)

    def read(self, raw: RawTable) -> pl.DataFrame:
        """The table with typed columns under our names, checked; blank rows are left out.

        Raises:
            InputError: columns that are missing or stand twice, and by row (in a CSV by line): what is no value of its
                column, and what breaks a rule.
        """
        from overton.studies.table_frames import read

        return read(self, raw)

    def check(self, frame: pl.DataFrame, needed: Sequence[str] = ()) -> pl.DataFrame:
        """A frame from Python with typed columns, and with those that are `added`; no others, and none that is empty.

        `needed` are columns that must be there besides.

        Raises:
            InputError: every problem found, under the table's name.
        """
        from overton.studies.table_frames import check

        return check(self, frame, needed)

    def documented(self) -> tuple[Documented, ...]:
        """What is told of its columns, in their order."""
        return tuple(
            Documented(column.name, _KINDS[column.kind], column.needed, column.help, column.values())
            for column in self.columns
        )

    def refuse_missing(self, place: str, names: Sequence[str]) -> None:
        """Refuse a table with these columns where one is missing, or stands there twice.

        Raises:
            InputError: so it is.
        """
        if missing := self.missing(names):
            reason = f"has no column {', '.join(missing)}; a table of {self.name} has {', '.join(self.needed)}"
            raise InputError([Problem(place, "", reason)])
        for column in self.columns:
            found = [name for name in names if self.ours(name) == column.name]
            if len(found) > 1:
                reason = f"has the column {column.name} twice, as {' and '.join(found[:2])}"
                raise InputError([Problem(place, "", reason)])


def told(meaning: str) -> msgspec.Meta:
    """What a field of a record holds, as in `Annotated[int, told("from 1")]`: documentation has it from there."""
    return msgspec.Meta(description=meaning)


def columns_of_record(record: type[msgspec.Struct]) -> tuple[Documented, ...]:
    """What is told of a record's columns, in their order: each field's own description.

    Raises:
        TypeError: a field has none.
    """
    hints = get_type_hints(record, include_extras=True)
    return tuple(_of_field(one.name, hints[one.name]) for one in msgspec.structs.fields(record))


def _of_field(name: str, hint: Any) -> Documented:
    inner, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    meaning = next((extra.description for extra in extras if isinstance(extra, msgspec.Meta)), None)
    if not meaning:
        raise TypeError(f"the field {name!r} has no description")
    parts = get_args(inner) if get_origin(inner) in (Union, UnionType) else (inner,)
    kinds = [part for part in parts if part is not NoneType]
    known = [str(value) for value in get_args(kinds[0])] if get_origin(kinds[0]) is Literal else []
    return Documented(name, _kind_of(kinds[0]), NoneType not in parts, meaning, ", ".join(known))


def _kind_of(hint: Any) -> str:
    if get_origin(hint) in (tuple, list):
        return "list"
    return {int: "whole number", float: "number", bool: "true or false"}.get(hint, "text")
