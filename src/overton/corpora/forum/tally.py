"""What a reading met: how much was read, and what was skipped, why, and where."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["Skipped", "Tally", "told_of"]

_PLACES_NAMED = 5


@dataclass
class Skipped:
    """How many lines were skipped for one reason, and the places of the first five."""

    reason: str
    count: int = 0
    first: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.first) else ""
        return f"{self.count:,} skipped: {self.reason} ({', '.join(self.first)}{more})"


@dataclass
class Tally:
    """Counts of one reading; they grow while it goes on.

    `bytes` and `lines` are those of the unpacked text, `records` the posts or comments given out.
    """

    bytes: int = 0
    lines: int = 0
    records: int = 0
    skipped: dict[str, Skipped] = field(default_factory=dict)

    def skip(self, reason: str, place: str) -> None:
        """Count one thing that could not be read."""
        skipped = self.skipped.setdefault(reason, Skipped(reason))
        skipped.count += 1
        if len(skipped.first) < _PLACES_NAMED:
            skipped.first.append(place)

    @property
    def lost(self) -> int:
        """How many things were skipped, for all reasons together."""
        return sum(one.count for one in self.skipped.values())


def told_of(tallies: tuple[Tally, Tally]) -> Iterator[str]:
    """How much of the posts' and of the comments' dump was read, and why the rest was not."""
    for what, tally in zip(("posts", "comments"), tallies, strict=True):
        yield f"{what}: {tally.records:,} read of {tally.lines:,} lines"
        yield from (f"{what}: {skipped}" for skipped in tally.skipped.values())
