"""Published numbers computed again from the tables published with them: what a study declares, and returns."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files
from math import exp, prod
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overton.studies.tables import RawTable


_ROUNDING = 1e-9


@dataclass(frozen=True)
class PublishedNumber:
    """One number: `published` with so many `digits` after its point, None if none is on file, and `computed`.

    `model` is whose it is, '' if it is about several, and `where` is where it was published. `reason` says why the two
    differ, if that is known. `slack` is how far the computed number may be off because it follows from rounded ones.
    """

    what: str
    published: float | None
    computed: float
    digits: int
    model: str = ""
    where: str = ""
    reason: str = ""
    slack: float = 0.0

    @property
    def same(self) -> bool | None:
        """Whether the computed number rounds to the published one; None if there is nothing to compare with."""
        if self.published is None:
            return None
        return bool(abs(self.computed - self.published) <= 0.5 * 10**-self.digits + self.slack + _ROUNDING)

    @property
    def exact(self) -> bool:
        """Whether the two are the same without any slack."""
        return bool(replace(self, slack=0.0).same)

    @property
    def unexplained(self) -> bool:
        """Whether the two differ and nobody knows why."""
        return self.same is False and not self.reason


@dataclass(frozen=True)
class Reproduction:
    """A publication whose numbers a study computes again.

    name     one word: what people call it, unique among all studies
    title    what it is, as a heading
    source   where its tables and numbers were published
    files    in a few words: which tables it takes, '' if it published none
    of       `of(table)` gives the numbers of one table; it raises InputError if the table cannot be used
    whole    `whole(tables)` gives those of several tables, by default those of each
    takes    `takes(table)` is whether a table of a folder has numbers for `whole`; by default all have
    folders  where a repository that was published keeps its tables. If one file name is in several of these folders,
             that in the last one is read
    printed  the numbers that follow from other numbers that the publication prints, without any table
    """

    name: str
    title: str
    source: str
    files: str = ""
    of: Callable[[RawTable], Sequence[PublishedNumber]] | None = None
    whole: Callable[[Sequence[RawTable]], Sequence[PublishedNumber]] | None = None
    takes: Callable[[RawTable], bool] | None = None
    folders: tuple[str, ...] = ()
    printed: Callable[[], Sequence[PublishedNumber]] | None = None


_RULES: dict[str, Callable[[Sequence[float]], float]] = {
    "sum": sum,
    "product": prod,
    "mean": fmean,
    "ratio": lambda numbers: numbers[0] / numbers[1],
    "percent": lambda numbers: 100 * numbers[0] / numbers[1],
    "more": lambda numbers: 100 * (numbers[0] / numbers[1] - 1),
    "less": lambda numbers: 100 * (1 - numbers[0] / numbers[1]),
    "exp": lambda numbers: exp(numbers[0]),
    "difference": lambda numbers: numbers[0] - numbers[1],
}
"""How a printed number follows from others: `more` and `less` say by how many percent the first is above or below the
second."""


def read_printed(package: str) -> list[PublishedNumber]:
    """The numbers in `printed.toml` of a study's package, each computed from others that the publication prints.

    An entry of `numbers` has `what`, `where` and `printed`, one of the rules with the numbers that it takes
    (`mean = [0.1, 0.3]`), and perhaps the `reason` of a difference. Numbers with a point are taken to be rounded to the
    digits that are written.
    """
    text = files(package).joinpath("printed.toml").read_text("utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text, parse_float=_Printed)["numbers"]
    return [_printed_number(entry) for entry in entries]


def of_printed(name: str, title: str, source: str, package: str) -> Reproduction:
    """A publication without tables: the numbers that follow from others which it prints."""
    return Reproduction(
        name, f"{title}: numbers that follow from printed ones", source, printed=partial(read_printed, package)
    )


class _Printed(float):
    """A number with as many digits after its point as it is printed with."""

    digits: int

    def __new__(cls, text: str) -> _Printed:
        made = super().__new__(cls, text)
        made.digits = len(text.partition(".")[2])
        return made


def _printed_number(entry: dict[str, Any]) -> PublishedNumber:
    (rule,) = entry.keys() & _RULES.keys()
    published, numbers = entry["printed"], entry[rule]
    return PublishedNumber(
        what=entry["what"],
        published=float(published),
        computed=_apply(rule, numbers),
        digits=published.digits if isinstance(published, _Printed) else 0,
        where=entry["where"],
        reason=entry.get("reason", ""),
        slack=_rounding(rule, numbers),
    )


def _apply(rule: str, numbers: Sequence[float]) -> float:
    return float(_RULES[rule](numbers))


def _rounding(rule: str, numbers: Sequence[float]) -> float:
    """How far the result may be off if each number with a point is off by half of its last digit."""
    moved = (
        [*numbers[:place], number + 0.5 * 10**-number.digits, *numbers[place + 1 :]]
        for place, number in enumerate(numbers)
        if isinstance(number, _Printed)
    )
    return sum(abs(_apply(rule, others) - _apply(rule, numbers)) for others in moved)
