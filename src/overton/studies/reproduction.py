"""Published numbers computed again from the tables published with them: what a study declares, and returns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overton.studies.tables import RawTable


_ROUNDING = 1e-9


@dataclass(frozen=True)
class PublishedNumber:
    """One number: `published` with so many `digits` after its point, None if none is on file, and `computed`."""

    what: str
    published: float | None
    computed: float
    digits: int

    @property
    def same(self) -> bool | None:
        """Whether the computed number rounds to the published one; None if there is nothing to compare with."""
        if self.published is None:
            return None
        return bool(abs(self.computed - self.published) <= 0.5 * 10**-self.digits + _ROUNDING)


@dataclass(frozen=True)
class Reproduction:
    """A publication whose numbers a study computes again.

    name    one word: what people call it, unique among all studies
    title   what it is, as a heading
    source  where its tables and numbers were published
    files   in a few words: which tables it takes
    of      `of(table)` gives the numbers of one table; it raises InputError if the table cannot be used
    """

    name: str
    title: str
    source: str
    files: str
    of: Callable[[RawTable], Sequence[PublishedNumber]]
