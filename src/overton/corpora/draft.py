"""An issue while it is being read: what could be taken from the file, by its place there, and what was noted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from overton.corpora.findings import Notes, quoted
from overton.corpora.texts import kind_of, unreadable
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase, Side

__all__ = ["Draft", "take_each", "take_optional", "take_required", "take_side", "take_text"]

T = TypeVar("T")


@dataclass
class Draft:
    """What was read of one issue. Members of lists keep their index in the file, so that checks can name them."""

    notes: Notes
    id: str
    question: str | None = None
    topic: str | None = None
    pro: str | None = None
    con: str | None = None
    pros: dict[int, Argument] | None = None
    cons: dict[int, Argument] | None = None
    paraphrases: dict[int, Paraphrase] | None = field(default_factory=dict)

    def issue(self) -> Issue:
        """The issue; to be asked for only where no error was noted."""
        return Issue(
            id=self.id,
            question=self.question or "",
            pros=tuple((self.pros or {}).values()),
            cons=tuple((self.cons or {}).values()),
            topic=self.topic,
            pro=self.pro,
            con=self.con,
            paraphrases=tuple((self.paraphrases or {}).values()),
        )


def take_text(value: Any, key: str, notes: Notes) -> str | None:
    """`value` if it is a text with something in it that can be used, surrounding space dropped; else None, noted."""
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
    """The text under `key`; None, noted, where it is missing or cannot be used. `prefix` is where `data` stands."""
    if key in data:
        return take_text(data[key], prefix + key, notes)
    notes.error(prefix + key, "is missing")
    return None


def take_optional(data: dict[str, Any], key: str, notes: Notes) -> str | None:
    """The text under `key`, None where there is none."""
    return None if data.get(key) is None else take_text(data[key], key, notes)


def take_side(value: Any, key: str, notes: Notes) -> Side | None:
    """`value` if it names a side; else None, noted."""
    if value == "pro":
        return "pro"
    if value == "con":
        return "con"
    notes.error(key, "is missing" if value is None else f"is {quoted(value)}, neither 'pro' nor 'con'")
    return None


def take_each(
    data: dict[str, Any], key: str, notes: Notes, take: Callable[[Any, int, str], T | None], prefix: str = ""
) -> dict[int, T] | None:
    """What `take(member, index, place)` makes of each member of the list under `key`, by index; None without a list.

    Members of which it makes None are left out.
    """
    members = data.get(key)
    if not isinstance(members, list):
        notes.error(prefix + key, "is missing" if key not in data else f"is {kind_of(members)}, not a list")
        return None
    taken = {index: take(member, index, f"{prefix}{key}[{index}]") for index, member in enumerate(members)}
    return {index: value for index, value in taken.items() if value is not None}
