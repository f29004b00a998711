"""Parsing of opened texts into items, with notes on errors and oddities.

Values are taken from JSON. If a value is not of the expected kind, a note describes the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar, get_args

import msgspec

from overton.errors import InputError, Problem, Unreadable, quoted
from overton.untrusted import decode_json, python_of

if TYPE_CHECKING:
    import polars as pl


Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class ItemProblem:
    """An error or a warning about items. An error prevents a run from starting; a warning does not.

    `place` is the file, and `key` is the location inside the file ('pros[2]', 'line 3, question'), or ''.
    """

    severity: Severity
    place: str
    key: str
    reason: str

    def problem(self) -> Problem:
        """The error or warning as a problem of an InputError."""
        return Problem(self.place, self.key, self.reason)

    def __str__(self) -> str:
        return f"{self.severity}: {self.problem()}"


@dataclass
class Notes:
    """A collector of errors and warnings about one file; `prefix` ('line 3') precedes every key."""

    place: str
    prefix: str = ""
    findings: list[ItemProblem] = field(default_factory=list)

    def error(self, key: str, reason: str) -> None:
        """Note an error, which keeps a run from starting."""
        self._add("error", key, reason)

    def warning(self, key: str, reason: str) -> None:
        """Note a warning, which a person should check."""
        self._add("warning", key, reason)

    def problem(self, problem: Problem) -> None:
        """Note an error with the problem's own file and key."""
        self.findings.append(problem_as_error(problem))

    def refused(self, error: InputError) -> None:
        """Note every problem of an InputError as an error with the problem's own file and key."""
        for problem in error.problems:
            self.problem(problem)

    @property
    def failed(self) -> bool:
        """Whether an error was noted."""
        return any(finding.severity == "error" for finding in self.findings)

    def _add(self, severity: Severity, key: str, reason: str) -> None:
        where = ", ".join(part for part in (self.prefix, key) if part)
        self.findings.append(ItemProblem(severity, self.place, where, reason))


def problem_as_error(problem: Problem) -> ItemProblem:
    """A problem as an error about items."""
    return ItemProblem("error", problem.place, problem.key, problem.reason)


ID_RULE = "may contain only the letters a to z, digits, '-', '_' and '.'"
"""The message about an invalid id."""

_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")
_NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_PART = 150

_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}

# Control characters and lone surrogates break terminals, tables and journals.
_CONTROL_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

T = TypeVar("T")


def kind_of(value: Any) -> str:
    """The kind of a JSON value, in words."""
    return _KINDS.get(type(value), "null")


def unreadable(text: str) -> str | None:
    """The reason why `text` cannot be used as an item's text; None if it is usable."""
    if (match := _CONTROL_CHARACTER.search(text)) is None:
        return None
    return f"contains the control character U+{ord(match[0]):04X} at position {match.start()}; remove it"


def take_text(value: Any, key: str, notes: Notes) -> str | None:
    """Return `value` without surrounding space if it is a usable text that is not blank; otherwise note the error and
    return None."""
    if not isinstance(value, str):
        notes.error(key, f"is {kind_of(value)}, not a text")
        return None
    if (reason := unreadable(value)) is not None:
        notes.error(key, reason)
        return None
    if not value.strip():
        notes.error(key, "is empty")
        return None
    return value.strip()


def take_required(data: dict[str, Any], key: str, notes: Notes, prefix: str = "") -> str | None:
    """Return the text under `key`. If it is missing or unusable, note the error and return None. `prefix` is the
    location of `data`."""
    if key in data:
        return take_text(data[key], prefix + key, notes)
    notes.error(prefix + key, "is missing")
    return None


def take_optional(data: dict[str, Any], key: str, notes: Notes) -> str | None:
    """The text under `key`; None without that key. If the text is unusable, note the error and return None."""
    return None if data.get(key) is None else take_text(data[key], key, notes)


def take_one_of(known: tuple[T, ...], value: Any, key: str, notes: Notes) -> T | None:
    """Return `value` if it is in `known`; otherwise note the error and return None."""
    found = next((option for option in known if option == value), None)
    if found is None:
        allowed = ", ".join(map(str, known))
        found_instead = "missing" if value is None else quoted(value)
        notes.error(key, f"is {found_instead}; it must be one of {allowed}")
    return found


def take_each(
    data: dict[str, Any], key: str, notes: Notes, take: Callable[[Any, int, str], T | None], prefix: str = ""
) -> dict[int, T] | None:
    """Call `take(member, index, place)` for each member of the list under `key`, and return the results by index. None
    if there is no list.

    Members for which `take` returns None are left out.
    """
    members = data.get(key)
    if not isinstance(members, list):
        notes.error(prefix + key, "is missing" if key not in data else f"is {kind_of(members)}, not a list")
        return None
    taken = {index: take(member, index, f"{prefix}{key}[{index}]") for index, member in enumerate(members)}
    return {index: value for index, value in taken.items() if value is not None}


