"""The items that a study asks about: where they come from, how they are read, and how they are named.

A study reads opened texts and touches no paths: its host finds, opens, bounds and decodes the files.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from overton.errors import InputError
from overton.studies.item_mappings import ItemMapping
from overton.studies.options import NoOptions
from overton.studies.parsing import Parse, ParsedItems, Text, json_lines
from overton.studies.sections import (
    Callout,
    Cell,
    Chart,
    Exhibit,
    Method,
    NamedItem,
    Prose,
    Section,
    Statement,
    Table,
    TrialTable,
)

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


Item = TypeVar("Item", bound=msgspec.Struct)

_MOST_VALUES = 100
"""Values of a facet within another. Texts such as templates may differ from item to item."""


@dataclass(frozen=True)
class Facet:
    """A property of items by which every number of a study is also given: one field of the item.

    `name` is the field, and the column of records and of units. `title` is the heading of tables. `words` are what its
    values are called if not by themselves. An item whose field is None is in no number by it. `within` is a coarser
    facet: there are no numbers by this one if it divides none of the other's values, or has more than 100 values.
    """

    name: str
    title: str
    words: Mapping[Any, str] = field(default_factory=dict)
    within: str = ""

    def divides(self, items: Sequence[Any]) -> bool:
        """Whether numbers by it say more about these items than numbers by the coarser facet, in few enough groups."""
        if not self.within:
            return True
        coarser = {getattr(item, self.within) for item in items}
        finer = {(getattr(item, self.within), getattr(item, self.name)) for item in items}
        return len(coarser) < len(finer) <= _MOST_VALUES

    def text(self, value: Any) -> str | None:
        """A value as text; None if it is None or has no word."""
        if self.words:
            return self.words.get(value)
        return None if value is None else str(value)


@dataclass(frozen=True)
class Items(Generic[Item]):
    """The items that a study asks about, and how they are read.

    `kind` is the struct of one item; it has an `id`. `noun` is what one is called ('issue'), `layouts` says in one line
    what a path may be. `parse` reads opened texts: without it, each line of JSON is one `kind` (see `json_lines`), and
    `layouts` need not be given. In a folder, the files whose names end in `suffixes` are read, or the one called
    `dataset`, as written by a run that makes such items; without suffixes only that one. A folder that has none, but
    some of the `folders`, is a repository that publishes such items: the files in these are read, in this order.
    `reading` declares options of reading. If `named` makes an item from a word, words are given in place of a file.
    `starter` gives the items that come with the study, or finds the file or folder with them. `blank` makes an item to
    be filled in: its texts say what belongs there. `spelled` gives an item in words: a line shown in place of its id
    wherever people read, and lines that say more about it. `subjects` gives the subjects of starter items, by
    `about(item)`: what the study
    compares by, mostly the item's id. A profile puts items of several studies on one subject together. `facets` are
    properties of items by which numbers are given. `mapping` reads items from tables in which others keep them, as a
    TOML file says that is given in place of items. `plural` is the word for several, also in the option that names a
    file of them: by default the noun with an s.
    """

    kind: type[Item]
    noun: str
    layouts: str = ""
    parse: Parse[Item] | None = None
    dataset: str = ""
    suffixes: tuple[str, ...] = (".jsonl",)
    folders: tuple[str, ...] = ()
    reading: type[msgspec.Struct] = field(default=NoOptions)
    starter: Callable[[], Traversable | Sequence[Item]] | None = None
    named: Callable[[str], Item] | None = None
    blank: Callable[[], Item] | None = None
    spelled: Callable[[Item], Sequence[str]] | None = None
    subjects: Callable[[], Mapping[str, str]] | None = None
    about: Callable[[Item], str] = field(default=lambda item: str(item.id))
    facets: tuple[Facet, ...] = ()
    plural: str = ""
    mapping: ItemMapping[Item] | None = None

    def __post_init__(self) -> None:
        """Without a parser of its own, a file has one item a line."""
        object.__setattr__(self, "plural", self.plural or f"{self.noun}s")
        if not self.layouts:
            fields = ", ".join(self.kind.__struct_fields__)
            object.__setattr__(self, "layouts", f"a .jsonl file with one {self.noun} a line ({fields})")

    @property
    def words(self) -> tuple[str, ...]:
        """The words for them in options, the one to use first: items that are words are named one by one."""
        return tuple(dict.fromkeys((self.noun, self.plural, "items") if self.named else ("items", self.plural)))

    def parsed(self, texts: Sequence[Text], reading: Any) -> ParsedItems[Item]:
        """Parse opened texts, `reading` being an instance of the struct of that name."""
        parse = self.parse or json_lines(self.kind)
        return parse(texts, reading)


def starter_file(package: str, name: str) -> Traversable:
    """The file or folder `name` in `starter` of a study's package."""
    return files(package) / "starter" / name


