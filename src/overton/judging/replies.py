"""Parsing of free text: one of a few labels, or JSON of a given kind, repaired if needed. Each value records how it was
read."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast, overload

import msgspec

from overton.errors import Unreadable
from overton.untrusted import converted, python_of

T = TypeVar("T")

How = Literal["as is", "repaired", "invalid"]


@dataclass(frozen=True)
class Reading(Generic[T]):
    """A value read from a text.

    `how` is 'as is' if the text was exactly in the requested format. It is 'repaired' if the text had another format
    but a clear value. It is 'invalid' if there is no value. `value` is then None, and `problem` is the reason, in words
    that can be sent back to the model. If both `value` and `problem` are given, the value is usable but incomplete.
    `dropped` counts entries that were ignored, because they name unknown things or repeat an earlier entry.
    """

    value: T | None
    how: How
    problem: str = ""
    dropped: int = 0

    @property
    def repaired(self) -> bool:
        """Whether the text was not in the requested format."""
        return self.how == "repaired"

    @classmethod
    def invalid(cls, problem: str) -> Reading[T]:
        """A `Reading` without a value, for this reason."""
        return cls(None, "invalid", problem)


def read_choice(text: str, choices: Sequence[str]) -> Reading[str]:
    """The one of `choices` that `text` names.

    The choice is read 'as is' if it is the whole text, spelled exactly. It is 'repaired' if exactly one of the choices
    occurs in the text as whole words, in upper or lower case. A choice that contains another ('not fair', 'fair') is
    matched first. A text with none of the choices, or with two, is invalid.
    """
    alone = text.strip()
    if alone in choices:
        return Reading(alone, "as is")
    named = _choices_in(text, choices)
    if len(named) == 1:
        return Reading(named[0], "repaired")
    if named:
        return Reading.invalid(f"it names {len(named)} of the choices: {', '.join(named)}")
    return Reading.invalid(f"it names none of the choices: {', '.join(choices)}")


def read_bracketed_label(text: str, labels: Sequence[str]) -> Reading[str]:
    """The element of `labels` that `text` names.

    The label is the whole text, or is in brackets at the beginning, or is the only label in brackets. Other words are
    ignored: 'A good answer' does not name the label 'A'. A text that names no label, or several, is invalid.
    """
    label = "|".join(map(re.escape, labels))
    if found := re.fullmatch(rf"\W*({label})\W*", text) or re.match(rf"\s*\(({label})\)", text):
        return Reading(found[1], "as is")
    named = sorted(set(re.findall(rf"\(({label})\)", text)))
    if len(named) == 1:
        return Reading(named[0], "repaired")
    return Reading.invalid(f"it names {len(named)} options" if named else "it names no option")


def _choices_in(text: str, choices: Sequence[str]) -> list[str]:
    """The choices that occur, in the given order."""
    by_length = sorted(choices, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, by_length))})(?!\w)", re.IGNORECASE)
    found = {match.casefold() for match in pattern.findall(text)} if choices else set()
    return [choice for choice in choices if choice.casefold() in found]


MAX_CHARACTERS = 200_000
"""Longer texts are not read."""

MAX_DEPTH = 32
"""Values nested deeper are not read."""

# The maximum number of opening brackets in a text that are tried as the start of its JSON.
_MAX_STARTS = 64

_MAX_TRIED = 2 * MAX_CHARACTERS
"""The maximum number of characters that are tried in total, because nested parts are tried again."""

# An unclosed string extends to the end of the text, so that these patterns never try a part of the text twice.
_DOUBLE = r"\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)"
_STRING = rf"{_DOUBLE}|'(?:[^'\\]|\\.)*+(?:'|\\?\Z)"
_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_TOKEN = re.compile(rf"({_STRING})|([\[{{(])|([\]}})])", re.DOTALL)
_TRAILING_COMMA = re.compile(rf"({_DOUBLE})|,(?=\s*[\]}}])", re.DOTALL)
_JSON_WORD = re.compile(rf"({_STRING})|\b(true|false|null)\b", re.DOTALL)
_AS_PYTHON = {"true": "True", "false": "False", "null": "None"}


@overload
def parse_json(text: str) -> Reading[Any]: ...
@overload
def parse_json(text: str, kind: type[T]) -> Reading[T]: ...
def parse_json(text: str, kind: Any = Any) -> Reading[Any]:
    """The JSON value in `text`, as `kind` (a msgspec struct or any type that msgspec converts to).

    The value is read 'as is' if the whole text is JSON of that kind. Otherwise these repairs are tried: the contents of
    code fences, JSON surrounded by other words, line breaks inside strings, trailing commas, and Python's literals.
    Literals (single quotes, True, None) are read by `ast.literal_eval`, never by eval. A text with two different values
    of the kind is invalid, because the writer may mean either. Never raises, whatever the text.
    """
    if len(text) > MAX_CHARACTERS:
        return Reading.invalid(f"it is longer than {MAX_CHARACTERS:,} characters")
    exact = _decode_as(_decode_strict, text.strip(), kind)
    if exact.how != "invalid":
        return exact
    values, problem = _find_values(text, kind)
    if len(values) == 1:
        return Reading(values[0], "repaired")
    if values:
        return Reading.invalid("it holds more than one answer, and they differ")
    return Reading.invalid(problem or exact.problem)


def _find_values(text: str, kind: Any) -> tuple[list[Any], str]:
    """The different values of `kind` in code fences. If code fences contain no such value, the values anywhere in the
    text. Also the problem of the first candidate that is not such a value, or ''."""
    values: list[Any] = []
    problem = ""
    for sources in (_FENCE.findall(text), [text]):
        for source in sources:
            found, first = _values_in(source, kind)
            for value in found:
                if value not in values:
                    values.append(value)
            problem = problem or first
        if values:
            break
    return values, problem


def _values_in(source: str, kind: Any) -> tuple[list[Any], str]:
    """The values in `source` from left to right, and the first problem. A part that is not a value is searched for
    values inside it."""
    values, problem, start, tried = [], "", 0, 0
    for _ in range(_MAX_STARTS):
        match = _OPENING.search(source, start)
        if match is None or tried > _MAX_TRIED:
            break
        start, end = match.end(), _find_closing(source, match.start())
        if end is None:
            continue
        tried += end - match.start()
        reading = _repair(source[match.start() : end], kind)
        if reading.how == "invalid":
            problem = problem or reading.problem
        else:
            values.append(reading.value)
            start = end
    return values, problem


def _find_closing(text: str, start: int) -> int | None:
    """The index after the bracket that closes the one at `start`, ignoring strings. None if it does not close, or
    nesting is too deep."""
    depth = 0
    for match in _TOKEN.finditer(text, start):
        depth += bool(match[2]) - bool(match[3])
        if depth > MAX_DEPTH:
            return None
        if depth == 0:
            return match.end()
    return None


def _repair(candidate: str, kind: Any) -> Reading[Any]:
    first = _decode_as(_decode_strict, candidate, kind)
    if first.how != "invalid":
        return first
    for decode in (_decode_loose, _decode_python):
        reading = _decode_as(decode, candidate, kind)
        if reading.how != "invalid":
            return reading
    return first


def _decode_as(decode: Callable[[str], Any], text: str, kind: Any) -> Reading[Any]:
    try:
        value = _check_plain(decode(text), MAX_DEPTH)
    except (Unreadable, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return Reading.invalid("it is not valid JSON")
    try:
        return Reading(cast(Any, converted(value, kind)), "as is")
    except Unreadable as error:
        return Reading.invalid(f"its JSON is not of the form asked for: {error.reason}")


def _decode_strict(text: str) -> Any:
    return python_of(text, object_pairs_hook=_reject_duplicates)


def _decode_loose(text: str) -> Any:
    without = _TRAILING_COMMA.sub(lambda match: match[1] or "", text)
    return python_of(without, strict=False, object_pairs_hook=_reject_duplicates)


def _decode_python(text: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unknown escapes, because the text is not our code
        tree = _parse_expression(_JSON_WORD.sub(lambda match: match[1] or _AS_PYTHON[match[2]], text))
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(set(keys)) < len(keys):
                raise ValueError("a key occurs twice")
    return ast.literal_eval(tree)


def _parse_expression(text: str) -> ast.Expression:
    """The tree of a Python expression.

    Python up to 3.11.8 may raise a `SystemError` if something else is parsed meanwhile (gh-106905). The function then
    tries once more.
    """
    try:
        return ast.parse(text, mode="eval")
    except SystemError:
        return ast.parse(text, mode="eval")


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object. Raise a ValueError if a key occurs twice in it with different values."""
    value: dict[str, Any] = {}
    for key, inner in pairs:
        if value.setdefault(key, inner) != inner:
            raise ValueError(key)
    return value


