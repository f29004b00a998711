"""An issue while it is being read: what could be taken from the file, by its place there, and what was noted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from overton.errors import quoted
from overton.studies.noting import Notes
from overton.studies.open_mindedness.items import Argument, Issue, Paraphrase, Side

__all__ = ["Draft", "take_side"]


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


def take_side(value: Any, key: str, notes: Notes) -> Side | None:
    """`value` if it names a side; else None, noted."""
    if value == "pro":
        return "pro"
    if value == "con":
        return "con"
    notes.error(key, "is missing" if value is None else f"is {quoted(value)}, neither 'pro' nor 'con'")
    return None
