"""What a study asks about: where its items come from, how they are read, and what was found on the way.

A study reads opened texts and touches no paths: whoever hosts it finds, opens, bounds and decodes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import msgspec

from overton.errors import InputError, Problem
from overton.studies.options import NoOptions

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["Finding", "Items", "Parsed", "Text", "usable"]

Item = TypeVar("Item", bound=msgspec.Struct)


class Text(Protocol):
    """A file as a study sees it: bounded, and decoded as it is read."""

    @property
    def name(self) -> str:
        """What problems call it: its path."""
        ...

    @property
    def stem(self) -> str:
        """The file's name without its suffix."""
        ...

    @property
    def suffix(self) -> str:
        """The suffix of the file's name, with its dot."""
        ...

    def read(self) -> str:
        """All of it.

        Raises:
            InputError: it cannot be read, is too large, or is not UTF-8.
        """
        ...

    def lines(self) -> Iterator[tuple[int, str | Problem]]:
        """Its lines that are not blank, with their numbers from 1; a problem where one cannot be used."""
        ...


@dataclass(frozen=True)
class Finding:
    """Something wrong or odd about items: an error keeps a run from starting, a warning does not."""

    severity: Literal["error", "warning"]
    place: str
    key: str
    reason: str

    def problem(self) -> Problem:
        """The same as a problem of an InputError."""
        return Problem(self.place, self.key, self.reason)

    def __str__(self) -> str:
        return f"{self.severity}: {self.problem()}"


@dataclass(frozen=True)
class Parsed(Generic[Item]):
    """The items that texts hold, and everything wrong or odd about them."""

    items: Sequence[Item]
    findings: Sequence[Finding] = ()


Parse = Callable[[Sequence[Text], Any], Parsed[Item]]
"""`parse(texts, reading)` gives the items of texts, `reading` being an instance of `Items.reading`."""


@dataclass(frozen=True)
class Items(Generic[Item]):
    """What a study asks about, and how it is read.

    `kind` is the struct of one item; it has an `id`. `noun` is what one is called ('issue'), `layouts` says in one line
    what a path may be. `parse` reads opened texts: without it, each line of JSON is one `kind`. Of a folder those files
    are read whose names end in `suffixes`, or the one called `dataset`, as a run that makes such items leaves it.
    `reading` declares options of reading. Where `named` makes an item of a word, words are given in a file's place.
    `starter` finds the items that come with the study, a file or a folder.
    """

    kind: type[Item]
    noun: str
    layouts: str
    parse: Parse[Item] | None = None
    dataset: str = ""
    suffixes: tuple[str, ...] = (".jsonl",)
    reading: type[msgspec.Struct] = field(default=NoOptions)
    starter: Callable[[], Traversable] | None = None
    named: Callable[[str], Item] | None = None

    @property
    def plural(self) -> str:
        """What several are called; options that name a file of them are called so, too."""
        return f"{self.noun}s"


def usable(parsed: Parsed[Item]) -> list[Item]:
    """The items, where nothing is wrong with them.

    Raises:
        InputError: every error that was found.
    """
    if problems := [finding.problem() for finding in parsed.findings if finding.severity == "error"]:
        raise InputError(problems)
    return list(parsed.items)
