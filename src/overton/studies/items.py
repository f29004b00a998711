"""The items that a study asks about: their sources, how they are read, and their names.

A study reads opened texts and uses no file paths. Overton finds, opens and decodes the files, and limits their size.
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
from overton.studies.item_rows import ROW_SUFFIXES, RowText, as_rows
from overton.studies.item_template import note_untouched
from overton.studies.options import NoOptions
from overton.studies.parsing import ItemProblem, Parse, ParsedItems, Text, json_lines
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
"""The largest number of values of a facet within another facet. Texts such as templates may differ from item to item,
which would give too many values."""


@dataclass(frozen=True)
class Facet:
    """A property of items, taken from one field of the item. Every number of a study is also given for each value of
    the property.

    `name` is the name of the field, and of the column in records and units. `title` is the heading in tables. `words`
    has names for the values, if the names differ from the values. Items without a value of the field are left out of
    all numbers by the facet. `within` is a coarser facet, such as the task of a template. Numbers by this facet are
    left out if it forms no more groups than the coarser facet, or more than 100 groups.
    """

    name: str
    title: str
    words: Mapping[Any, str] = field(default_factory=dict)
    within: str = ""

    def divides(self, items: Sequence[Any]) -> bool:
        """Return whether this facet forms more groups of these items than the coarser facet, and at most 100."""
        if not self.within:
            return True
        coarser = {getattr(item, self.within) for item in items}
        finer = {(getattr(item, self.within), getattr(item, self.name)) for item in items}
        return len(coarser) < len(finer) <= _MOST_VALUES

    def text(self, value: Any) -> str | None:
        """A value as text; None if the value is None or is not in `words`."""
        if self.words:
            return self.words.get(value)
        return None if value is None else str(value)


@dataclass(frozen=True)
class Items(Generic[Item]):
    """The items of a study, and how they are read.

    kind      the struct of one item; it has an `id`
    noun      the word for an item ('issue'). `plural` is the noun's plural, by default with an s,
              and also a name of the option for items
    layouts   describes in one line which files and folders can be read
    parse     reads opened texts. Without it, each line of JSON is one `kind` (see `json_lines`), and `layouts` may be
              left out
    suffixes  endings of file names. In a folder, Overton reads the file `dataset`, if a study that makes such items has
              written it. Otherwise it reads all files with these endings, and none if `suffixes` is empty
    folders   names of subfolders, as in a repository that publishes such items. If a folder has no files to read,
              Overton reads the files in these subfolders, in this order
    reading   the options for reading items, as declarations
    named     makes an item from a word; users then give words in place of a file
    starter   gives the study's bundled items, or the file or folder with them
    blank     makes a template item, whose texts describe what belongs in their place
    spelled   gives an item in words: a line to show in place of its id, and lines with details
    subjects  gives the subject of each bundled item, by `about(item)`, which is mostly the item's id. A profile groups
              items of several studies by subject
    facets    properties of items; numbers are also given for each value of a property
    mapping   reads items from other tables; users give a TOML file with the mapping in place of items
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
        """Complete the declaration: the plural, and the layout of a file with one item per line."""
        object.__setattr__(self, "plural", self.plural or f"{self.noun}s")
        if not self.layouts:
            fields = ", ".join(self.kind.__struct_fields__)
            object.__setattr__(self, "layouts", f"a .jsonl file with one {self.noun} a line ({fields})")

    @property
    def words(self) -> tuple[str, ...]:
        """The names of the option for items, the preferred name first. If items are made from words, the preferred name
        is `noun`, otherwise 'items'."""
        return tuple(dict.fromkeys((self.noun, self.plural, "items") if self.named else ("items", self.plural)))

    def parsed(self, texts: Sequence[Text], reading: Any) -> ParsedItems[Item]:
        """Parse opened texts. `reading` is an instance of the declared struct `reading`."""
        parse = self.parse or json_lines(self.kind)
        shown = [self._as_objects(text) for text in texts]
        parsed = parse(shown, reading)
        rows = {text.name: text for text in shown if isinstance(text, RowText)}
        found = [*(finding for text in rows.values() for finding in text.findings), *self._untouched(shown)]
        found += parsed.findings
        located = [rows[each.place].located(each) if each.place in rows else each for each in found]
        return replace(parsed, findings=tuple(located))

    def _as_objects(self, text: Text) -> Text:
        """Convert a table or a list to objects, unless the study's parser reads such files itself."""
        if text.suffix not in ROW_SUFFIXES or text.suffix in self.suffixes or self.reads_tables:
            return text
        return as_rows(text, self.kind, self.noun, self.plural, self.mapping.docs if self.mapping else "")

    @property
    def reads_tables(self) -> bool:
        """Whether the study's parser reads tables itself."""
        return any(name.endswith((".csv", ".parquet")) for name in (self.dataset, *self.suffixes))

    def _untouched(self, texts: Sequence[Text]) -> list[ItemProblem]:
        """An error for each text that is unchanged from the template; see `blank`."""
        return [] if self.blank is None else [*note_untouched(texts, self.blank())]


