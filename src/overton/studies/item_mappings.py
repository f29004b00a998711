"""Items from a table that was made for other purposes. A TOML file, the mapping, names the column of each field.

A mapping looks like an item in the study's own format, with the name of a column in place of each value:

    table = "posts.csv"
    id = "post_id"
    title = "post_title"

    [comments]
    text = "body"
    votes = "score"

A study declares in `Items.mapping` the keys that a mapping may have. Overton opens the mapping and the tables. The
values of an item become an object in the study's format, which is checked like any other item. Error messages name the
table, row and column.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple

from overton.errors import InputError, Unreadable, suggestion
from overton.studies.mapped_rows import (
    Kind,
    Row,
    cell_of,
    has_column,
    kind_in_words,
    members_of,
    no_such,
    opened_cell,
    read_rows,
    value_of,
)
from overton.studies.parsing import (
    Item,
    ItemProblem,
    Notes,
    ParsedItems,
    Text,
    findings_of,
    kind_of,
    note_repeated,
    read_whole,
)
from overton.untrusted import decode_toml

OpenTable = Callable[[str], Text]
"""A function that opens the table with a name from a mapping. It raises InputError if the table cannot be opened."""

_MAX_SHOWN_PROBLEMS = 100
_AT_LINE = re.compile(r"\(at line (\d+), column \d+\)")
_SOURCE = "the name of a column, {value = ...} for one value in all rows, or {file = true} for the name of the file"


@dataclass(frozen=True)
class MappedField:
    """A key that a mapping fills from a column. It belongs to an item's object, or to an object in one of the item's
    lists.

    kind    'id': a text or a whole number. 'text': unchanged, '' for an empty cell. 'whole': a whole number. 'sum': a
            whole number, or the sum of a list of them. 'count': a whole number, or the length of a list. 'ids': a list
            of ids, or one id. 'counts': an object of whole or decimal numbers, or a column for each of its keys.
            'flag': true or false
    needed  whether a mapping must name the key
    """

    name: str
    kind: Kind = "text"
    needed: bool = False


@dataclass(frozen=True)
class MappedPart:
    """A list of objects within an item. They come from a list in the item's row, from one row per object, or from the
    rows of another table.

    If a member of the list is a text instead of an object, it is the value of the field `plain`.
    """

    name: str
    fields: tuple[MappedField, ...]
    plain: str


class MappedObject(dict[str, Any]):
    """An object made from a row: `file` and `row` locate the row, and `columns` gives the column of each key."""

    def __init__(self, file: str, row: str, columns: Mapping[str, str], values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.file, self.row, self.columns = file, row, columns

    def only(self, *keys: str, **more: Any) -> MappedObject:
        """Copy the object with only those of its keys that are in `keys`, and add `more`. File, row and columns stay
        the same."""
        kept = {key: self[key] for key in keys if key in self}
        return MappedObject(self.file, self.row, self.columns, kept | more)

    def note(self, key: str, reason: str) -> ItemProblem:
        """Note an error about one of the object's keys, naming file, row and column."""
        where = ", ".join(filter(None, (self.row, self.columns.get(key, key))))
        return ItemProblem("error", self.file, where, reason)


@dataclass
class MappingNotes:
    """Errors in the contents of tables, and counts of each kind of oddity and omission."""

    problems: list[ItemProblem] = field(default_factory=list)
    odd: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class ItemMapping(Generic[Item]):
    """The keys that a mapping may have, and the function that makes an item from their values.

    `fields` and `parts` are an item's keys and its lists. `make` turns the values into an object in the study's format.
    To leave an item out, `make` notes the omission and returns None. `read` makes an item from the object, as the
    study's parser does. `noun` is the word for an item, and `docs` the page that describes mappings.
    """

    noun: str
    fields: tuple[MappedField, ...]
    parts: tuple[MappedPart, ...]
    make: Callable[[MappedObject, MappingNotes], MappedObject | None]
    read: Callable[[dict[str, Any], Notes], Item | None]
    docs: str

    def parse(self, mapping: Text, open_table: OpenTable) -> ParsedItems[Item]:
        """The items that a mapping describes, with all errors and warnings about the mapping and its tables."""
        notes = Notes(mapping.name)
        plan = _read_plan(mapping, self, notes)
        if plan is None:
            return ParsedItems([], notes.findings)
        try:
            found = _Reader(self, plan, open_table, mapping.name)
        except InputError as error:
            notes.refused(error)
            return ParsedItems([], notes.findings)
        return found.items()

    def keys(self, mapping: Text) -> set[str]:
        """The item keys that a mapping fills; empty if the mapping cannot be read."""
        tree = _read_tree(mapping, Notes(mapping.name)) or {}
        return {key for key in tree if key not in ("table", "rows")}


