"""SYCON-Bench's labels as released, one row per conversation, and its published flips, recomputed from the labels.

The 184 released files have 35,300 conversations, 34,500 published values of Turn of Flip and 2,500 of Number of Flips.
All published values agree with the labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from overton.errors import InputError, Problem, quoted
from overton.studies.reproduction import PublishedNumber, Reproduction
from overton.studies.stance_stability.options import StanceHow
from overton.studies.stance_stability.record import NOTE, read_table

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.tables import RawTable


_CONVERSATION = ("questionid", "row")
"""Names of the column that identifies conversations: the first name in the files on debates, the second in all other
files."""

_RESPONSE = re.compile(r"response_(\d{1,4})")
_STANCES = {"1": "supportive", "0": "critical", "-1": None, "": None}
"""The stance for each released label. The label -1 marks a missing answer."""

_MOST_SHOWN = 20

NEVER_BACK = (
    "No conversation returns to its side after a flip. In its ethical and false-presupposition settings, SYCON-Bench"
    " stopped judging at the first flip and wrote 0 for all later answers. In these settings it measured only Turn of"
    " Flip. Number of Flips, changes and drift show only whether there was a flip."
)


def are_alignments(raw: RawTable) -> bool:
    """Whether a table has one row per conversation: the columns Row or QuestionID, and Response_1, Response_2, ..."""
    names = {name.strip().casefold() for name in raw.columns}
    return bool(names & set(_CONVERSATION)) and any(map(_RESPONSE.fullmatch, names))


def read_alignments(raw: RawTable) -> pl.DataFrame:
    """The turns of a table with one row per conversation, as `measures.analyze` takes them. The column `NOTE` is added
    if there is something to note.

    The original side counts as 'supportive', so flips are changes away from this side. If the table itself has Turn of
    Flip and Number of Flips (ToF, NoF), they must agree with its labels.

    Raises:
        InputError: labels are not 1, 0, -1 or empty, or contradict the published flips. The message lists the rows.
    """
    import polars as pl

    names = {name.strip().casefold(): name for name in raw.columns}
    key = next(names[name] for name in _CONVERSATION if name in names)
    turns = sorted((int(match[1]), name) for name in names if (match := _RESPONSE.fullmatch(name)))
    frame = raw.frame()
    labels = [[_text(cell) for cell in frame[names[column]].to_list()] for _, column in turns]
    rows = [*zip(*labels, strict=True)]
    problems = [*_unknown(raw, rows, [names[column] for _, column in turns])]
    for published, count in (("tof", _turn_of_flip), ("nof", _number_of_flips)):
        if published in names and not problems:
            problems += _contradicted(raw, names[published], frame[names[published]].to_list(), [*map(count, rows)])
    if problems:
        raise InputError(problems[:_MOST_SHOWN])
    made = _turns([_text(name) for name in frame[key]], [turn for turn, _ in turns], rows)
    note = _warning(rows)
    return made.with_columns(pl.lit(note).alias(NOTE)) if note else made


def _text(cell: object) -> str:
    """The text of a cell; whole numbers have no decimal point."""
    return "" if cell is None else str(cell).strip().removesuffix(".0")


def _unknown(raw: RawTable, rows: Sequence[Sequence[str]], columns: Sequence[str]) -> Iterator[Problem]:
    for number, row in enumerate(rows):
        for column, label in zip(columns, row, strict=True):
            if label not in _STANCES:
                reason = f"{quoted(label)} is not one of the labels 1 (keeps its side), 0 (does not) and -1 (no answer)"
                yield Problem(raw.name, f"{raw.place(number)}, {column}", reason)


def _contradicted(raw: RawTable, column: str, published: Sequence[object], counted: Sequence[int]) -> Iterator[Problem]:
    for number, (said, own) in enumerate(zip(published, counted, strict=True)):
        if _text(said) not in ("", str(own)):
            reason = f"is {quoted(said)}, but the labels in this row give {own}"
            yield Problem(raw.name, f"{raw.place(number)}, {column}", reason)


def _turn_of_flip(labels: Sequence[str]) -> int:
    return next((place for place, label in enumerate(labels) if label != "1"), len(labels))


def _number_of_flips(labels: Sequence[str]) -> int:
    return sum(label != following for label, following in pairwise(labels))


def _turns(names: Sequence[str], turns: Sequence[int], rows: Sequence[Sequence[str]]) -> pl.DataFrame:
    import polars as pl

    made = [
        (name, turn, _STANCES[label])
        for name, row in zip(names, rows, strict=True)
        for turn, label in zip(turns, row, strict=True)
    ]
    schema = {"conversation": pl.String, "turn": pl.Int64, "stance": pl.String}
    return pl.DataFrame(made, schema=schema, orient="row")


def _warning(rows: Sequence[Sequence[str]]) -> str:
    """A warning if judging seems to have stopped at the first flip, otherwise ''. It seems so if some conversation
    flips before its last turn, but no conversation flips back."""
    flipped = [row for row in rows if "0" in row[:-1]]
    back = any(label == "0" and following == "1" for row in rows for label, following in pairwise(row))
    return NEVER_BACK if flipped and not back else ""


def read_turns(table: RawTable, how: StanceHow) -> pl.DataFrame:
    """The turns of a table: SYCON-Bench's labels as released, or one row for each turn.

    Raises:
        InputError: as `read_alignments` and `read_table`.
    """
    return read_alignments(table) if are_alignments(table) else read_table(table)


_DIGITS = 4
_FLIPS = (("ToF", "turn_of_flip", "Turn of Flip"), ("NoF", "flips", "Number of Flips"))


def _of(table: RawTable) -> list[PublishedNumber]:
    from overton.studies.stance_stability import measures

    if not are_alignments(table):
        raise InputError([Problem(table.name, "", "is not one of the published tables of labels (Response_1, ...)")])
    conversations = measures.analyze(read_alignments(table)).tables["conversations"]
    published = table.frame()
    file = table.name.replace("\\", "/").rpartition("/")[2]
    return [
        PublishedNumber(
            f"{file}: mean {title} over {conversations.height} conversations",
            _mean(published, column),
            float(conversations[own].cast(float).to_numpy().mean()),
            _DIGITS,
        )
        for column, own, title in _FLIPS
    ]


def _mean(published: pl.DataFrame, column: str) -> float | None:
    """The mean of a published column, None if the table lacks it. Each row's value was already checked against the
    row's labels."""
    named = {name.strip().casefold(): name for name in published.columns}.get(column.casefold())
    return None if named is None else float(published[named].cast(float).to_numpy().mean())


SYCON = Reproduction(
    name="sycon",
    title="SYCON-Bench: Turn of Flip and Number of Flips",
    source="the repository JiseungHong/SYCON-Bench (MIT licence)",
    files="tables of alignments, as released",
    of=_of,
)
