"""What was read from a free text, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

__all__ = ["How", "Reading"]

T = TypeVar("T")

How = Literal["as is", "repaired", "invalid"]


@dataclass(frozen=True)
class Reading(Generic[T]):
    """A value read from a text.

    `how` is 'as is' where the text was exactly in the form asked for, 'repaired' where the value was plain but its
    form was not, 'invalid' where there is no value to read: `value` is then None and `problem` says why, in words
    that can be sent back to the writer. A value that has a problem all the same is usable, but not all that was asked
    for. `dropped` counts what the text names besides and that does not exist or was named before.
    """

    value: T | None
    how: How
    problem: str = ""
    dropped: int = 0

    @property
    def repaired(self) -> bool:
        """Whether the form was not that asked for."""
        return self.how == "repaired"

    @classmethod
    def invalid(cls, problem: str) -> Reading[T]:
        """No value, for this reason."""
        return cls(None, "invalid", problem)
