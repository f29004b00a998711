"""Items from tables: each row of a '.csv' is an item of the same kind as a line of JSON, with the same checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic

import msgspec

from overton.errors import InputError, quoted
from overton.studies.parsing import (
    Check,
    Item,
    ItemProblem,
    Notes,
    ParsedItems,
    Text,
    findings_of,
    id_part,
    json_lines,
    note_id,
    note_repeated,
    take_optional,
    take_required,
)
from overton.studies.tables import FLAG_WORDS, describe_missing

if TYPE_CHECKING:
    import polars as pl

_MAX_ROWS = 100_000


@dataclass(frozen=True)
class ItemFiles(Generic[Item]):
    """The reader of items from JSON lines, rows of a '.csv', or both. `parse` is the function for `Items`.

    The columns of a table are the fields of `kind`, under their own names or `renamed`. Other columns are ignored. A
    `str` field is required, and no cell of its column may be blank. A `str | None` or `bool | None` field may lack a
    column, or have empty cells. Messages name rows by their line.

    kind      the struct of an item
    plural    the plural of the noun ('pairs')
    id_from   the field from which Overton makes a missing id: the start of the field's text and a running number
              ('taxes-001'). If no character of the text is allowed in an id, the field's name replaces the text
    check     a function that notes further errors and oddities of an item
    renamed   other names of columns, such as those of a published table, each with the field that it replaces
    content   the word for what `content_of` returns ('prompts'). A warning names items with the same content
    """

    kind: type[Item]
    plural: str
    id_from: str
    _: KW_ONLY
    check: Check[Item] | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    content: str = ""
    content_of: Callable[[Item], Hashable] | None = None

    def __post_init__(self) -> None:
        known = [name for of in (str, str | None, bool | None) for name in _fields(self.kind, of)]
        if unknown := [name for name in self.kind.__struct_fields__ if name not in ("id", *known)]:
            raise TypeError(f"no column of a table has the type of {', '.join(unknown)}")

    def parse(self, texts: Sequence[Text], reading: Any) -> ParsedItems[Item]:
        """The items of `texts`, those of JSON lines first.

        An id in two files, a blank required text, and a missing or repeated column are errors.
        """
        lines = [text for text in texts if text.suffix not in (".csv", ".xlsx")]
        tables = [text for text in texts if text.suffix in (".csv", ".xlsx")]
        parts = [json_lines(self.kind, self._check)(lines, reading), *map(self._of_table, tables)]
        items = [item for part in parts for item in part.items]
        findings = [finding for part in parts for finding in part.findings]
        return ParsedItems(items, (*findings, *_in_two_files(parts), *self._with_same_content(items)))

    def _check(self, item: Item, notes: Notes) -> None:
        for name in _fields(self.kind, str):
            if not getattr(item, name).strip():
                notes.error(name, "is empty")
        if self.check is not None and not notes.failed:
            self.check(item, notes)

    def _of_table(self, text: Text) -> ParsedItems[Item]:
        notes = Notes(text.name)
        table = self._table(text, notes)
        if table is None:
            return ParsedItems([], notes.findings)
        made = Counter[str]()
        noted: list[Notes] = []
        named: list[tuple[Any, Notes]] = []
        noun = "line" if text.suffix == ".csv" else "row"
        for line, row in enumerate(table.iter_rows(named=True), 2):
            noted.append(Notes(text.name, f"{noun} {line}"))
            if (item := self._of_row(row, made, noted[-1])) is not None:
                named.append((item, noted[-1]))
        note_repeated((item.id, row_notes) for item, row_notes in named)
        return ParsedItems([item for item, _ in named], findings_of(noted))

    def _table(self, text: Text, notes: Notes) -> pl.DataFrame | None:
        """The table with Overton's names of columns. If it has no usable rows, an error is noted and the result is
        None."""
        try:
            table = text.table()
        except InputError as error:
            notes.refused(error)
            return None
        names = {name: self.renamed.get(name, name) for name in table.columns}
        many, needed = Counter(names.values()), _fields(self.kind, str)
        if twice := [name for name in self.renamed if name in names and many[names[name]] > 1]:
            notes.error("", f"has the column {names[twice[0]]} twice, also as {twice[0]}")
        elif missing := [name for name in needed if name not in many]:
            notes.error("", describe_missing(missing, self.plural, needed))
        elif not table.height:
            notes.error("", f"has no {self.plural}")
        elif table.height > _MAX_ROWS:
            notes.error("", f"has more than {_MAX_ROWS:,} {self.plural}")
        return None if notes.failed else table.rename(names)

    def _of_row(self, row: dict[str, Any], made: Counter[str], notes: Notes) -> Item | None:
        """The item of a row. If the row has errors, they are noted and the result is None. `made` counts rows by the
        start of their ids."""
        values: dict[str, Any] = {name: take_required(row, name, notes) or "" for name in _fields(self.kind, str)}
        values |= {name: _take_flag(row, name, notes) for name in _fields(self.kind, bool | None)}
        stem = id_part(values[self.id_from]) or self.id_from
        made[stem] += 1
        values["id"] = str(row.get("id") or f"{stem}-{made[stem]:03}")
        note_id(values["id"], notes)
        values |= {name: take_optional(row, name, notes) for name in _fields(self.kind, str | None)}
        if notes.failed:
            return None
        item = self.kind(**values)
        self._check(item, notes)
        return None if notes.failed else item

    def _with_same_content(self, items: Sequence[Any]) -> Iterator[ItemProblem]:
        """A warning for each item with the same content as an earlier item."""
        if self.content_of is None:
            return
        first: dict[Hashable, str] = {}
        for item in items:
            earlier = first.setdefault(self.content_of(item), item.id)
            if earlier != item.id:
                reason = f"has the same {self.content} as {earlier}, so these count twice"
                yield ItemProblem("warning", item.id, "", reason)


@cache
def _fields(kind: type[msgspec.Struct], of: Any) -> tuple[str, ...]:
    """The names of a struct's fields of the type `of`, without the id."""
    every = msgspec.structs.fields(kind)
    return tuple(known.name for known in every if known.type == of and known.name != "id")


def _take_flag(row: dict[str, Any], key: str, notes: Notes) -> bool | None:
    """The truth value in a cell, None if the cell is empty. A word that is neither true nor false is noted, and gives
    None."""
    word = str(row.get(key) or "").strip().casefold()
    if word and word not in FLAG_WORDS:
        notes.error(key, f"is {quoted(word)}, neither true nor false")
    return FLAG_WORDS.get(word)


def _in_two_files(parts: Sequence[ParsedItems[Any]]) -> Iterator[ItemProblem]:
    """An error for each id that is in two files."""
    seen: set[str] = set()
    for part in parts:
        names = {item.id for item in part.items}
        yield from (ItemProblem("error", name, "id", "is in two files") for name in sorted(names & seen))
        seen |= names
