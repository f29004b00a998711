"""Declarations of tables made outside Overton. Reading, checks and documentation all use one list of columns.

If a study's records also have a column of the table, `TableKind.of` takes the column's declaration from the record's
field. Studies never open files. Overton opens a table and passes it to the study as a `RawTable`.
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
"""The key for the format number in the outcome table's file, and the format number that this version reads and
writes."""


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
"""The words for true and false in a cell with text, in lower case."""


def describe_missing(missing: Iterable[str], what: str, needed: Iterable[str]) -> str:
    """The message about a table of `what` ('pairs') that lacks required columns."""
    return f"has no column {', '.join(missing)}; a table of {what} has {', '.join(needed)}"


@dataclass(frozen=True)
class RawTable:
    """An opened table whose contents have not been checked yet.

    `name` is the table's name in problems: its path. If `suffix` is '.csv', every cell is a text, an empty cell is
    null, and messages refer to rows by their line. `frame()` reads the whole table, or raises InputError if that is not
    possible.
    """

    name: str
    suffix: str
    columns: tuple[str, ...]
    frame: Callable[[], pl.DataFrame]

    def place(self, row: int) -> str:
        """The location of a row in messages, from its index (from 0)."""
        return f"line {row + 2}" if self.suffix == ".csv" else f"row {row + 1}"

    def mapping(self, key: str, value: str) -> dict[str, str]:
        """A mapping from the cells of column `key` to those of column `value`, in the order of rows, with spaces
        trimmed.

        Raises:
            InputError: a column is missing, a cell is empty, or a key is listed twice. The message names every such
                row.
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
    """Several tables, concatenated. If a table lacks a column, its cells in that column are empty."""

    tables: tuple[RawTable, ...] = ()

    @classmethod
    def of(cls, name: str, tables: Sequence[RawTable]) -> JoinedTable:
        """Join tables. Problems refer to the whole as `name`."""
        columns = tuple(dict.fromkeys(column for each in tables for column in each.columns))
        suffixes = {each.suffix for each in tables}
        suffix = suffixes.pop() if len(suffixes) == 1 else ""
        return cls(name, suffix, columns, lambda: _joined(tables), tuple(tables))

    def place(self, row: int) -> str:
        """The name of the table with this row, and the row's location in that table."""
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

    needed    whether a table must have the column
    words     other words for the allowed values of a name, such as {'neither': 'baseline'}
    least, most   bounds of a number
    none      words in lower case that mean the same as an empty cell
    aliases   other names of the column
    must      the requirement on a cell, if the other rules do not describe it
    hollow    whether an empty cell of text is an empty list; otherwise its value is unknown
    added     whether Overton adds the column if it is missing, with the value `usual`, which also fills empty cells
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
    """Rules for a record's field as a column of a table made outside Overton, in addition to those of the field's type.

    The rules follow the field's meaning, as in `Annotated[float, means("..."), ColumnRules(least=0, most=1)]`. `help`
    is the column's meaning in such a table, if it differs from the field's meaning. With `text`, cells are texts and
    not names. `known` replaces the values of a `Literal`, and `usual` the field's default. A `newer` column was added
    to Overton after some runs had started. Overton writes it only if a row has a value in it, so that these runs can
    continue with their old columns. Measures do not require `newer` columns.
    """

    help: str = ""
    text: bool = False
    known: tuple[str, ...] | None = None
    newer: bool = False


