"""From opened texts to items: what a study is given to read, JSON with limits, and the reader of items line by line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from overton.errors import InputError, Problem, Unreadable, quoted
from overton.studies.noting import Finding, Notes, found, kind_of, note_id, note_repeated, note_unknown
from overton.untrusted import decode_json, python_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Parse", "Parsed", "Text", "findings_of", "json_lines", "object_lines", "read_json", "read_whole"]

MAX_DEPTH = 32
"""JSON is nested no deeper than this."""

_MOST_LINES = 100_000
"""The most items, one per line, that are read."""

_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|([\[{])|([\]}])', re.DOTALL)
_LAID_OUT = re.compile(r'\[(\s*\{.*)?|\{(.*,|\s*"[^"]*"\s*:\s*[\[{])?', re.DOTALL)
_WRONG_KIND = re.compile(r"Expected `(?P<wanted>[^`]+)`, got `(?P<given>[^`]+)`")
_WORDS = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_SAID = {
    r"Invalid enum value (.+)": "is {}, none of the values that it may have",
    r"Expected `(?:int|float)` >= (.+)": "is less than {}",
    r"Expected `(?:int|float)` <= (.+)": "is more than {}",
    r"Object missing required field `(.+)`": "lacks the key '{}'",
    r"Object contains unknown field `(.+)`": "contains the key '{}', which is not one of this layout",
}
_PLACED = re.compile(r"(?P<reason>.*) - at (?:`key` in )?`\$(?P<place>.*)`", re.DOTALL)

Item = TypeVar("Item", bound=msgspec.Struct)


class Text(Protocol):
    """A file as a study sees it: bounded, and decoded as it is read."""

    @property
    def name(self) -> str:
        """What problems call it: its path."""
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
        """Whether it was found in the folder that was named, rather than named itself."""
        ...

    def read(self) -> str:
        """All of it.

        Raises:
            InputError: it cannot be read, is too large, or is not UTF-8.
        """
        ...

    def lines(self) -> Iterator[tuple[int, str | Problem]]:
        """Its lines that are not blank, with their numbers from 1; a problem for one that cannot be used."""
        ...

    def columns(self) -> list[str]:
        """The columns of the table in the file, without reading all of it.

        Raises:
            InputError: it is no table: a .parquet, .csv or .jsonl file.
        """
        ...

    def table(self) -> pl.DataFrame:
        """The table in the file; every column of a CSV is text, an empty cell null.

        Raises:
            InputError: it is no table, or cannot be read.
        """
        ...


@dataclass(frozen=True)
class Parsed(Generic[Item]):
    """The items in texts, and everything wrong or odd about them."""

    items: Sequence[Item]
    findings: Sequence[Finding] = ()


Parse = Callable[[Sequence[Text], Any], Parsed[Item]]
"""`parse(texts, reading)` gives the items in texts, `reading` being an instance of `Items.reading`."""

Check = Callable[[Item, Notes], None]
"""`check(item, notes)` notes what is wrong or odd about an item that could be read."""


class ObjectLine(NamedTuple):
    """One line's object, None if it is not one, and the notes on it."""

    data: dict[str, Any] | None
    notes: Notes


def findings_of(notes: Sequence[Notes]) -> tuple[Finding, ...]:
    """All findings, in order."""
    return tuple(finding for noted in notes for finding in noted.findings)


def read_whole(text: Text, notes: Notes) -> str | None:
    """All of a text; None, with a note, if it cannot be read."""
    try:
        return text.read()
    except InputError as error:
        notes.findings += [found(problem) for problem in error.problems]
        return None


def read_json(text: str, notes: Notes) -> dict[str, Any] | None:
    """The JSON object in `text`; None, with a note, if it is not one, or is nested too deeply."""
    value = _value(text, notes)
    if isinstance(value, dict):
        return value
    if not notes.failed:
        notes.error("", f"contains {kind_of(value)}, not a JSON object")
    return None


def _value(text: str, notes: Notes) -> Any:
    """The JSON value in `text`; None, with a note, if it is not one, or is nested too deeply."""
    if _depth(text) > MAX_DEPTH:
        notes.error("", f"is nested more than {MAX_DEPTH} levels deep")
        return None
    repeated: list[str] = []
    try:
        value = python_of(text, object_pairs_hook=lambda pairs: _object(pairs, repeated), parse_constant=_no_constant)
    except Unreadable as error:
        line = "" if notes.prefix else f"line {error.line}, "
        notes.error(f"{line}column {error.column}" if error.line else "", error.reason)
        return None
    for key in repeated:
        notes.error(quoted(key), "this key occurs twice in one object; only one of them would be read")
    return value


