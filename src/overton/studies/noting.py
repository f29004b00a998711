"""What was found wrong or odd while reading, and where.

Values are taken from JSON: each is of the expected kind, or a note says what is wrong with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeVar

import msgspec

from overton.errors import Problem, quoted

__all__ = [
    "ID_RULE",
    "Finding",
    "Notes",
    "found",
    "is_id",
    "kind_of",
    "note_id",
    "note_repeated",
    "note_unknown",
    "take_each",
    "take_one_of",
    "take_optional",
    "take_required",
    "take_text",
    "unreadable",
]

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """Something wrong or odd about items: an error keeps a run from starting, a warning does not.

    `place` is the file, `key` what inside it ('pros[2]', 'line 3, question'), or ''.
    """

    severity: Severity
    place: str
    key: str
    reason: str

    def problem(self) -> Problem:
        """The same as a problem of an InputError."""
        return Problem(self.place, self.key, self.reason)

    def __str__(self) -> str:
        return f"{self.severity}: {self.problem()}"


@dataclass
class Notes:
    """Collects findings about one place; `prefix` ('line 3') precedes every key."""

    place: str
    prefix: str = ""
    findings: list[Finding] = field(default_factory=list)

    def error(self, key: str, reason: str) -> None:
        """Note what keeps a run from starting."""
        self._add("error", key, reason)

    def warning(self, key: str, reason: str) -> None:
        """Note what a person should look at."""
        self._add("warning", key, reason)

    def problem(self, problem: Problem) -> None:
        """Note a problem with the place and key that it has."""
        self.findings.append(found(problem))

    @property
    def failed(self) -> bool:
        """Whether an error was noted."""
        return any(finding.severity == "error" for finding in self.findings)

    def _add(self, severity: Severity, key: str, reason: str) -> None:
        where = ", ".join(part for part in (self.prefix, key) if part)
        self.findings.append(Finding(severity, self.place, where, reason))


def found(problem: Problem) -> Finding:
    """A problem as the finding of an error."""
    return Finding("error", problem.place, problem.key, problem.reason)


ID_RULE = "may contain the letters a to z, digits, '-', '_' and '.' only"
"""What is said of an id that is not valid."""

_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")

_KINDS = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "an object",
}

# What no item text needs, and what terminals, tables or journals cannot take.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

T = TypeVar("T")


def kind_of(value: Any) -> str:
    """What a JSON value is, in words."""
    return _KINDS.get(type(value), "null")


def unreadable(text: str) -> str | None:
    """Why `text` cannot be used as an item's text, None if it can."""
    if (match := _UNWANTED.search(text)) is None:
        return None
    return f"contains the control character U+{ord(match[0]):04X} at position {match.start()}; remove it"


def take_text(value: Any, key: str, notes: Notes) -> str | None:
    """`value`, stripped, if it is a text that is not blank and can be used; otherwise None, noted."""
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
    """The text under `key`; None, noted, if it is missing or cannot be used. `prefix` is where `data` is."""
    if key in data:
        return take_text(data[key], prefix + key, notes)
    notes.error(prefix + key, "is missing")
    return None


def take_optional(data: dict[str, Any], key: str, notes: Notes) -> str | None:
    """The text under `key`, None if there is none."""
    return None if data.get(key) is None else take_text(data[key], key, notes)


def take_one_of(known: tuple[T, ...], value: Any, key: str, notes: Notes) -> T | None:
    """`value` if it is one of those `known`; otherwise None, noted."""
    found = next((one for one in known if one == value), None)
    if found is None:
        allowed = ", ".join(map(str, known))
        notes.error(
            key, f"is missing; it is one of {allowed}" if value is None else f"is {quoted(value)}, none of {allowed}"
        )
    return found


def take_each(
    data: dict[str, Any], key: str, notes: Notes, take: Callable[[Any, int, str], T | None], prefix: str = ""
) -> dict[int, T] | None:
    """What `take(member, index, place)` makes of each member of the list under `key`, by index; None without a list.

    Members that it turns into None are left out.
    """
    members = data.get(key)
    if not isinstance(members, list):
        notes.error(prefix + key, "is missing" if key not in data else f"is {kind_of(members)}, not a list")
        return None
    taken = {index: take(member, index, f"{prefix}{key}[{index}]") for index, member in enumerate(members)}
    return {index: value for index, value in taken.items() if value is not None}


def is_id(text: str) -> bool:
    """Whether `text` can be an item's id: ids name trials and appear in tables and file names."""
    return _ID.fullmatch(text) is not None


def note_id(name: str, notes: Notes) -> None:
    """Note an invalid id; '' was noted as missing already."""
    if name and not is_id(name):
        notes.error("id", f"{quoted(name)} {ID_RULE}")


@cache
def _names(kind: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(kind)]


def note_unknown(data: dict[str, Any], kind: type[msgspec.Struct], notes: Notes, prefix: str = "") -> None:
    """Note every key of `data` that is no field of `kind`."""
    known = _names(kind)
    tag = kind.__struct_config__.tag_field
    for key in data:
        if key not in known and key != tag:
            notes.error(f"{prefix}{quoted(key)}", f"is not a key of this layout ({', '.join(known)})")


def note_repeated(named: Iterable[tuple[str, Notes]]) -> None:
    """Note every id that occurs a second time."""
    first: dict[str, Notes] = {}
    for name, notes in named:
        earlier = first.setdefault(name, notes)
        if name and earlier is not notes:
            places = (earlier.place if earlier.place != notes.place else "", earlier.prefix)
            notes.error("id", f"{quoted(name)} is already used in {', '.join(filter(None, places))}")