# The mapping.


class _Source(NamedTuple):
    """The source of a field's values: a column, the table's file name, one value, or a column for each key of an
    object."""

    column: str = ""
    of_file: bool = False
    value: Any = None
    keys: Mapping[str, str] = {}

    @property
    def columns(self) -> list[str]:
        return [*([self.column] if self.column else []), *self.keys.values()]

    @property
    def shown(self) -> str:
        return ", ".join(self.columns)


@dataclass(frozen=True)
class _PartPlan:
    """The source of a list's objects: a `list` in the item's row, other `tables`, or else the rows of the item's own
    table. `rows` is the key of the rows in a JSON file, and `join` the column with the item's id."""

    part: MappedPart
    sources: Mapping[str, _Source]
    list: str = ""
    tables: tuple[str, ...] = ()
    rows: str = ""
    join: str = ""

    @property
    def of_rows(self) -> bool:
        return not self.list and not self.tables


@dataclass(frozen=True)
class _Plan:
    tables: tuple[str, ...]
    rows: str
    sources: Mapping[str, _Source]
    parts: tuple[_PartPlan, ...]

    @property
    def has_rows_of_parts(self) -> bool:
        return any(part.of_rows for part in self.parts)


def _read_tree(text: Text, notes: Notes) -> dict[str, Any] | None:
    content = read_whole(text, notes)
    if content is None:
        return None
    try:
        return decode_toml(content)
    except Unreadable as error:
        line = _AT_LINE.search(error.reason)
        notes.error(f"line {line[1]}" if line else "", error.reason)
        return None


def _read_plan(text: Text, declared: ItemMapping[Any], notes: Notes) -> _Plan | None:
    """The mapping in a file. If it has errors, they are noted and the result is None."""
    tree = _read_tree(text, notes)
    if tree is None:
        return None
    known = [*(each.name for each in declared.fields), *(part.name for part in declared.parts), "table", "rows"]
    _note_unknown(tree, known, notes)
    sections = {part.name: tree[part.name] for part in declared.parts if part.name in tree}
    tables = _take_tables(tree, notes)
    if not tables and not notes.failed:
        notes.error(
            "table", f"is missing; it names the file with the {declared.noun}s, or a list of files, in the same folder"
        )
    sources = _take_sources(tree, declared.fields, notes)
    parts = [_read_part(part, sections[part.name], notes) for part in declared.parts if part.name in sections]
    plan = _Plan(tables, _take_name(tree, "rows", notes), sources, tuple(part for part in parts if part))
    if any(part.join for part in plan.parts) and "id" not in sources:
        notes.error(
            "id",
            (
                f"is missing; it names the column with a {declared.noun}'s id, so that rows of another table can be"
                " joined"
            ),
        )
    return None if notes.failed else plan


def _read_part(part: MappedPart, section: Any, notes: Notes) -> _PartPlan | None:
    prefix = f"{part.name}."
    if not isinstance(section, dict):
        notes.error(part.name, f"is {kind_of(section)}, not a table [{part.name}] with columns")
        return None
    _note_unknown(section, [*(each.name for each in part.fields), "list", "table", "rows", "join"], notes, prefix)
    tables, listed = _take_tables(section, notes, prefix), _take_name(section, "list", notes, prefix)
    join = _take_name(section, "join", notes, prefix)
    if bool(tables) != bool(join):
        notes.error(
            f"{prefix}join",
            "names the column of the separate table that has the item's id; name both the table and this column",
        )
    if tables and listed:
        notes.error(f"{prefix}list", "cannot be combined with 'table'")
    fields = [each for each in part.fields if not (listed and each.name == part.plain)]
    sources = _take_sources(section, fields, notes, prefix)
    if listed and part.plain in section:
        sources |= _take_sources(section, [each for each in part.fields if each.name == part.plain], notes, prefix)
    return _PartPlan(part, sources, listed, tables, _take_name(section, "rows", notes, prefix), join)


