"""Items in words wherever their ids appear: in tables, in the text beside them, and in the facets of trials."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from overton.studies.exhibits import (
    Callout,
    Cell,
    Chart,
    Exhibit,
    Facet,
    Method,
    Prose,
    Section,
    Spelled,
    Statement,
    Table,
    TrialTable,
)
from overton.studies.items import Items

__all__ = ["Words", "spelled", "spelled_trials", "words_of"]

Words = Mapping[str, Spelled]
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
        name: Spelled(name, lines[0] if many[lines[0]] == 1 else f"{lines[0]} ({name})", lines[1:])
        for name, lines in lines_of.items()
    }


def spelled(sections: Sequence[Section], words: Words) -> list[Section]:
    """The sections with each item in words: cells of columns of items, and ids within sentences."""
    if not words:
        return list(sections)
    return [replace(one, exhibits=[_exhibit(part, words) for part in one.exhibits]) for one in sections]


def spelled_trials(trials: TrialTable | None, words: Words, noun: str) -> TrialTable | None:
    """The trials, about what is called `noun`: their facet of it in words, if there are words."""
    if trials is None:
        return None
    trials = replace(trials, item=trials.item or noun)
    return replace(trials, facets=[_facet(one, words) if one.title == noun else one for one in trials.facets])


def _exhibit(one: Exhibit, words: Words) -> Exhibit:
    match one:
        case Table():
            return _table(one, words)
        case Chart():
            return replace(one, values=_table(one.values, words)) if one.values else one
        case Callout() | Prose() | Method() | Statement():
            return replace(one, text=_within(one.text, words))


def _table(table: Table, words: Words) -> Table:
    places = [column.items for column in table.columns]
    rows = [
        [_cell(cell, words) if is_item else cell for cell, is_item in zip(row, places, strict=True)]
        for row in table.rows
    ]
    return replace(table, rows=rows, note=_within(table.note, words))


def _cell(cell: Cell, words: Words) -> Cell:
    """An id, perhaps with a mark after a space, or several separated by commas."""
    if not isinstance(cell, str):
        return cell
    name, space, mark = cell.partition(" ")
    if name in words:
        return replace(words[name], text=f"{words[name].text}{space}{mark}")
    return "; ".join(words[one].text if one in words else one for one in cell.split(", "))


def _within(text: str, words: Words) -> str:
    """Replaces ids in a sentence that could not be words of English."""

    def named(found: re.Match[str]) -> str:
        one = words.get(found[0])
        return f"'{one.text}'" if one is not None and _UNLIKE_WORDS.search(found[0]) else found[0]

    return _WORD.sub(named, text)


def _facet(one: Facet, words: Words) -> Facet:
    return replace(one, labels=[words[label].text if label in words else label for label in one.labels])