def is_id(text: str) -> bool:
    """Whether `text` can be an item's id. Ids are parts of trial names, tables and file names."""
    return _ID.fullmatch(text) is not None


def id_part(text: str) -> str:
    """`text` as the beginning of an id: '-' replaces characters that an id may not contain. '' if nothing remains."""
    return _NOT_IN_IDS.sub("-", text).strip("-.")[:_LONGEST_PART]


def note_id(name: str, notes: Notes) -> None:
    """Note an invalid id as an error. An empty id is not noted here, because it was already noted as missing."""
    if name and not is_id(name):
        notes.error("id", f"{quoted(name)} {ID_RULE}")


@cache
def _field_names(kind: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def note_unknown(data: dict[str, Any], kind: type[msgspec.Struct], notes: Notes, prefix: str = "") -> None:
    """Note every key of `data` that is not a field of `kind` as an error."""
    known = _field_names(kind)
    tag = kind.__struct_config__.tag_field
    for key in data:
        if key not in known and key != tag:
            notes.error(f"{prefix}{quoted(key)}", f"is not a key of this layout ({', '.join(known)})")


def note_repeated(named: Iterable[tuple[str, Notes]]) -> None:
    """Note every repetition of an id as an error."""
    first: dict[str, Notes] = {}
    for name, notes in named:
        earlier = first.setdefault(name, notes)
        if name and earlier is not notes:
            places = (earlier.place if earlier.place != notes.place else "", earlier.prefix)
            notes.error("id", f"{quoted(name)} is already used in {', '.join(filter(None, places))}")


@cache
def plain_field(kind: type[msgspec.Struct]) -> str:
    """The key for a text that replaces a whole object of `kind`. It is the only required field besides the id. '' if
    `kind` has several such fields, or if the field is not a text."""
    needed = [field for field in msgspec.structs.fields(kind) if field.required and field.encode_name != "id"]
    return needed[0].encode_name if len(needed) == 1 and needed[0].type is str else ""


@cache
def _member_kinds(kind: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct]]:
    """The keys of an item that contain lists of objects with an id, and the type of these objects."""
    listed = {field.encode_name: next(iter(get_args(field.type)), None) for field in msgspec.structs.fields(kind)}
    return {
        key: member
        for key, member in listed.items()
        if isinstance(member, type) and issubclass(member, msgspec.Struct) and "id" in member.__struct_fields__
    }


