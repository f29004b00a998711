"""What was read from a free text, and how it was read; and the simplest such reading, one label out of a few."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

__all__ = ["How", "Reading", "read_choice"]

T = TypeVar("T")

How = Literal["as is", "repaired", "invalid"]


@dataclass(frozen=True)
class Reading(Generic[T]):
    """A value read from a text.

    `how` is 'as is' if the text was exactly in the requested form, 'repaired' if the value was clear but its form was
    different, 'invalid' if there is no value to read: `value` is then None and `problem` says why, in words that can be
    sent back to the writer. A value that has a problem all the same is usable, but not all that was requested.
    `dropped` counts further things that the text names and that do not exist or were named before.
    """

    value: T | None
    how: How
    problem: str = ""
    dropped: int = 0

    @property
    def repaired(self) -> bool:
        """Whether the form was not the requested one."""
        return self.how == "repaired"

    @classmethod
    def invalid(cls, problem: str) -> Reading[T]:
        """No value, for this reason."""
        return cls(None, "invalid", problem)


def read_choice(text: str, choices: Sequence[str]) -> Reading[str]:
    """The one of `choices` that `text` names.

    As is if it is the whole text, spelled exactly. Repaired if just one of them occurs in the text as whole words, in
    any case; a choice that contains another ('not fair', 'fair') is matched first. A text that names none of them, or
    two, is invalid.
    """
    alone = text.strip()
    if alone in choices:
        return Reading(alone, "as is")
    named = _named(text, choices)
    if len(named) == 1:
        return Reading(named[0], "repaired")
    if named:
        return Reading.invalid(f"it names {len(named)} of the choices: {', '.join(named)}")
    return Reading.invalid(f"it names none of the choices: {', '.join(choices)}")


def _named(text: str, choices: Sequence[str]) -> list[str]:
    """The choices that occur, in the given order."""
    by_length = sorted(choices, key=len, reverse=True)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, by_length))})(?!\w)", re.IGNORECASE)
    found = {match.casefold() for match in pattern.findall(text)} if choices else set()
    return [choice for choice in choices if choice.casefold() in found]
