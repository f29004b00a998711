"""Texts in a table made outside Overton. Each row is a text, with columns for the judge and a column for the text's
source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from overton.errors import InputError
from overton.studies.items import Items
from overton.studies.options import Option
from overton.studies.parsing import (
    Notes,
    ParsedItems,
    Text,
    findings_of,
    id_part,
    note_id,
    note_repeated,
    take_text,
    unreadable,
)
from overton.studies.tables import describe_missing
from overton.studies.texts.question_files import OWN_COLUMNS, TableQuestion, read_question
from overton.studies.texts.questions import columns_of

if TYPE_CHECKING:
    import polars as pl

UNNAMED = "unnamed"
"""The model of a text if the table does not name it."""
_MOST_ROWS = 100_000
_MOST_CHARACTERS = 100_000


class TextRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One row of a table of texts.

    `columns` are the columns for the judge, by name. `model` is the source of the text; reports compare sources.
    `group` is the cluster of similar texts (by default the text's own id), and `condition` the text's condition ('' if
    texts have no conditions).
    """

    id: str
    columns: dict[str, str]
    model: str
    group: str
    condition: str = ""


class TextReading(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options for reading a table. The question determines the required columns."""

    question: Annotated[
        Any,
        Option("Question for the judge: a TOML file, or STUDY/KEY for a question that a study defines", file=True),
    ]


def _parse(texts: Sequence[Text], reading: TextReading) -> ParsedItems[TextRow]:
    question = read_question(reading.question)
    parts = [_read_table(text, question) for text in texts]
    rows = [row for found, _ in parts for row in found]
    note_repeated((row.id, notes) for row, notes in rows)
    return ParsedItems([row for row, _ in rows], findings_of([notes for _, every in parts for notes in every]))


_Rows = list[tuple[TextRow, Notes]]


def _read_table(text: Text, question: TableQuestion) -> tuple[_Rows, list[Notes]]:
    """The usable rows of a table, each with its notes, and all notes on the table and its rows."""
    notes = Notes(text.name)
    needed = columns_of(question)
    table = _usable_table(text, needed, notes)
    if table is None:
        return [], [notes]
    start = 2 if text.suffix in (".csv", ".xlsx") else 1
    noun = "line" if text.suffix in (".csv", ".jsonl") else "row"
    stem = id_part(text.stem) or "row"
    noted = [Notes(text.name, f"{noun} {number}") for number in range(start, table.height + start)]
    rows = zip(table.iter_rows(named=True), noted, strict=True)
    made = [(_row_of(row, f"{stem}-{number:05}", needed, own), own) for number, (row, own) in enumerate(rows, 1)]
    return [(row, own) for row, own in made if row is not None], [notes, *noted]


def _usable_table(text: Text, needed: Sequence[str], notes: Notes) -> pl.DataFrame | None:
    """The columns to read. If the table cannot be used, note the error and return None."""
    import polars as pl

    try:
        table = text.table()
    except InputError as error:
        notes.refused(error)
        return None
    known = [name for name in (*OWN_COLUMNS, *needed) if name in table.columns]
    if missing := [name for name in needed if name not in table.columns]:
        notes.error("", describe_missing(missing, "texts", needed))
    elif nested := [name for name in known if table[name].dtype.is_nested()]:
        notes.error(nested[0], "contains lists or objects, not texts")
    elif not table.height:
        notes.error("", "has no texts")
    elif table.height > _MOST_ROWS:
        notes.error("", f"has more than {_MOST_ROWS:,} texts")
    return None if notes.failed else table.select(pl.col(known).cast(pl.String))


def _row_of(row: dict[str, Any], name: str, needed: Sequence[str], notes: Notes) -> TextRow | None:
    """A row, with the id `name` if the table gives no id. If the row cannot be used, note the error and return None."""
    own = {column: str(row.get(column) or "").strip() for column in OWN_COLUMNS}
    columns = {column: _take_shown(row, column, notes) for column in needed}
    for column, word in own.items():
        if (reason := unreadable(word)) is not None:
            notes.error(column, reason)
    name = own["id"] or name
    note_id(name, notes)
    if notes.failed:
        return None
    return TextRow(name, columns, own["model"] or UNNAMED, own["group"] or name, own["condition"])


def _take_shown(row: dict[str, Any], column: str, notes: Notes) -> str:
    """The text in a column that the judge reads."""
    found = take_text(row[column] or "", column, notes)
    if found is not None and len(found) > _MOST_CHARACTERS:
        notes.error(column, f"has {len(found):,} characters; at most {_MOST_CHARACTERS:,} can be judged")
    return found or ""


TEXTS = Items(
    TextRow,
    "text",
    "table of texts (.csv, .jsonl, .parquet) with the columns that the question shows, and perhaps id, model, group and"
    " condition",
    parse=_parse,
    dataset="texts.csv",
    suffixes=(".csv", ".jsonl", ".parquet"),
    reading=TextReading,
    spelled=lambda row: [f"{column}: {' '.join(text.split())[:200]}" for column, text in row.columns.items()],
)
"""Texts of any origin."""
