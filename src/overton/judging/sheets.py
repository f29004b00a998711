"""Sheets for people: a judge's labels drawn, hidden, and compared with a person's when the sheet is read back.

A sheet is CSV: what the judge saw, and an empty column for the person. The judge's labels are in a separate key, so
that the person cannot see them. No files here: text in, text out.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.untrusted import cell, uncelled

_PERSON = "person"
"""The column for the person to fill in."""

_ROW, _SHEET = "row", "sheet"
_OWN_COLUMNS = (_ROW, _SHEET, _PERSON)
_DELIMITERS = (",", ";", "\t")
_LARGEST_CELL = 10_000_000
_MOST_PROBLEMS = 20
"""Problems that are listed; a sheet with more is read no further, since it can have millions of lines."""
_LONGEST_TEXT = 30_000
"""Characters of a text that a cell contains; beyond 32,767 a spreadsheet cuts it off, or continues in the next row."""


class KeyRow(msgspec.Struct, frozen=True):
    """What a row of the sheet is: the unit's id, the judge's label, and the group (a conversation) it belongs to."""

    id: str
    label: str
    group: str


class SheetKey(msgspec.Struct, frozen=True):
    """What the person is not shown.

    `sheet` names the sheet; `what` is the label that was judged ('stance'), `labels` the values that it can have,
    `judge` who gave them. `population` counts, by label, what the rows were drawn from; `stratified` says that they
    were drawn label by label. `rows` are in the order of the sheet.
    """

    sheet: str
    study: str
    what: str
    judge: str
    labels: tuple[str, ...]
    seed: int
    stratified: bool
    population: dict[str, int]
    rows: tuple[KeyRow, ...]


class SheetAnswers(msgspec.Struct, frozen=True):
    """A sheet as a person filled it in: their label for each of the key's rows, None if they left it empty."""

    labels: tuple[str | None, ...]

    @property
    def blank(self) -> int:
        """How many rows were left empty."""
        return self.labels.count(None)


def draw(labels: Sequence[str | None], *, size: int = 500, seed: int = 0, stratified: bool = False) -> list[int]:
    """The places of `size` labelled units, in random order; all of them if there are fewer.

    Those without a label (None) are never drawn. All are equally likely, or with `stratified` labels are as equally
    frequent as possible, so that rare labels are checked as well as common ones.

    Raises:
        InputError: `size` is less than one, or there is nothing to draw.
    """
    if size < 1:
        raise InputError([Problem("--size", str(size), "must be 1 or more")])
    places: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        if label is not None:
            places.setdefault(label, []).append(place)
    if not places:
        raise InputError([Problem("sheet", "", "there is no labelled unit to draw")])
    if not stratified:
        return Draw(f"{seed}/sheet").sample(sorted(place for some in places.values() for place in some), size)
    shares = _count_by_label({label: len(some) for label, some in places.items()}, size)
    chosen = [
        place
        for label in sorted(places)
        for place in Draw(f"{seed}/sheet/{label}").sample(places[label], shares[label])
    ]
    return Draw(f"{seed}/sheet").shuffle(chosen)


