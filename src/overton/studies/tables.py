"""Tables that were made elsewhere, declared once: reading, checks and documentation derive from a list of columns.

Columns that a study's records have too are declared there: `TableKind.of` takes them from the record's fields. A study
touches no files: its host opens a table and hands it over as a `RawTable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
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

FLAG_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
"""The words for true and false in a cell of text, in lower case."""


def describe_missing(missing: Iterable[str], what: str, needed: Iterable[str]) -> str:
    """The problem of a table of `what` ('pairs') without these columns of those that it needs."""
    return f"has no column {', '.join(missing)}; a table of {what} has {', '.join(needed)}"


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

    def mapping(self, key: str, value: str) -> dict[str, str]:
        """The cell in the column `value` for each in the column `key`, in the order of rows; trimmed.

        Raises:
            InputError: a column is missing, a cell is empty, or a key is listed twice; names every such row.
        """
        if missing := [name for name in (key, value) if name not in self.columns]:
            reason = f"has no column {' and '.join(missing)}; a table of {value}s has {key}, {value}"
            raise InputError([Problem(self.name, "", reason)])
        found: dict[str, str] = {}
        problems: list[Problem] = []
        for number, row in enumerate(self.frame().select(key, value).iter_rows()):
            name, cell = (str(cell or "").strip() for cell in row)
            if not name or not cell:
                problems.append(Problem(self.name, self.place(number), "has an empty cell"))
            elif name in found:
                reason = f"{name} already has the {value} {found[name]}"
                problems.append(Problem(self.name, self.place(number), reason))
            else:
                found[name] = cell
        if problems:
            raise InputError(problems)
        return found


@dataclass(frozen=True)
class JoinedTable(RawTable):
    """Several tables, one below the other; a column that one of them lacks is empty there."""

    tables: tuple[RawTable, ...] = ()

    @classmethod
    def of(cls, name: str, tables: Sequence[RawTable]) -> JoinedTable:
        """These tables as one, which problems call `name`."""
        columns = tuple(dict.fromkeys(column for each in tables for column in each.columns))
        suffixes = {each.suffix for each in tables}
        suffix = suffixes.pop() if len(suffixes) == 1 else ""
        return cls(name, suffix, columns, lambda: _joined(tables), tuple(tables))

    def place(self, row: int) -> str:
        """The table that has the row with this index, and what users call the row there."""
        for each in self.tables:
            height = each.frame().height
            if row < height:
                return f"{each.name.replace(chr(92), '/').rpartition('/')[2]}, {each.place(row)}"
            row -= height
        return super().place(row)


def _joined(tables: Sequence[RawTable]) -> pl.DataFrame:
    import polars as pl

    return pl.concat([each.frame() for each in tables], how="diagonal_relaxed")


@dataclass(frozen=True, kw_only=True)
class _CellRules:
    """Rules for the cells of a column.

    needed    a table without the column is not of its kind
    words     other words for the values that a name may have, such as {'neither': 'baseline'}
    least, most   bounds of a number
    none      words that mean the same as an empty cell, in lower case
    aliases   names that others give the column
    must      the demand on a cell, if that does not follow from the rest
    hollow    an empty cell of text is an empty list; otherwise it means that nothing is known
    added     if it is missing, it is added for measures, with the value `usual`, which also fills empty cells
    """

    needed: bool = False
    words: Mapping[str, str] = field(default_factory=dict)
    least: float | None = None
    most: float | None = None
    none: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    must: str = ""
    hollow: bool = False
    added: bool = False
    usual: Any = None


@dataclass(frozen=True)
class ColumnRules(_CellRules):
    """Rules for a record's field as a column of a table that was made elsewhere, beyond those of the field's type.

    They follow the field's meaning, as in `Annotated[float, means("..."), ColumnRules(least=0, most=1)]`. `help`
    is the meaning in such a table, if it differs. With `text`, cells are texts and not names. `known` replaces the
    values of a `Literal`, and `usual` the field's default.
    """

    help: str = ""
    text: bool = False
    known: tuple[str, ...] | None = None


@dataclass(frozen=True)
class TableField(_CellRules):
    """A column: what it contains, and what its cells may be.

    name      as measures know it
    kind      'name': a short text, trimmed, null if it is empty. 'text': unchanged. 'whole', 'number': finite.
              'flag': true or false. 'names': a list, separated by spaces in a cell of text
    help      what it contains, in a few words
    filled    no cell may be empty; `together`: all are, or none is
    known     the values that a name may have, in upper or lower case, '-', '_' or ' ' between words
    lists     reads lists from a column in another format than the kind's: null if a cell cannot be read
    """

    name: str
    kind: Kind
    help: str
    filled: bool = False
    together: bool = False
    known: tuple[str, ...] = ()
    lists: Callable[[pl.Series], pl.Series] | None = None

    @classmethod
    def of(cls, record: type[msgspec.Struct], name: str, *, completed: bool = False, **changes: Any) -> TableField:
        """The column of a record's field, with `changes`.

        The field's type gives the kind, the values that it may have, and bounds (`ge` and `le` of `msgspec.Meta`). A
        needed column must be filled, if its field cannot be None. In a table that is `completed`, each column that is
        not needed is added, with the field's default.

        Raises:
            TypeError: the field has no meaning, or its type is that of no column.
            KeyError: the record has no such field.
        """
        return replace(_declared(record, name).column(completed=completed), **changes)

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


class ColumnDoc(NamedTuple):
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

    @classmethod
    def of(cls, record: type[msgspec.Struct], name: str, columns: Iterable[str | TableField], **rest: Any) -> TableKind:
        """A kind of table whose `columns`, in order, are fields of a record by name, or others.

        Raises:
            TypeError, KeyError: as `TableField.of`.
        """
        completed = rest.get("completed", False)
        return cls(
            name,
            tuple(
                TableField.of(record, column, completed=completed) if isinstance(column, str) else column
                for column in columns
            ),
            **rest,
        )

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

    def documented(self) -> tuple[ColumnDoc, ...]:
        """The documentation of its columns, in order."""
        return tuple(
            ColumnDoc(column.name, _KINDS[column.kind], column.needed, column.help, column.values())
            for column in self.columns
        )

    def refuse_missing(self, place: str, names: Sequence[str]) -> None:
        """Refuse a table with these columns if one is missing, or occurs twice.

        Raises:
            InputError: if so.
        """
        if missing := self.missing(names):
            raise InputError([Problem(place, "", describe_missing(missing, self.name, self.needed))])
        for column in self.columns:
            found = [name for name in names if self.ours(name) == column.name]
            if len(found) > 1:
                reason = f"has the column {column.name} twice, as {' and '.join(found[:2])}"
                raise InputError([Problem(place, "", reason)])


def means(meaning: str) -> msgspec.Meta:
    """The meaning of a record's field, as in `Annotated[int, means("from 1")]`: documentation takes it from there."""
    return msgspec.Meta(description=meaning)


