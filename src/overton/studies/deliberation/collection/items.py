"""The material for a list of values: collected values, texts on which to test the values, and the values' categories
according to people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from overton.calls import Draw
from overton.errors import InputError
from overton.studies.deliberation.collection.sheets import category_sheet, read_labels
from overton.studies.deliberation.items import VERDICTS, Verdict
from overton.studies.deliberation.value_lists import Value, ValueList, checked, rows_of
from overton.studies.items import Items
from overton.studies.options import Option
from overton.studies.parsing import Notes, ParsedItems, Text, findings_of, id_part, unreadable
from overton.studies.tables import describe_missing

if TYPE_CHECKING:
    import polars as pl

_MOST_TEXTS = 10_000
_LONGEST_TEXT = 20_000


class TrialText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An explanation of a verdict on a dilemma, used as a test text in which the judge looks for values."""

    dilemma: str
    explanation: str
    verdict: Verdict | None = None


class Collection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Collected values, the test texts, and the category that each person gave each value, if any."""

    id: str
    values: ValueList
    texts: tuple[TrialText, ...] = ()
    people: dict[str, dict[str, str]] = {}


class CollectionReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files that Overton reads in addition to the collected values."""

    texts: Annotated[
        Any,
        Option(
            "Table (.csv, .jsonl, .parquet) of explanations for testing the values, with the column explanation and"
            " optionally dilemma and verdict, such as a deliberation run's records.parquet",
            file=True,
        ),
    ] = None
    people: Annotated[
        tuple[Any, ...],
        Option(
            "Sheet that a person filled in to sort the values; overton items values-sheet makes empty sheets", file=True
        ),
    ] = ()
    on_trial: Annotated[
        int, Option("Number of dilemmas, chosen at random, whose explanations test the values", least=1)
    ] = 100


def _parse(texts: Sequence[Text], reading: CollectionReading) -> ParsedItems[Collection]:
    """Read all values of all files as one collection. A repeated value is left out, with a warning."""
    noted = [Notes(text.name) for text in texts]
    collected = [value for text, notes in zip(texts, noted, strict=True) for value in _collected(text, notes)]
    first: dict[str, Value] = {}
    for value, notes in collected:
        same = first.setdefault(value.value.casefold(), value)
        if same is not value:
            notes.warning(value.value, "is already among the values, and is left out")
    values = tuple(first.values())
    other = Notes("values")
    if not any(notes.failed for notes in noted):
        with _refusals_noted(other):
            checked(values)
    name = (texts[0].stem if len(texts) == 1 else "") if texts else ""
    tried = _trial_texts(reading.texts, reading.on_trial, other)
    every = [*noted, other]
    sheets = () if any(notes.failed for notes in every) else reading.people
    people = dict(_people(sheets, values, other)) if sheets else {}
    if any(notes.failed for notes in every):
        return ParsedItems([], findings_of(every))
    return ParsedItems([Collection(id_part(name) or "values", values, tried, people)], findings_of(every))


@contextmanager
def _refusals_noted(notes: Notes) -> Iterator[None]:
    """Turn the problems of an InputError into notes."""
    try:
        yield
    except InputError as error:
        notes.refused(error)


def _collected(text: Text, notes: Notes) -> Iterator[tuple[Value, Notes]]:
    with _refusals_noted(notes):
        for value in rows_of(text):
            yield value, notes


def _trial_texts(given: Text | None, count: int, notes: Notes) -> tuple[TrialText, ...]:
    """The explanations about `count` randomly chosen dilemmas. Failed messages and null conditions are left out."""
    if given is None:
        return ()
    with _refusals_noted(notes):
        table = given.table()
        if "explanation" not in table.columns:
            notes.error("texts", describe_missing(["explanation"], "texts", ["explanation", "dilemma", "verdict"]))
            return ()
        rows = list(_usable_rows(table, notes))
        dilemmas = sorted({row.dilemma for row in rows})
        drawn = set(Draw("dilemmas on trial").sample(dilemmas, min(count, len(dilemmas))))
        kept = tuple(row for row in rows if row.dilemma in drawn)
        if not kept:
            notes.error("texts", "has no explanation")
        elif len(kept) > _MOST_TEXTS:
            notes.error(
                "texts", f"has {len(kept):,} explanations of the chosen dilemmas; the maximum is {_MOST_TEXTS:,}"
            )
        return kept
    return ()


def _usable_rows(table: pl.DataFrame, notes: Notes) -> Iterator[TrialText]:
    """The rows with an explanation. Without a column `dilemma`, each row is treated as a dilemma of its own."""
    for number, row in enumerate(table.iter_rows(named=True), 1):
        said, trial = str(row["explanation"] or "").strip(), str(row.get("deliberation") or "")
        if not said or trial.startswith("null/"):
            continue
        if (reason := unreadable(said)) is not None or len(said) > _LONGEST_TEXT:
            notes.error("texts", f"row {number} {reason or f'has more than {_LONGEST_TEXT:,} characters'}")
            continue
        verdict = next((known for known in VERDICTS if known == row.get("verdict")), None)
        yield TrialText(str(row.get("dilemma") or number), said, verdict)


def _people(sheets: Sequence[Text], values: ValueList, notes: Notes) -> Iterator[tuple[str, dict[str, str]]]:
    """The categories that people gave the values, by the file names of their sheets."""
    task, _ = category_sheet(values)
    seen: set[str] = set()
    for sheet in sheets:
        if sheet.stem in seen:
            notes.error("people", f"two sheets are called {sheet.stem}: name them after the people")
        seen.add(sheet.stem)
        with _refusals_noted(notes):
            found = read_labels(sheet.read(), task, sheet.name)
            yield sheet.stem, {values[place].value: label for place, label in sorted(found.items())}


COLLECTIONS = Items(
    Collection,
    "collection",
    "table of collected values (.csv, .jsonl, .parquet), or a folder of such tables, with the columns value and, if"
    " there are any, definition",
    parse=_parse,
    suffixes=(".csv", ".jsonl", ".parquet"),
    reading=CollectionReading,
    spelled=lambda collection: [f"{len(collection.values)} collected values"],
)
"""The item kind of collected values, from which a list is made."""
