"""What a study asks about: where its items come from, how they are read, and what was found on the way.

A study reads opened texts and touches no paths: its host finds, opens, bounds and decodes the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from overton.errors import InputError
from overton.studies.options import NoOptions
from overton.studies.parsing import Parse, Parsed, Text, json_lines

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["Items", "Parsed", "title_of", "usable"]

Item = TypeVar("Item", bound=msgspec.Struct)


@dataclass(frozen=True)
class Items(Generic[Item]):
    """What a study asks about, and how it is read.

    `kind` is the struct of one item; it has an `id`. `noun` is what one is called ('issue'), `layouts` says in one line
    what a path may be. `parse` reads opened texts: without it, each line of JSON is one `kind` (see `json_lines`). In a
    folder, the files whose names end in `suffixes` are read, or the one called `dataset`, as written by a run that
    makes such items; without suffixes only that one. `reading` declares options of reading. If `named` makes an item
    from a word, words are given in place of a file. `starter` gives the items that come with the study, or finds the
    file or folder with them. `blank` makes an item to be filled in: its texts say what belongs there. `spelled` gives
    an item in words: a line shown in place of its id wherever people read, and lines that say more about it. `subjects`
    gives the subjects of starter items, by `about(item)`: what the study compares by, mostly the item's id. A profile
    puts items of several studies on one subject together.
    """

    kind: type[Item]
    noun: str
    layouts: str
    parse: Parse[Item] | None = None
    dataset: str = ""
    suffixes: tuple[str, ...] = (".jsonl",)
    reading: type[msgspec.Struct] = field(default=NoOptions)
    starter: Callable[[], Traversable | Sequence[Item]] | None = None
    named: Callable[[str], Item] | None = None
    blank: Callable[[], Item] | None = None
    spelled: Callable[[Item], Sequence[str]] | None = None
    subjects: Callable[[], Mapping[str, str]] | None = None
    about: Callable[[Item], str] = field(default=lambda item: str(item.id))

    @property
    def plural(self) -> str:
        """What several are called; options that name a file of them use it, too."""
        return f"{self.noun}s"

    @property
    def words(self) -> tuple[str, ...]:
        """What options call them, the word to use first: items that are words are named one by one."""
        return tuple(dict.fromkeys((self.noun, self.plural, "items") if self.named else ("items", self.plural)))

    def parsed(self, texts: Sequence[Text], reading: Any) -> Parsed[Item]:
        """What opened texts contain, `reading` being an instance of the struct of that name."""
        parse = self.parse or json_lines(self.kind)
        return parse(texts, reading)


_TITLES = ("title", "question", "proposition", "topic", "name", "text")


def title_of(item: msgspec.Struct) -> str:
    """What a list calls an item beside its id: the first of its texts that says what it is about."""
    texts = (getattr(item, name, "") for name in _TITLES)
    return next((text for text in texts if isinstance(text, str) and text), "")


def usable(parsed: Parsed[Item]) -> list[Item]:
    """The items, if nothing is wrong with them.

    Raises:
        InputError: every error that was found.
    """
    if problems := [finding.problem() for finding in parsed.findings if finding.severity == "error"]:
        raise InputError(problems)
    return list(parsed.items)