def _note_unknown(data: Mapping[str, Any], known: Sequence[str], notes: Notes, prefix: str = "") -> None:
    for key in data:
        if key not in known:
            hint = suggestion(key, known) or f" ({', '.join(known)})"
            notes.error(prefix + key, f"is not a key of a mapping{hint}")


def _take_name(data: Mapping[str, Any], key: str, notes: Notes, prefix: str = "") -> str:
    value = data.get(key, "")
    if isinstance(value, str):
        return value
    notes.error(prefix + key, f"is {kind_of(value)}, not a text")
    return ""


def _take_tables(data: Mapping[str, Any], notes: Notes, prefix: str = "") -> tuple[str, ...]:
    value = data.get("table", [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        notes.error(f"{prefix}table", "is not the name of a file, or a list of names")
        return ()
    return tuple(dict.fromkeys(names))


def _take_sources(
    data: Mapping[str, Any], fields: Sequence[MappedField], notes: Notes, prefix: str = ""
) -> dict[str, _Source]:
    """The source of each field. Wrong and missing sources are noted."""
    sources: dict[str, _Source] = {}
    for each in fields:
        if each.name not in data:
            if each.needed:
                notes.error(prefix + each.name, f"is missing: {_SOURCE}")
        elif (source := _source(data[each.name], each.kind)) is not None:
            sources[each.name] = source
        else:
            notes.error(prefix + each.name, f"is {kind_of(data[each.name])} that cannot be used; it must be {_SOURCE}")
    return sources


def _source(value: Any, kind: Kind) -> _Source | None:
    """The source that a value in a mapping describes, None if it does not describe a source."""
    if isinstance(value, str) and value:
        return _Source(column=value)
    if not isinstance(value, dict) or not value:
        return None
    if list(value) == ["value"]:
        return _Source(value=value["value"])
    if value == {"file": True}:
        return _Source(of_file=True)
    if kind == "counts" and all(isinstance(column, str) and column for column in value.values()):
        return _Source(keys=value)
    return None


# Items.


class _Reader:
    """A reader of the tables of a mapping, which makes the items."""

    def __init__(self, declared: ItemMapping[Any], plan: _Plan, open_table: OpenTable, name: str) -> None:
        """Read all tables.

        Raises:
            InputError: a table cannot be read, or lacks a column.
        """
        self.declared, self.plan, self.name = declared, plan, name
        self.notes = MappingNotes()
        columns = [column for source in plan.sources.values() for column in source.columns]
        for part in plan.parts:
            columns += [part.list] if part.list else _part_columns(part) if part.of_rows else []
        self.rows = _read_tables(plan.tables, open_table, columns, plan.rows)
        self.joined = {part.part.name: self._join(part, open_table) for part in plan.parts if part.tables}

    def _join(self, part: _PartPlan, open_table: OpenTable) -> dict[str, list[Row]]:
        """The rows of a part's own table, by the id of their item."""
        found: dict[str, list[Row]] = {}
        for row in _read_tables(part.tables, open_table, [part.join, *_part_columns(part)], part.rows):
            if name := self._take(MappedField("id", "id"), _Source(part.join), row):
                found.setdefault(name, []).append(row)
        return found

    def items(self) -> ParsedItems[Any]:
        """The items, with all errors and warnings about them."""
        items: list[Any] = []
        named: list[tuple[str, Notes]] = []
        findings: list[ItemProblem] = []
        groups = self._groups()
        for number, rows in enumerate(groups, 1):
            before = len(self.notes.problems)
            made = self.declared.make(self._object(rows, number), self.notes)
            if made is None or len(self.notes.problems) > before:
                continue
            notes = Notes(rows[0].file, rows[0].place)
            own = Notes("")
            item = self.declared.read(made, own)
            named.append((str(made.get("id", "")), notes))
            findings += [_located(finding, made) for finding in own.findings]
            if item is not None:
                items.append(item)
        note_repeated(named)
        self._note_strangers(groups)
        findings += findings_of([notes for _, notes in named])
        return ParsedItems(items, (*_shortened(self.notes.problems, self.name), *findings, *self._warnings()))

    def _groups(self) -> list[list[Row]]:
        """The rows of each item. If each row is a member of one of the item's lists, rows with the same id belong to
        one item. Without ids, rows with the same values of the item do. If rows are not members of lists, each row is
        an item."""
        if not self.plan.has_rows_of_parts:
            return [[row] for row in self.rows]
        groups: dict[Any, list[Row]] = {}
        for row in self.rows:
            if "id" in self.plan.sources:
                key: Any = self._take(MappedField("id", "id"), self.plan.sources["id"], row)
                if key is None:
                    self._error(row, self.plan.sources["id"].shown, f"is empty; it must name the {self.declared.noun}")
                    continue
            else:
                key = tuple(map(str, self._about(row).values()))
            groups.setdefault(key, []).append(row)
        return list(groups.values())

    def _object(self, rows: Sequence[Row], number: int) -> MappedObject:
        """The object of an item: the fields and lists from its rows."""
        made = self._about(rows[0])
        for row in rows[1:]:
            self._compare(rows[0], row)
        if made.get("id") is None:
            if "id" in self.plan.sources:
                self.notes.problems.append(made.note("id", "is empty"))
            made["id"] = rows[0].key or f"{self.declared.noun}-{number:04d}"
        for part in self.plan.parts:
            made[part.part.name] = [*self._members(part, rows, made["id"])]
        return made

    def _compare(self, first: Row, row: Row) -> None:
        """Note a row whose columns about the item differ from those of the item's first row."""
        usual = self._about(first)
        for name, value in self._about(row).items():
            if value != "" and value != usual.get(name):
                reason = f"differs from {first.place} of the same {self.declared.noun}"
                self._error(row, self.plan.sources[name].shown, reason)

    def _about(self, row: Row) -> MappedObject:
        """The values of the item's own fields in a row."""
        return self._of_row(self.declared.fields, self.plan.sources, row)

    def _members(self, part: _PartPlan, rows: Sequence[Row], name: str) -> Iterator[MappedObject]:
        """The objects of one of an item's lists."""
        if part.list:
            for row in rows:
                yield from self._of_list(part, row)
            return
        if part.tables:
            rows = self.joined[part.part.name].get(name, ())
        yield from (self._of_row(part.part.fields, part.sources, row) for row in rows)

    def _of_list(self, part: _PartPlan, row: Row) -> Iterator[MappedObject]:
        """The objects of a list in a row."""
        try:
            value = opened_cell(cell_of(row.cells, part.list))
        except ValueError as error:
            self._error(row, part.list, str(error))
            return
        members = members_of(value)
        if members is None:
            if value not in (None, ""):
                self._error(row, part.list, f"is {kind_of(value)}, not a list")
            return
        for number, (key, member) in enumerate(members):
            yield from self._of_member(
                part, row._replace(place=f"{row.place}, {part.list}[{key or number}]", key=key), member
            )

    def _of_member(self, part: _PartPlan, row: Row, member: Any) -> Iterator[MappedObject]:
        """The object of a member of a list. A member gives no object if its type differs from the mapping. This is
        noted. `row` is the row that contains the member.
        """
        name, plain = f"{part.part.name}.{part.part.plain}", part.part.plain
        if isinstance(member, str) and plain not in part.sources:
            fixed = {name: source for name, source in part.sources.items() if not source.columns}
            made = self._of_row(part.part.fields, fixed, row)
            yield made.only(*made, **{plain: member} | ({"id": row.key} if row.key else {}))
        elif not isinstance(member, dict):
            wanted = "an object" if plain in part.sources else "a text"
            self._error(row, "", f"is {kind_in_words(member)}, not {wanted}")
        elif plain not in part.sources:
            self._error(row, "", f"is an object; {name} in the mapping says which of its keys is the text")
        elif self._has_columns(part, row._replace(cells=member)):
            made = self._of_row(part.part.fields, part.sources, row._replace(cells=member))
            yield made if made.get("id") or not row.key else made.only(*made, id=row.key)

    def _has_columns(self, part: _PartPlan, row: Row) -> bool:
        """Whether an object in a list has the keys of the needed fields. Missing keys are noted."""
        needed = [part.sources[each.name] for each in part.part.fields if each.needed and each.name in part.sources]
        columns = [column for source in needed for column in source.columns]
        missing = [column for column in columns if not has_column(row.cells, column)]
        for column in missing:
            self._error(row, column, no_such("key", column, row.cells))
        return not missing

    def _of_row(self, fields: Sequence[MappedField], sources: Mapping[str, _Source], row: Row) -> MappedObject:
        kinds = {each.name: each for each in fields}
        columns = {name: source.shown for name, source in sources.items()}
        values = {name: self._take(kinds[name], source, row) for name, source in sources.items()}
        found = {name: value for name, value in values.items() if value is not None}
        return MappedObject(row.file, row.place, columns, found)

    def _raw(self, source: _Source, row: Row) -> Any:
        if source.column:
            return cell_of(row.cells, source.column)
        if source.keys:
            return {word: cell_of(row.cells, column) for word, column in source.keys.items()}
        return row.stem if source.of_file else source.value

    def _take(self, each: MappedField, source: _Source, row: Row) -> Any:
        """The value of a field in a row, None if there is no value. An unusable value is noted and also gives None."""
        try:
            return value_of(each.kind, self._raw(source, row))
        except ValueError as error:
            self._error(row, source.shown, str(error))
            return None

    def _error(self, row: Row, column: str, reason: str) -> None:
        where = ", ".join(filter(None, (row.place, column)))
        self.notes.problems.append(ItemProblem("error", row.file, where, reason))

    def _note_strangers(self, groups: Sequence[Sequence[Row]]) -> None:
        """Count the rows of other tables that belong to no item."""
        if not self.joined:
            return
        known = {self._take(MappedField("id", "id"), self.plan.sources["id"], rows[0]) for rows in groups}
        for name, found in self.joined.items():
            strangers = sum(len(rows) for owner, rows in found.items() if owner not in known)
            self.notes.odd[f"rows of [{name}] left out because no {self.declared.noun} has their id"] += strangers

    def _warnings(self) -> Iterator[ItemProblem]:
        for what, count in self.notes.odd.items():
            if count:
                yield ItemProblem("warning", self.name, "", f"{what}: {count:,}")


def _part_columns(part: _PartPlan) -> list[str]:
    """The columns that a part's fields come from."""
    return [column for source in part.sources.values() for column in source.columns]


def _read_tables(names: Sequence[str], open_table: OpenTable, columns: Sequence[str], under: str) -> list[Row]:
    """The rows of several tables, one after another.

    Raises:
        InputError: a table cannot be read, or lacks a column.
    """
    return [row for name in names for row in read_rows(open_table(name), columns, under)]


_STEP = re.compile(r"\.?([A-Za-z_]+)(?:\[(\d+)\])?")


def _located(finding: ItemProblem, made: MappedObject) -> ItemProblem:
    """Locate a problem that the study's parser found. The parser knows only keys; the result has file, row and
    column."""
    owner, key, end = made, finding.key, 0
    while step := _STEP.match(finding.key, end):
        end = step.end()
        value = owner.get(step[1])
        if step[2] is not None and isinstance(value, list | tuple) and int(step[2]) < len(value):
            value = value[int(step[2])]
        key = step[1]
        if not isinstance(value, MappedObject):
            break
        owner, key = value, ""
    noted = owner.note(key, finding.reason)
    return ItemProblem(finding.severity, noted.place, noted.key, noted.reason)


def _shortened(problems: Sequence[ItemProblem], name: str) -> Iterator[ItemProblem]:
    """The first problems, and the number of further problems. A wrong column causes a problem in every row."""
    different = [*dict.fromkeys(problems)]
    yield from different[:_MAX_SHOWN_PROBLEMS]
    if (more := len(different) - _MAX_SHOWN_PROBLEMS) > 0:
        yield ItemProblem("error", name, "", f"{more:,} more problems like these")
