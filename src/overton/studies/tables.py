"""Tables that were made elsewhere, declared once: reading, checks and documentation derive from a list of columns.

A study touches no files: its host opens a table and hands it over as a `RawTable`.
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


RECORDS_KEY, RECORDS_FORMAT = "overton.records", 1
"""The key under which the outcome table's file gives its format, and the format that this version reads and writes."""


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
    """A table as it was opened, before anything in it is trusted.

    `name` is what problems call it: its path. In a '.csv' (`suffix`) every cell is a text, an empty one null, and rows
    are named by their lines. `frame()` reads it whole; it raises InputError if that is not possible.
    """

    name: str
    suffix: str
    columns: tuple[str, ...]
    frame: Callable[[], pl.DataFrame]

    def place(self, row: int) -> str:
        """What users call the row with this index from 0."""
        return f"line {row + 2}" if self.suffix == ".csv" else f"row {row + 1}"


@dataclass(frozen=True)
class TableField:
    """A column: what it contains, and what its cells may be.

    name      as measures know it; `aliases` are names that others give it
    kind      'name': a short text, trimmed, null if it is empty. 'text': unchanged. 'whole', 'number': finite, from
              `least` to `most`. 'flag': true or false. 'names': a list, separated by spaces in a cell of text
    help      what it contains, in a few words
    needed    a table without it is not of this kind; `filled`: no cell may be empty; `together`: all are, or none is
    known     the values that a name may have, in upper or lower case, '-', '_' or ' ' between words; `words` are other
              words for them, such as {'neither': 'baseline'}
    none      words that mean the same as an empty cell, in lower case
    must      what a cell must be, if that does not follow from the rest
    hollow    an empty cell of text is an empty list; otherwise it means that nothing is known
    lists     reads lists from a column in another format than the kind's: null if a cell cannot be read
    added     if it is missing, it is added for measures, with the value `usual`, which also fills empty cells
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
        """The values that it can have, '' if they are not limited."""
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
            return "must be present in every row or in none"
        return "must not be empty" if self.filled else f"must be a {_KINDS[self.kind]}{empty}"


@dataclass(frozen=True)
class Rule:
    """What must be true of a row as a whole, in a table with all columns involved: `broken()` is true for those that
    break the rule.

    The cell in `column` is shown, with what it `must` be. For a frame, whose rows have no places, `in_frame` is said,
    separately for each value of the column `of` if one is named.
    """

    column: str
    broken: Callable[[], pl.Expr]
    must: str
    in_frame: str
    of: str = ""

    def breaking(self, table: pl.DataFrame) -> pl.Series | None:
        """Which rows break it, None if none does."""
        broken = self.broken()
        if not {self.column, *broken.meta.root_names()} <= set(table.columns):
            return None
        rows = table.select(broken).to_series().fill_null(False)
        return rows if rows.any() else None


@dataclass(frozen=True)
class Once:
    """No two rows are equal in these columns, as far as the table has them; of ('agent', 'model') the first not empty.

    `again` is said of the later row, '{first}' being the place of the earlier one; `in_frame` is said of a frame: if
    it is '', measures detect it themselves.
    """

    columns: tuple[str | tuple[str, ...], ...]
    again: str
    in_frame: str = ""


class Documented(NamedTuple):
    """The documentation of a column: its name, kind, whether it is needed, meaning, and values."""

    column: str
    kind: str
    needed: bool
    meaning: str
    values: str


@dataclass(frozen=True)
class TableKind:
    """A kind of table: what `overton analyze` reads from a file, and what measures take from Python.

    name       what a problem calls it if it came from no file: 'decisions'
    columns    those that are read, in the order in which they are returned
    rules      the rules for rows, and `once` for all of them; `checks` find more in a frame, once all else is right
    others     whether other columns of a .parquet are kept, such as those of a run's records
    completed  whether reading adds what is missing (`table_frames.read`); checking a frame always does
    by_column  whether problems are reported by column, with their rows: for tables of tens of thousands of rows
    """

    name: str
    columns: tuple[TableField, ...]
    rules: tuple[Rule, ...] = ()
    once: Once | None = None
    checks: tuple[Callable[[pl.DataFrame], Iterator[Problem]], ...] = ()
    others: bool = False
    completed: bool = False
    by_column: bool = False

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which a table is not of this kind."""
        return tuple(column.name for column in self.columns if column.needed)

    def ours(self, name: str) -> str:
        """Our name for a column that others name differently."""
        return next((column.name for column in self.columns if name in column.aliases), name)

    def missing(self, names: Sequence[str]) -> list[str]:
        """The needed columns that are not among these."""
        given = {self.ours(name) for name in names}
        return [name for name in self.needed if name not in given]

    def fits(self, raw: RawTable) -> bool:
        """Whether a table has the columns of this kind."""
        return not self.missing(raw.columns)

    def documented(self) -> tuple[Documented, ...]:
        """The documentation of its columns, in order."""
        return tuple(
            Documented(column.name, _KINDS[column.kind], column.needed, column.help, column.values())
            for column in self.columns
        )

    def refuse_missing(self, place: str, names: Sequence[str]) -> None:
        """Refuse a table with these columns if one is missing, or occurs twice.

        Raises:
            InputError: if so.
        """
        if missing := self.missing(names):
            reason = f"has no column {', '.join(missing)}; a table of {self.name} has {', '.join(self.needed)}"
            raise InputError([Problem(place, "", reason)])
        for column in self.columns:
            found = [name for name in names if self.ours(name) == column.name]
            if len(found) > 1:
                reason = f"has the column {column.name} twice, as {' and '.join(found[:2])}"
                raise InputError([Problem(place, "", reason)])


def means(meaning: str) -> msgspec.Meta:
    """The meaning of a record's field, as in `Annotated[int, means("from 1")]`: documentation takes it from there."""
    return msgspec.Meta(description=meaning)


def columns_of_record(record: type[msgspec.Struct]) -> tuple[Documented, ...]:
    """The documentation of a record's columns, in order: each field's own description.

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
