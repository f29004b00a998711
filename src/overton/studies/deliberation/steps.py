"""What can be chosen about the seven steps of appendix A, and what each reports."""

from __future__ import annotations

from datetime import date

import msgspec

from overton.errors import InputError

__all__ = ["SelectionOptions", "Step"]


class SelectionOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which posts become dilemmas.

    first, last  the range of days (UTC), both included; None is no bound
    top          how many dilemmas are taken, those with the highest entropy
    comments     how many top-level comments of a post count, those with the best scores
    shortest     characters that a post has at least, as posted
    recheck      whether it must have as many without its edits, too (the paper filters before it removes them)
    fewest       comments with a readable verdict that a post has at least; the paper names no bound, yet the entropy of
                 a few is mostly chance, so that 10 is the better choice where there is enough to choose from

    Raises InputError for numbers below 1 and for a range that ends before it begins.
    """

    first: date | None = None
    last: date | None = None
    top: int = 1000
    comments: int = 100
    shortest: int = 1000
    recheck: bool = False
    fewest: int = 1

    def __post_init__(self) -> None:
        for name in ("top", "comments", "shortest", "fewest"):
            if getattr(self, name) < 1:
                raise InputError(f"'{name}' is {getattr(self, name)}; it must be 1 or more")
        if self.first and self.last and self.first > self.last:
            raise InputError(f"the range of dates ends ({self.last}) before it begins ({self.first})")


class Step(msgspec.Struct, frozen=True):
    """One of the seven steps: how many posts were left after it, and what else there is to know of it."""

    number: int
    name: str
    kept: int
    note: str