def _check_plain(value: Any, depth: int) -> Any:
    """Return `value` if it consists of JSON values that a table can store; tuples become lists.

    Raises:
        ValueError, TypeError: it contains anything else, or is nested too deeply.
    """
    if isinstance(value, str):
        value.encode()
        return value
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("not a finite number")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("a number that no table can store")
    if value is None or isinstance(value, bool | int | float):
        return value
    if depth == 0:
        raise ValueError("too deep")
    if isinstance(value, list | tuple):
        return [_check_plain(inner, depth - 1) for inner in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {_check_plain(key, 0): _check_plain(inner, depth - 1) for key, inner in value.items()}
    raise TypeError("not a JSON value")


Schema = dict[str, Any]

_KEY_ORDER = ("type", "properties", "required", "additionalProperties", "items", "enum", "minItems", "maxItems")
_TOLD_ELSEWHERE = ("title", "description", "default")


def with_schema(**keywords: Any) -> msgspec.Meta:
    """JSON schema keywords of a field in addition to its type. They are part of the requested format, but are not
    checked when a reply is read.

    For example, `Annotated[str, with_schema(enum=LABELS)]` requests one of `LABELS`. If a reply has another word, the
    study decides what to do. It may read 'Critical' as 'critical', or ask again.
    """
    plain = {key: list(value) if isinstance(value, tuple) else value for key, value in keywords.items()}
    return msgspec.Meta(extra_json_schema=plain)


def schema_of(kind: Any, *, only: Sequence[str] = ()) -> Schema:
    """The JSON schema of a struct or a list of structs, as endpoints and grammars need it: without references, and
    without additional keys.

    The schema requires all fields, even those with a default. (Replies that lack a field with a default can still be
    read.) With `only`, the schema has only the named fields. Fields are in the struct's order, because models write
    them in this order. No struct may contain itself.
    """
    (schema,), components = msgspec.json.schema_components([kind])
    closed = _close_schema(schema, components)
    if not only:
        return closed
    return object_schema(**{name: schema for name, schema in closed["properties"].items() if name in only})


def object_schema(**properties: Schema) -> Schema:
    """An object with exactly these keys in this order, each with its schema."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(items: Schema, least: int | None = None, most: int | None = None) -> Schema:
    """A list of `least` to `most` members, None for no bound."""
    bounds = {"minItems": least, "maxItems": most}
    return {"type": "array", "items": items} | {key: bound for key, bound in bounds.items() if bound is not None}


def _close_schema(schema: Schema, components: dict[str, Schema]) -> Schema:
    if "$ref" in schema:
        return _close_schema(components[schema["$ref"].rpartition("/")[2]], components)
    if "properties" in schema:
        return object_schema(**{name: _close_schema(part, components) for name, part in schema["properties"].items()})
    ordered = sorted(schema, key=lambda key: _KEY_ORDER.index(key) if key in _KEY_ORDER else len(_KEY_ORDER))
    kept = {key: schema[key] for key in ordered if key not in _TOLD_ELSEWHERE}
    return kept | {"items": _close_schema(kept["items"], components)} if "items" in kept else kept