def starter_file(package: str, name: str) -> Traversable:
    """The file or folder `name` in `starter` of a study's package."""
    return files(package) / "starter" / name


def starter_subjects(package: str) -> Mapping[str, str]:
    """The subjects of a study's bundled items, by `about(item)` (mostly the item's id).

    The subjects are in `starter/subjects.toml` of `package`. Each line has the name of a subject, and then the study's
    items on this subject. A profile shows items of all studies under the names of subjects.
    """
    text = starter_file(package, "subjects.toml").read_text(encoding="utf-8")
    subjects: dict[str, Any] = tomllib.loads(text)
    return {item: subject for subject, items in subjects.items() for item in items}


_TITLES = ("title", "question", "proposition", "topic", "name", "text")


def title_of(item: msgspec.Struct) -> str:
    """The title of an item, for lists that also show its id: the first of the item's texts that describes its
    subject."""
    texts = (getattr(item, name, "") for name in _TITLES)
    return next((text for text in texts if isinstance(text, str) and text), "")


def usable(parsed: ParsedItems[Item]) -> list[Item]:
    """The items, if they have no errors.

    Raises: InputError: there are errors; the exception has all of them.
    """
    if problems := [finding.problem() for finding in parsed.findings if finding.severity == "error"]:
        raise InputError(problems)
    return list(parsed.items)


Words = Mapping[str, NamedItem]
"""Each item in words, by its id."""

_UNLIKE_WORDS = re.compile(r"[-_0-9]")
_WORD = re.compile(r"(?<![\w.-])[A-Za-z0-9._-]*[A-Za-z0-9_-](?![\w-])")


def words_of(declared: Items[Any], items: Iterable[Any]) -> Words:
    """Every item in words, if the study declares `spelled`. Different items have different words."""
    if declared.spelled is None:
        return {}
    lines_of = {item.id: tuple(declared.spelled(item)) for item in items}
    many = Counter(lines[0] for lines in lines_of.values())
    return {
        name: NamedItem(name, lines[0] if many[lines[0]] == 1 else f"{lines[0]} ({name})", lines[1:])
        for name, lines in lines_of.items()
    }


def spelled(sections: Sequence[Section], words: Words) -> list[Section]:
    """Replace ids of items by words in sections: in columns of items and in sentences."""
    if not words:
        return list(sections)
    return [
        replace(section, exhibits=[_spell_exhibit(part, words) for part in section.exhibits]) for section in sections
    ]


def spelled_trials(trials: TrialTable | None, words: Words, noun: str) -> TrialTable | None:
    """Replace ids of items by words in the table of trials. `noun` is the study's word for an item."""
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
    """Replace ids in a cell, which has one id, possibly with a space and a mark, or several ids separated by commas."""
    if not isinstance(cell, str):
        return cell
    name, space, mark = cell.partition(" ")
    if name in words:
        return replace(words[name], text=f"{words[name].text}{space}{mark}")
    return "; ".join(words[part].text if part in words else part for part in cell.split(", "))


def _spell_text(text: str, words: Words) -> str:
    """Replace ids in a sentence, except ids that could be English words."""

    def name_item(found: re.Match[str]) -> str:
        item = words.get(found[0])
        return f"'{item.text}'" if item is not None and _UNLIKE_WORDS.search(found[0]) else found[0]

    return _WORD.sub(name_item, text)
