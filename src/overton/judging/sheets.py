"""Sheets for annotators: the judged texts as CSV with an empty column, read back as one person's labels of a task.

The sheet does not contain the judge's labels, so that the person cannot see them. They are in the task. Sheets are
passed as text, not as files.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec

from overton.errors import InputError, Problem
from overton.judging.label_tasks import USUAL_QUESTION, LabelRequest, LabelTask, task_of
from overton.untrusted import cell, uncelled

_PERSON = "person"
"""The column for the person to fill in."""

_ROW, _SHEET = "row", "sheet"
_OWN_COLUMNS = (_ROW, _SHEET, _PERSON)
_DELIMITERS = (",", ";", "\t")
_LARGEST_CELL = 10_000_000
_MOST_PROBLEMS = 20
"""The maximum number of problems that are listed. Reading then stops, because a sheet can have millions of lines."""
_LONGEST_TEXT = 30_000
"""The maximum number of characters of a text in a cell. Beyond 32,767, spreadsheets truncate a text or continue it in
the next row."""


class KeyRow(msgspec.Struct, frozen=True):
    """A row of a `SheetKey`: the unit's id, the judge's label, and the unit's group (a conversation)."""

    id: str
    label: str
    group: str


class SheetKey(msgspec.Struct, frozen=True):
    """The key of a sheet that Overton 0.2.0 wrote. Later versions use tasks instead.

    `sheet` is the sheet's name, which each row of the sheet repeats. `population` counts, by label, the units from
    which the rows were sampled. `stratified` is True if the rows were sampled label by label.
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

    def has_changed(self) -> bool:
        """Whether the key was changed by accident after it was written. The key's name is a hash of all other fields,
        and the check computes this hash again."""
        bare = msgspec.structs.replace(self, sheet="")
        return self.sheet != f"s{sha256(msgspec.json.encode(bare, order='sorted')).hexdigest()[:12]}"

    def task(self) -> LabelTask:
        """The sheet as a task with one page. The definitions of labels are unknown."""
        drawn, whole = Counter(row.label for row in self.rows), sum(self.population.values())

        def chance(label: str) -> float:
            taken, of = (drawn[label], self.population.get(label, 0)) if self.stratified else (len(self.rows), whole)
            return taken / of if of else 0.0

        return task_of(
            LabelTask(
                name="",
                study=self.study,
                what=self.what,
                judge=self.judge,
                question=USUAL_QUESTION,
                labels=dict.fromkeys(self.labels, ""),
                seed=self.seed,
                design="stratified" if self.stratified else "plain",
                population=self.population,
                groups=len({row.group for row in self.rows}),
                rows=tuple(LabelRequest(row.id, row.label, row.group, chance(row.label)) for row in self.rows),
                people=(tuple(range(len(self.rows))),),
            )
        )


def write_sheet(task: LabelTask, texts: Sequence[Mapping[str, str]]) -> str:
    """The sheet as CSV. Its columns are `row`, those of `texts` in order, `person`, and `sheet` with the task's name.

    `texts` has, for each of the task's rows, the texts that a person sees. Every cell is in quotation marks, and
    `untrusted.cell` prevents formulas, whatever the delimiter. A text that is too long for a spreadsheet's cell is
    truncated, and ends with the number of omitted characters.

    Raises:
        ValueError: the numbers of texts and rows differ, or a text has the name of one of the sheet's own columns.
    """
    columns = list(texts[0]) if texts else []
    if len(texts) != len(task.rows) or set(columns) & set(_OWN_COLUMNS):
        raise ValueError("each row needs one set of texts, and no text may have the name of a sheet's column")
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow([_ROW, *map(_fit_cell, columns), _PERSON, _SHEET])
    for number, shown in enumerate(texts, 1):
        writer.writerow([number, *(_fit_cell(shown[column]) for column in columns), "", task.name])
    return made.getvalue()


def _fit_cell(text: str) -> str:
    shown = cell(text)
    more = len(shown) - _LONGEST_TEXT
    return shown if more <= 0 else f"{shown[:_LONGEST_TEXT]} [{more:,} more characters are left out]"


def read_sheet(text: str, name: str, rows: int, labels: Sequence[str], place: str = "sheet") -> dict[int, str]:
    """The labels on a filled sheet called `name`, by row from 0. Rows without a label are not in the result.

    A label may be in upper or lower case, and may be shortened to a prefix that only one of `labels` has ('sup', 's').
    The sheet must have all its `rows` rows, in any order. Other columns may be changed or missing.

    Raises:
        InputError: labels are invalid, or rows belong to another sheet, occur twice or are missing. The message lists
            the first 20 wrong lines, or the number of missing rows.
    """
    found: dict[int, str] = {}
    lines: dict[int, int] = {}
    problems: list[Problem] = []
    for line, cells in _read_rows(text, place):
        if len(problems) == _MOST_PROBLEMS:
            problems.append(
                Problem(
                    place,
                    f"line {line}",
                    (f"was not checked, nor were later lines, because {_MOST_PROBLEMS} lines are wrong"),
                )
            )
            break
        reason = _fault_of_row(cells, name, rows, lines)
        if reason:
            problems.append(Problem(place, f"line {line}", reason))
            continue
        row = int(cells[_ROW])
        lines[row] = line
        said = uncelled(cells[_PERSON].strip()).strip()
        label = _match_label(said, labels) if said else None
        if label is not None:
            found[row - 1] = label
        elif said:
            wanted = ", ".join(labels)
            problems.append(Problem(place, f"line {line}, {_PERSON}", f"is {said[:60]!r}; it must be one of {wanted}"))
    missing = rows - len(lines)
    if missing and not problems:
        problems.append(Problem(place, "", f"{missing} of {rows} rows are missing; leave a row empty instead"))
    if problems:
        raise InputError(problems)
    return found


def _read_rows(text: str, place: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The line number and the cells of each row. The delimiter is detected, because spreadsheets in some countries
    write ';'."""
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


def _fault_of_row(cells: Mapping[str, str], name: str, rows: int, lines: Mapping[int, int]) -> str:
    """The reason if a row cannot be used, otherwise ''."""
    number = cells[_ROW].strip()
    if cells[_SHEET].strip() != name:
        return f"does not belong to this key's sheet, {name}"
    if not (number.isascii() and number.isdigit() and len(number) < 10 and 1 <= int(number) <= rows):
        return f"row {number[:20]!r} is not one of 1 to {rows}"
    return f"row {number} is already in line {lines[int(number)]}" if int(number) in lines else ""


def _match_label(said: str, labels: Sequence[str]) -> str | None:
    text = said.casefold()
    whole = [label for label in labels if label.casefold() == text]
    started = [label for label in labels if label.casefold().startswith(text)]
    return (whole or started)[0] if len(whole) == 1 or (not whole and len(started) == 1) else None