def _count_by_label(available: Mapping[str, int], size: int) -> dict[str, int]:
    """How many of each label: as equal as their numbers allow, the rarest first."""
    shares: dict[str, int] = {}
    left = size
    for done, label in enumerate(sorted(available, key=lambda name: (available[name], name))):
        shares[label] = min(available[label], left // (len(available) - done))
        left -= shares[label]
    return shares


def key_of(
    rows: Sequence[KeyRow],
    *,
    study: str,
    what: str,
    judge: str,
    labels: Sequence[str],
    seed: int,
    stratified: bool,
    population: Mapping[str, int],
) -> SheetKey:
    """The key of a sheet; its name follows from everything in it, and spreadsheets do not take it for a number."""
    key = SheetKey("", study, what, judge, tuple(labels), seed, stratified, dict(population), tuple(rows))
    return msgspec.structs.replace(key, sheet=f"s{sha256(msgspec.json.encode(key, order='sorted')).hexdigest()[:12]}")


def has_changed(key: SheetKey) -> bool:
    """Whether a key differs from what it was when written, by accident: its name follows from everything in it."""
    made = msgspec.structs.asdict(key)
    name = made.pop("sheet")
    return bool(key_of(made.pop("rows"), **made).sheet != name)


def write_sheet(key: SheetKey, texts: Sequence[Mapping[str, str]]) -> str:
    """The sheet as CSV: `row`, the columns of `texts` in order, `person`, and `sheet`, which identifies its key.

    `texts` are what a person sees of each of the key's rows. Every cell is in quotation marks, and `untrusted.cell`
    keeps each from being a formula, whatever delimiter a program assumes. A text too long for a spreadsheet's cell ends
    with how much is left out.

    Raises:
        ValueError: the numbers of texts and rows differ, or a text has a name of ours.
    """
    columns = list(texts[0]) if texts else []
    if len(texts) != len(key.rows) or set(columns) & set(_OWN_COLUMNS):
        raise ValueError("one set of texts per row is needed, under names of their own")
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow([_ROW, *map(_fit_cell, columns), _PERSON, _SHEET])
    for number, shown in enumerate(texts, 1):
        writer.writerow([number, *(_fit_cell(shown[column]) for column in columns), "", key.sheet])
    return made.getvalue()


def _fit_cell(text: str) -> str:
    shown = cell(text)
    more = len(shown) - _LONGEST_TEXT
    return shown if more <= 0 else f"{shown[:_LONGEST_TEXT]} [{more:,} more characters are left out]"


def read_sheet(text: str, key: SheetKey, place: str = "sheet") -> SheetAnswers:
    """A filled sheet. A label is read in any case, and by any prefix that only one label has ('sup', 's').

    Rows may be in any order, other columns may be changed or missing, and rows left empty are counted.

    Raises:
        InputError: by line, the first 20 labels that are not valid and rows that do not belong to this sheet or occur
            twice; or the number of rows that are missing.
    """
    found: dict[int, str | None] = {}
    lines: dict[int, int] = {}
    problems: list[Problem] = []
    for line, cells in _read_rows(text, place):
        if len(problems) == _MOST_PROBLEMS:
            problems.append(Problem(place, f"line {line}", f"not read, nor those after it: {_MOST_PROBLEMS} are wrong"))
            break
        reason = _fault_of_row(cells, key, lines)
        if reason:
            problems.append(Problem(place, f"line {line}", reason))
            continue
        row = int(cells[_ROW])
        lines[row] = line
        said = uncelled(cells[_PERSON].strip()).strip()
        found[row] = _match_label(said, key.labels) if said else None
        if said and found[row] is None:
            wanted = ", ".join(key.labels)
            problems.append(Problem(place, f"line {line}, {_PERSON}", f"is {said[:60]!r}; it must be one of {wanted}"))
    missing = len(key.rows) - len(found)
    if missing and not problems:
        problems.append(Problem(place, "", f"{missing} of {len(key.rows)} rows are missing; leave a row empty instead"))
    if problems:
        raise InputError(problems)
    return SheetAnswers(tuple(found[row] for row in range(1, len(key.rows) + 1)))


def _read_rows(text: str, place: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The line and the cells of each row; spreadsheets in some countries write ';' between cells."""
    body = text.removeprefix("\ufeff")
    head = body.split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=head.count)
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        reader = csv.DictReader(io.StringIO(body, newline=""), delimiter=delimiter)
        missing = [name for name in _OWN_COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError([Problem(place, "line 1", f"has no column {', '.join(missing)}; keep those of the sheet")])
        if twice := [name for name in _OWN_COLUMNS if (reader.fieldnames or ()).count(name) > 1]:
            raise InputError([Problem(place, "line 1", f"has column {', '.join(twice)} more than once; keep one")])
        line = reader.line_num + 1
        for cells in reader:
            if any(cells.values()):
                yield line, {name: cells[name] or "" for name in _OWN_COLUMNS}
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError([Problem(place, f"line {reader.line_num}", f"cannot be read as CSV: {error}")]) from error
    finally:
        csv.field_size_limit(before)


def _fault_of_row(cells: Mapping[str, str], key: SheetKey, lines: Mapping[int, int]) -> str:
    """The reason if a row cannot be used, otherwise ''."""
    number = cells[_ROW].strip()
    if cells[_SHEET].strip() != key.sheet:
        return f"does not belong to this key's sheet, {key.sheet}"
    if not (number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= len(key.rows)):
        return f"row {number[:20]!r} is not one of 1 to {len(key.rows)}"
    return f"row {number} is already in line {lines[int(number)]}" if int(number) in lines else ""


def _match_label(said: str, labels: Sequence[str]) -> str | None:
    text = said.casefold()
    whole = [label for label in labels if label.casefold() == text]
    started = [label for label in labels if label.casefold().startswith(text)]
    return (whole or started)[0] if len(whole) == 1 or (not whole and len(started) == 1) else None