def object_lines(texts: Sequence[Text], *, noun: str = "line", most: int = _MOST_LINES) -> Iterator[ObjectLine]:
    """Every line of the texts as a JSON object; lines that are none are noted. `noun` is what an object is called.

    A text whose first line opens an object and leaves it open, or opens a list, is one JSON value over several lines,
    as editors and `indent=2` write it: it yields that object, or the objects of that list.
    """
    count = 0
    for text in texts:
        for data, notes in _objects_in(text):
            count += data is not None
            if count > most:
                notes.error("", f"is one {noun} more than {most:,}")
                yield ObjectLine(None, notes)
                return
            yield ObjectLine(data, notes)


def _objects_in(text: Text) -> Iterator[ObjectLine]:
    for place, (number, line) in enumerate(text.lines()):
        if place == 0 and isinstance(line, str) and _goes_on(line):
            yield from _over_lines(text)
            return
        notes = Notes(text.name, f"line {number}")
        if isinstance(line, Problem):
            notes.problem(line)
            yield ObjectLine(None, notes)
        else:
            yield ObjectLine(read_json(line, notes), notes)


def _goes_on(line: str) -> bool:
    """Whether a line is the first of a JSON value that is laid out over several lines, or a list."""
    return _LAID_OUT.fullmatch(line.strip()) is not None


def _over_lines(text: Text) -> Iterator[ObjectLine]:
    """The object that a whole text is, or those of its list."""
    notes = Notes(text.name)
    content = read_whole(text, notes)
    value = None if content is None else _value(content, notes)
    if notes.failed or not isinstance(value, list):
        yield _object_line(None if notes.failed else value, notes)
        return
    if not value:
        notes.error("", "contains an empty list")
        yield ObjectLine(None, notes)
    for number, one in enumerate(value, 1):
        yield _object_line(one, Notes(text.name, f"object {number}"))


def _object_line(value: Any, notes: Notes) -> ObjectLine:
    if not isinstance(value, dict) and not notes.failed:
        notes.error("", f"contains {kind_of(value)}, not a JSON object")
    return ObjectLine(value if isinstance(value, dict) else None, notes)


def json_lines(kind: type[Item], check: Check[Item] | None = None) -> Parse[Item]:
    """The reader of items that come one per line, as JSON of the struct `kind`, strictly converted.

    Keys that are no field of it are refused; ids must be present, usable and unique. `check` notes what else is wrong.
    """

    def parse(texts: Sequence[Text], reading: Any) -> Parsed[Item]:
        notes: list[Notes] = []
        items: list[Item] = []
        named: list[tuple[str, Notes]] = []
        for data, noted in object_lines(texts):
            notes.append(noted)
            if data is None:
                continue
            named.append((str(data.get("id", "")), noted))
            if (item := _converted(data, kind, noted)) is not None:
                items.append(item)
                if check is not None:
                    check(item, noted)
        note_repeated(named)
        return Parsed(items, findings_of(notes))

    return parse


def _converted(data: dict[str, Any], kind: type[Item], notes: Notes) -> Item | None:
    """The item, with each field converted by itself, so that every wrong one is named."""
    note_unknown(data, kind, notes)
    for field in msgspec.structs.fields(kind):
        if field.encode_name in data:
            _note_wrong(data[field.encode_name], field.type, field.encode_name, notes)
        elif field.required:
            notes.error(field.encode_name, "is missing")
    if isinstance(name := data.get("id"), str):
        note_id(name, notes)
        if not name:
            notes.error("id", "is empty")
    return None if notes.failed else _note_wrong(data, kind, "", notes)


def _note_wrong(value: Any, kind: Any, key: str, notes: Notes) -> Any:
    """`value` as a `kind`; None, noted, if it cannot be one."""
    try:
        # Text that UTF-8 cannot represent is found by encoding it.
        return decode_json(msgspec.json.encode(value), _decoder(kind))
    except InputError as error:
        notes.findings += [found(problem) for problem in error.problems]
    except UnicodeEncodeError:
        notes.error(key, "contains half of a surrogate pair, which is no character")
    except OverflowError:
        notes.error(key, "contains a number that is too large")
    except Unreadable as error:
        placed = _PLACED.fullmatch(error.reason)
        reason, place = placed.group("reason", "place") if placed else (error.reason, "")
        notes.error(f"{key}{place}", _plainly(reason))
    return None


def _plainly(reason: str) -> str:
    """What the decoder says about a wrong value, in the words of our own checks."""
    if wrong := _WRONG_KIND.fullmatch(reason):
        wanted = " or ".join(_WORDS.get(one, one) for one in wrong["wanted"].split(" | "))
        return f"is {_WORDS.get(wrong['given'], wrong['given'])}, not {wanted}"
    for pattern, said in _SAID.items():
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


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")
