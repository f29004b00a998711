"""Reproduction of published numbers from published tables: a study's declaration, and the results."""

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
    """A published number, and the same number as computed by Overton. `published` has `digits` digits after the decimal
    point. It is None if Overton's number does not occur in the publication.

    `model` is the number's model, '' if the number is about several models. `where` is the number's location in the
    publication. `reason` explains a difference between the two numbers, if the reason is known. `slack` is the possible
    error of `computed` if it was computed from rounded numbers.
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
        """Whether the computed number rounds to the published one; None without a published number."""
        if self.published is None:
            return None
        return bool(abs(self.computed - self.published) <= 0.5 * 10**-self.digits + self.slack + _ROUNDING)

    @property
    def exact(self) -> bool:
        """Whether the two numbers agree without any slack."""
        return bool(replace(self, slack=0.0).same)

    @property
    def unexplained(self) -> bool:
        """Whether the two numbers differ without a known reason."""
        return self.same is False and not self.reason


@dataclass(frozen=True)
class Reproduction:
    """A publication whose numbers a study recomputes.

    name     one word that users type, unique over all studies
    title    the heading
    source   the publication of the tables and numbers
    files    the required tables, in a few words; '' if the publication has no tables
    of       `of(table)` gives the numbers of one table; it raises InputError if the table cannot be used
    whole    `whole(tables)` gives the numbers of several tables together; by default the numbers of each table
    takes    `takes(table)` is true if a table of a folder is part of `whole`; by default all tables are
    folders  the folders of the tables in a published repository. If several of these folders have a file of the same
             name, the file in the last one is read
    printed  numbers that are computed from other printed numbers of the publication, without a table
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
"""How to compute a printed number from others. `more` and `less` give the percentage by which the first number is above
or below the second."""


def read_printed(package: str) -> list[PublishedNumber]:
    """The numbers in `printed.toml` of a study's package, each computed from other numbers in the publication.

    An entry of `numbers` has `what`, `where` and `printed`, a rule with its input numbers (`mean = [0.1, 0.3]`), and
    optionally the `reason` for a difference. Numbers with a decimal point count as rounded to the digits shown.
    """
    text = files(package).joinpath("printed.toml").read_text("utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text, parse_float=_Printed)["numbers"]
    return [_printed_number(entry) for entry in entries]


def of_printed(name: str, title: str, source: str, package: str) -> Reproduction:
    """The reproduction of a publication without tables. Each number is computed from other numbers in the
    publication."""
    return Reproduction(
        name, f"{title}: numbers derived from printed ones", source, printed=partial(read_printed, package)
    )


class _Printed(float):
    """A number that keeps the count of its printed digits after the decimal point."""

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
    """The largest error of the result if each number with a decimal point is off by half a unit of its last digit."""
    moved = (
        [*numbers[:place], number + 0.5 * 10**-number.digits, *numbers[place + 1 :]]
        for place, number in enumerate(numbers)
        if isinstance(number, _Printed)
    )
    return sum(abs(_apply(rule, others) - _apply(rule, numbers)) for others in moved)