@dataclass(frozen=True)
class TableField(_CellRules):
    """A column of a table: its contents, and the rules for its cells.

    name      the column's name in measures
    kind      'name': a short text, trimmed, null if it is empty. 'text': unchanged. 'whole', 'number': finite.
              'flag': true or false. 'names': a list, separated by spaces in a cell of text
    help      the contents, in a few words
    filled    no cell may be empty. With `together`, either all cells of the column are empty or none
    known     the allowed values of a name, in upper or lower case, with '-', '_' or ' ' between words
    lists     a function that reads lists from a column in another format; a cell that it cannot read becomes null
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
        """The column for a record's field, with `changes` to the declaration.

        The field's type gives the kind, the allowed values, and bounds (`ge` and `le` of `msgspec.Meta`). A required
        column must be filled if its field cannot be None. If the table is `completed`, Overton adds each missing
        optional column, with the field's default.

        Raises:
            TypeError: the field has no meaning, or a column cannot have its type.
            KeyError: the record has no such field.
        """
        return replace(_declared(record, name).column(completed=completed), **changes)

    def values(self) -> str:
        """The allowed values in words; '' if there is no limit."""
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
        """The requirement on a cell, such as 'must be a number between 0 and 1'."""
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
    """A condition on rows. It applies to tables that have all columns of the condition. `broken()` is true for rows
    that violate it.

    The message about a file shows the cell in `column` and states what the cell `must` be. A data frame's rows have no
    locations, so the message about a data frame is `in_frame`. If `of` names a column, the message about a data frame
    is repeated for each value of that column.
    """

    column: str
    broken: Callable[[], pl.Expr]
    must: str
    in_frame: str
    of: str = ""

    def breaking(self, table: pl.DataFrame) -> pl.Series | None:
        """For each row, whether it violates the rule; None if no row does, or if columns are missing."""
        broken = self.broken()
        if not {self.column, *broken.meta.root_names()} <= set(table.columns):
            return None
        rows = table.select(broken).to_series().fill_null(False)
        return rows if rows.any() else None


@dataclass(frozen=True)
class Once:
    """A rule that no two rows are equal in `columns`. Columns that the table lacks are ignored. A group such as
    ('agent', 'model') counts as one column, whose cell is the first non-empty cell of the group.

    The message about the later of two equal rows is `again`, in which '{first}' is the location of the earlier row. The
    message about a data frame is `in_frame`. If `in_frame` is '', this rule is not applied to data frames, because
    measures detect equal rows themselves.
    """

    columns: tuple[str | tuple[str, ...], ...]
    again: str
    in_frame: str = ""


class ColumnDoc(NamedTuple):
    """The documentation of a column: name, kind, whether it is required, meaning, and values."""

    column: str
    kind: str
    needed: bool
    meaning: str
    values: str


@dataclass(frozen=True)
class TableKind:
    """A kind of table. `overton analyze` reads it from a file, and measures in Python accept it as a data frame.

    name       the table's name in problems if the table is not a file: 'decisions'
    columns    the columns to read, in the order of the result
    rules      the rules for single rows. `once` is a rule that no two rows are equal. `checks` look for further
               problems in a data frame that has no other problems
    others     whether reading a .parquet file keeps further columns, such as those of a run's records
    completed  whether reading a file adds missing columns (`table_frames.read`); checks of data frames always add them
    by_column  whether problems are reported by column, with their rows, as is useful for tens of thousands of rows
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
        """A kind of table. Each of its `columns`, in order, is given by the name of a record's field or by a
        declaration.

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
        """The columns that a table of this kind must have."""
        return tuple(column.name for column in self.columns if column.needed)

    def ours(self, name: str) -> str:
        """Overton's name of a column that may have one of its other names."""
        return next((column.name for column in self.columns if name in column.aliases), name)

    def missing(self, names: Sequence[str]) -> list[str]:
        """The required columns that are not among `names`."""
        given = {self.ours(name) for name in names}
        return [name for name in self.needed if name not in given]

    def fits(self, raw: RawTable) -> bool:
        """Whether a table has the columns of this kind."""
        return not self.missing(raw.columns)

    def documented(self) -> tuple[ColumnDoc, ...]:
        """The documentation of the kind's columns, in order."""
        return tuple(
            ColumnDoc(column.name, _KINDS[column.kind], column.needed, column.help, column.values())
            for column in self.columns
        )

    def refuse_missing(self, place: str, names: Sequence[str]) -> None:
        """Raise an error if a required column is missing, or a column occurs twice.

        Raises:
            InputError: a column is missing or repeated.
        """
        if missing := self.missing(names):
            raise InputError([Problem(place, "", describe_missing(missing, self.name, self.needed))])
        for column in self.columns:
            found = [name for name in names if self.ours(name) == column.name]
            if len(found) > 1:
                reason = f"has the column {column.name} twice, as {' and '.join(found[:2])}"
                raise InputError([Problem(place, "", reason)])


def means(meaning: str) -> msgspec.Meta:
    """Declare the meaning of a record's field for documentation, as in `Annotated[int, means("from 1")]`."""
    return msgspec.Meta(description=meaning)


def columns_of_record(record: type[msgspec.Struct]) -> tuple[ColumnDoc, ...]:
    """The documentation of a record's columns, in order, from the declared meanings of its fields.

    Raises:
        TypeError: a field has no declared meaning.
    """
    return tuple(_declared(record, name).documented() for name in record.__struct_fields__)


@dataclass(frozen=True)
class _RecordField:
    """The declaration of a record's field."""

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
        added = rules.added or (completed and not rules.needed and not rules.newer)
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


def newer_columns(record: type[msgspec.Struct]) -> tuple[str, ...]:
    """The `newer` columns, which a run writes only if a row has a value in them."""
    return tuple(name for name in record.__struct_fields__ if _declared(record, name).rules.newer)


def _is_text(hint: Any) -> bool:
    return hint is str or (get_origin(hint) is Literal and all(isinstance(value, str) for value in get_args(hint)))


def _unwrapped(hint: Any) -> tuple[Any, list[Any]]:
    """A type without its annotations, and the annotations."""
    inner, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return inner, extras