def starter_subjects(package: str) -> Mapping[str, str]:
    """The subjects of a study's starter items, by what the study compares by (mostly the item's id).

    They are in `starter/subjects.toml` of `package`, one subject per line: what it is about, in the words under which a
    profile shows the items of all studies together, then its items.
    """
    text = starter_file(package, "subjects.toml").read_text(encoding="utf-8")
    subjects: dict[str, Any] = tomllib.loads(text)
    return {item: subject for subject, items in subjects.items() for item in items}


_TITLES = ("title", "question", "proposition", "topic", "name", "text")


def title_of(item: msgspec.Struct) -> str:
    """An item's title in a list, beside its id: the first of its texts that says what it is about."""
    texts = (getattr(item, name, "") for name in _TITLES)
    return next((text for text in texts if isinstance(text, str) and text), "")


def usable(parsed: ParsedItems[Item]) -> list[Item]:
    """The items, if nothing is wrong with them.

    Raises:
        InputError: every error that was found.
    """
    if problems := [finding.problem() for finding in parsed.findings if finding.severity == "error"]:
        raise InputError(problems)
    return list(parsed.items)


Words = Mapping[str, NamedItem]
"""By an item's id, the item in words."""

_UNLIKE_WORDS = re.compile(r"[-_0-9]")
_WORD = re.compile(r"(?<![\w.-])[A-Za-z0-9._-]*[A-Za-z0-9_-](?![\w-])")


def words_of(declared: Items[Any], items: Iterable[Any]) -> Words:
    """Every item in words, if the study declares how; different items have different words."""
    if declared.spelled is None:
        return {}
    lines_of = {item.id: tuple(declared.spelled(item)) for item in items}
    many = Counter(lines[0] for lines in lines_of.values())
    return {
        name: NamedItem(name, lines[0] if many[lines[0]] == 1 else f"{lines[0]} ({name})", lines[1:])
        for name, lines in lines_of.items()
    }


def spelled(sections: Sequence[Section], words: Words) -> list[Section]:
    """The sections with each item in words: cells of columns of items, and ids within sentences."""
    if not words:
        return list(sections)
    return [
        replace(section, exhibits=[_spell_exhibit(part, words) for part in section.exhibits]) for section in sections
    ]


def spelled_trials(trials: TrialTable | None, words: Words, noun: str) -> TrialTable | None:
    """The trials, about what is called `noun`: their facet of it in words, if there are words."""
    if trials is None:
        return None
    facets = [
        replace(facet, labels=[words[label].text if label in words else label for label in facet.labels])
        if facet.title == noun
        else facet
        for facet in trials.facets
    ]
    return replace(trials, item=trials.item or noun, facets=facets)


def _spell_exhibit(exhibit: Exhibit, words: Words) -> Exhibit:
    match exhibit:
        case Table():
            return _spell_table(exhibit, words)
        case Chart():
            return replace(exhibit, values=_spell_table(exhibit.values, words)) if exhibit.values else exhibit
        case Callout() | Prose() | Method() | Statement():
            return replace(exhibit, text=_spell_text(exhibit.text, words))


def _spell_table(table: Table, words: Words) -> Table:
    places = [column.items for column in table.columns]
    rows = [
        [_spell_cell(cell, words) if is_item else cell for cell, is_item in zip(row, places, strict=True)]
        for row in table.rows
    ]
    return replace(table, rows=rows, note=_spell_text(table.note, words))


def _spell_cell(cell: Cell, words: Words) -> Cell:
    """An id, perhaps with a mark after a space, or several separated by commas."""
    if not isinstance(cell, str):
        return cell
    name, space, mark = cell.partition(" ")
    if name in words:
        return replace(words[name], text=f"{words[name].text}{space}{mark}")
    return "; ".join(words[part].text if part in words else part for part in cell.split(", "))


def _spell_text(text: str, words: Words) -> str:
    """Replace those ids in a sentence that could not be words of English."""

    def name_item(found: re.Match[str]) -> str:
        item = words.get(found[0])
        return f"'{item.text}'" if item is not None and _UNLIKE_WORDS.search(found[0]) else found[0]

    return _WORD.sub(name_item, text)