def add_member_ids(data: dict[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """An item's object in which list members without an id get a numbered one: 'pro-1' for the first of `pros`."""
    for key, member_kind in _member_kinds(kind).items():
        members = data.get(key)
        if isinstance(members, list):
            stem = key.removesuffix("s")
            data = {**data, key: [_with_id(value, member_kind, f"{stem}-{n}") for n, value in enumerate(members, 1)]}
    return data


def _with_id(value: Any, kind: type[msgspec.Struct], name: str) -> Any:
    if isinstance(value, dict):
        return {"id": name, **value}
    plain = plain_field(kind)
    is_usable = isinstance(value, str) and value.strip() and unreadable(value) is None
    return {"id": name, plain: value} if plain and is_usable else value  # parsers report other values


MAX_DEPTH = 32
"""The largest depth of nesting in JSON that Overton reads."""

_MAX_ITEMS = 100_000
"""The largest number of items, one per line, that Overton reads."""

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|([\[{])|([\]}])', re.DOTALL)
_OPENING_LINE = re.compile(r'\[(\s*\{.*)?|\{(.*,|\s*"[^"]*"\s*:\s*[\[{])?', re.DOTALL)
_WRONG_KIND = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<given>[^`]+)`")
_TYPE_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_PROBLEM_WORDS = {
    r"Invalid enum value (.+)": "is {}, none of the values that it may have",
    r"Expected `(?:int|float)` >= (.+)": "is less than {}",
    r"Expected `(?:int|float)` <= (.+)": "is more than {}",
    r"Object missing required field `(.+)`": "lacks the key '{}'",
    r"Object contains unknown field `(.+)`": "contains the key '{}', which is not one of this layout",
}
_REASON_AND_PLACE = re.compile(r"(?P<reason>.*) - at (?:`key` in )?`\$(?P<place>.*)`", re.DOTALL)

Item = TypeVar("Item", bound=msgspec.Struct)


class Grid(NamedTuple):
    """The cells of a table as texts. `rows` are the rows that are not blank, each with its number from 1.

    `noun` is the word for a row ('line' in a CSV, 'row' in a spreadsheet). `others` are the ignored sheets of a
    spreadsheet.
    """

    rows: Sequence[tuple[int, list[str]]]
    noun: str
    others: tuple[str, ...] = ()


class Text(Protocol):
    """A file that a study reads. It is limited in size, and decoded while it is read."""

    @property
    def name(self) -> str:
        """The file's name in problems: its path."""
        ...

    @property
    def stem(self) -> str:
        """The file's name without its suffix."""
        ...

    @property
    def suffix(self) -> str:
        """The suffix of the file's name, with its dot."""
        ...

    @property
    def in_folder(self) -> bool:
        """Whether the user named the file's folder, and not the file itself."""
        ...

    def read(self) -> str:
        """Return the whole text.

        Raises:
            InputError: the file cannot be read, is too large, or is not UTF-8.
        """
        ...

    def lines(self) -> Iterator[tuple[int, str | Problem]]:
        """The lines that are not blank, with their numbers from 1, and a problem for each line that cannot be used."""
        ...

    def grid(self) -> Grid:
        """All cells of a .csv or .xlsx file, in which column names may occur more than once.

        Raises:
            InputError: the file is neither, or cannot be read.
        """
        ...

    def columns(self) -> list[str]:
        """The columns of the table in the file, without reading all of it.

        Raises:
            InputError: the file is not a table, that is, a .parquet, .csv, .jsonl or .xlsx file.
        """
        ...

    def table(self) -> pl.DataFrame:
        """The table in the file. Every column of a CSV file or a spreadsheet contains text, and an empty cell is null.

        Raises:
            InputError: the file is not a table, or cannot be read.
        """
        ...


@dataclass(frozen=True)
class ParsedItems(Generic[Item]):
    """The items in texts, and all errors and warnings about them."""

    items: Sequence[Item]
    findings: Sequence[ItemProblem] = ()


Parse = Callable[[Sequence[Text], Any], ParsedItems[Item]]
"""`parse(texts, reading)` gives the items in texts. `reading` is an instance of `Items.reading`."""

Check = Callable[[Item, Notes], None]
"""`check(item, notes)` notes errors and oddities of an item that could be read."""


class ObjectLine(NamedTuple):
    """The object of one line (None if the line is not an object), and the notes on it."""

    data: dict[str, Any] | None
    notes: Notes


def findings_of(notes: Sequence[Notes]) -> tuple[ItemProblem, ...]:
    """All errors and warnings, in order."""
    return tuple(finding for noted in notes for finding in noted.findings)


def read_whole(text: Text, notes: Notes) -> str | None:
    """Read a whole text; if it cannot be read, note the error and return None."""
    try:
        return text.read()
    except InputError as error:
        notes.refused(error)
        return None


def read_json(text: str, notes: Notes) -> dict[str, Any] | None:
    """Read the JSON object in `text`. If `text` is not an object, or nested too deeply, note the error and return
    None."""
    value = read_value(text, notes)
    if isinstance(value, dict):
        return value
    if not notes.failed:
        notes.error("", f"contains {kind_of(value)}, not a JSON object")
    return None


def read_value(text: str, notes: Notes) -> Any:
    """Read the JSON value in `text`. If `text` is not JSON, or nested too deeply, note the error and return None."""
    if _depth(text) > MAX_DEPTH:
        notes.error("", f"is nested more than {MAX_DEPTH} levels deep")
        return None
    repeated: list[str] = []
    try:
        value = python_of(
            text, object_pairs_hook=lambda pairs: _object(pairs, repeated), parse_constant=_refuse_constant
        )
    except Unreadable as error:
        line = "" if notes.prefix else f"line {error.line}, "
        notes.error(f"{line}column {error.column}" if error.line else "", error.reason)
        return None
    for key in repeated:
        notes.error(quoted(key), "this key occurs twice in one object; only one of the two values would be read")
    return value


def object_lines(texts: Sequence[Text], *, noun: str = "line", most: int = _MAX_ITEMS) -> Iterator[ObjectLine]:
    """Read every line of the texts as a JSON object, and note all other lines as errors. `noun` is the word for an
    object.

    A text may also be one JSON value over several lines, as editors and `indent=2` write it. The first line of such a
    text opens a list, or opens an object without closing it. The result is then the one object, or every object in the
    list.
    """
    count = 0
    for text in texts:
        for data, notes in _objects_in(text):
            count += data is not None
            if count > most:
                notes.error("", f"exceeds the limit of {most:,} {noun}s")
                yield ObjectLine(None, notes)
                return
            yield ObjectLine(data, notes)


def _objects_in(text: Text) -> Iterator[ObjectLine]:
    for place, (number, line) in enumerate(text.lines()):
        if place == 0 and isinstance(line, str) and _is_continued(line):
            yield from _objects_over_lines(text)
            return
        notes = Notes(text.name, f"line {number}")
        if isinstance(line, Problem):
            notes.problem(line)
            yield ObjectLine(None, notes)
        else:
            yield ObjectLine(read_json(line, notes), notes)


def _is_continued(line: str) -> bool:
    """Whether a line is the first of a list, or of a JSON object over several lines."""
    return _OPENING_LINE.fullmatch(line.strip()) is not None


def _objects_over_lines(text: Text) -> Iterator[ObjectLine]:
    """The object in a whole text, or the objects of its list."""
    notes = Notes(text.name)
    content = read_whole(text, notes)
    value = None if content is None else read_value(content, notes)
    if notes.failed or not isinstance(value, list):
        yield _object_line(None if notes.failed else value, notes)
        return
    if not value:
        notes.error("", "contains an empty list")
        yield ObjectLine(None, notes)
    for number, member in enumerate(value, 1):
        yield _object_line(member, Notes(text.name, f"object {number}"))


def _object_line(value: Any, notes: Notes) -> ObjectLine:
    if not isinstance(value, dict) and not notes.failed:
        notes.error("", f"contains {kind_of(value)}, not a JSON object")
    return ObjectLine(value if isinstance(value, dict) else None, notes)


def each_line(read: Callable[[dict[str, Any], Notes], Item | None]) -> Parse[Item]:
    """The parser of items that come one per line, with unique ids.

    `read` makes an item from a line's object. If that is not possible, `read` notes the reason and returns None.
    """

    def parse(texts: Sequence[Text], reading: Any) -> ParsedItems[Item]:
        notes: list[Notes] = []
        items: list[Item] = []
        named: list[tuple[str, Notes]] = []
        for data, noted in object_lines(texts):
            notes.append(noted)
            if data is None:
                continue
            named.append((str(data.get("id", "")), noted))
            if (item := read(data, noted)) is not None:
                items.append(item)
        note_repeated(named)
        return ParsedItems(items, findings_of(notes))

    return parse


def json_lines(kind: type[Item], check: Check[Item] | None = None) -> Parse[Item]:
    """The parser of items that come one per line, as JSON that is strictly converted to the struct `kind`.

    Keys other than the fields of `kind` are errors, and every item needs a valid, unique id. `check` notes further
    problems.
    """

    def read(data: dict[str, Any], notes: Notes) -> Item | None:
        item = _convert_item(data, kind, notes)
        if item is not None and check is not None:
            check(item, notes)
        return item

    return each_line(read)


def _convert_item(data: dict[str, Any], kind: type[Item], notes: Notes) -> Item | None:
    """Convert each field of an item by itself, so that the notes name every wrong field."""
    data = add_member_ids(data, kind)
    note_unknown(data, kind, notes)
    for member in msgspec.structs.fields(kind):
        if member.encode_name in data:
            _convert_value(data[member.encode_name], member.type, member.encode_name, notes)
        elif member.required:
            notes.error(member.encode_name, "is missing")
    if isinstance(name := data.get("id"), str):
        note_id(name, notes)
        if not name:
            notes.error("id", "is empty")
    return None if notes.failed else _convert_value(data, kind, "", notes)


def _convert_value(value: Any, kind: Any, key: str, notes: Notes) -> Any:
    """`value` converted to `kind`. If that is not possible, note the error and return None."""
    try:
        # Encoding finds text that UTF-8 cannot represent.
        return decode_json(msgspec.json.encode(value), _decoder(kind))
    except InputError as error:
        notes.refused(error)
    except UnicodeEncodeError:
        notes.error(key, "contains half of a surrogate pair, which is not a character")
    except OverflowError:
        notes.error(key, "contains a number that is too large")
    except Unreadable as error:
        placed = _REASON_AND_PLACE.fullmatch(error.reason)
        reason, place = placed.group("reason", "place") if placed else (error.reason, "")
        notes.error(f"{key}{place}", _reword_reason(reason))
    return None


def _reword_reason(reason: str) -> str:
    """The decoder's reason for refusing a value, in the words of Overton's own checks."""
    if wrong := _WRONG_KIND.fullmatch(reason):
        wanted = " or ".join(_TYPE_WORDS.get(kind, kind) for kind in wrong["wanted"].split(" | "))
        return f"is {_TYPE_WORDS.get(wrong['given'], wrong['given'])}, not {wanted}"
    for pattern, said in _PROBLEM_WORDS.items():
        if match := re.fullmatch(pattern, reason):
            return said.format(*match.groups())
    return f"cannot be used: {reason[:1].lower()}{reason[1:]}"


@cache
def _decoder(kind: Any) -> Callable[[Any], Any]:
    return msgspec.json.Decoder(kind).decode


def _depth(text: str) -> int:
    depth = deepest = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        depth += bool(match[1]) - bool(match[2])
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]], repeated: list[str]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        repeated += [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")