def columns_of_record(record: type[msgspec.Struct]) -> tuple[ColumnDoc, ...]:
    """The documentation of a record's columns, in order: each field's own description.

    Raises:
        TypeError: a field has none.
    """
    return tuple(_declared(record, name).documented() for name in record.__struct_fields__)


@dataclass(frozen=True)
class _RecordField:
    """A field of a record, as declared."""

    name: str
    types: tuple[Any, ...]
    is_optional: bool
    default: Any
    metas: tuple[msgspec.Meta, ...]
    rules: ColumnRules

    @property
    def meaning(self) -> str:
        described = next((meta.description for meta in self.metas if meta.description), None)
        if described is None:
            raise TypeError(f"the field {self.name!r} has no description")
        return described

    @property
    def kind(self) -> Kind:
        if get_origin(self.types[0]) in (tuple, list):
            return "names"
        return _KINDS_OF_TYPES.get(self.types[0], "name")

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(map(str, get_args(self.types[0]))) if get_origin(self.types[0]) is Literal else ()

    def documented(self) -> ColumnDoc:
        return ColumnDoc(self.name, _KINDS[self.kind], not self.is_optional, self.meaning, ", ".join(self.known))

    def column(self, *, completed: bool) -> TableField:
        texts = get_args(self.types[0])[:1] if self.kind == "names" else self.types[:1]
        if len(self.types) > 1 or (self.kind in ("name", "names") and not all(map(_is_text, texts))):
            raise TypeError(f"the field {self.name!r} has a type that no column has")
        rules = self.rules
        added = rules.added or (completed and not rules.needed)
        default = self.default if rules.usual is None and self.default is not msgspec.NODEFAULT else rules.usual
        return TableField(
            self.name,
            "text" if rules.text else self.kind,
            rules.help or self.meaning,
            filled=rules.needed and not (self.is_optional or rules.hollow),
            known=self.known if rules.known is None else rules.known,
            **{cell_rule.name: getattr(rules, cell_rule.name) for cell_rule in fields(_CellRules)}
            | {
                "least": self._bound("ge") if rules.least is None else rules.least,
                "most": self._bound("le") if rules.most is None else rules.most,
                "added": added,
                "usual": default if added else None,
            },
        )

    def _bound(self, which: str) -> float | None:
        return next((bound for meta in self.metas if (bound := getattr(meta, which)) is not None), None)


_KINDS_OF_TYPES: Mapping[Any, Kind] = {int: "whole", float: "number", bool: "flag"}


@cache
def _hints(record: type[msgspec.Struct]) -> dict[str, Any]:
    return get_type_hints(record, include_extras=True)


@cache
def _defaults(record: type[msgspec.Struct]) -> dict[str, Any]:
    return {struct_field.name: struct_field.default for struct_field in msgspec.structs.fields(record)}


def _declared(record: type[msgspec.Struct], name: str) -> _RecordField:
    inner, extras = _unwrapped(_hints(record)[name])
    parts = get_args(inner) if get_origin(inner) in (Union, UnionType) else (inner,)
    types = []
    for part in parts:
        if part is not NoneType:
            type_, more = _unwrapped(part)
            types.append(type_)
            extras += more
    return _RecordField(
        name,
        tuple(types),
        NoneType in parts,
        _defaults(record)[name],
        tuple(extra for extra in extras if isinstance(extra, msgspec.Meta)),
        next((extra for extra in extras if isinstance(extra, ColumnRules)), ColumnRules()),
    )


def _is_text(hint: Any) -> bool:
    return hint is str or (get_origin(hint) is Literal and all(isinstance(value, str) for value in get_args(hint)))


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """A type without its annotations, and these."""
    inner, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return inner, extras
