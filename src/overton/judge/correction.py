"""Correction of a judged table by human labels of some of its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overton.errors import InputError, Problem
from overton.studies.options import option_place

if TYPE_CHECKING:
    import polars as pl

    from overton.judging.judged_tables import JudgedResult
    from overton.studies.frame import Cells


_LEAST_CHANCE = 1e-12
"""The smallest probability of being sampled. A row represents 1 / probability rows. With larger weights, sums would
overflow, or one row would outweigh all others."""

POPULATIONS = ("like-these", "these")
"""The rows that the numbers describe: rows like these, or exactly these rows."""


def correct(
    table: str | Path | pl.DataFrame,
    *,
    label: str,
    judge: str,
    by: str | None = None,
    cluster: str | None = None,
    chance: str | None = None,
    group: Mapping[str, Sequence[str]] | None = None,
    value: Mapping[str, float | str] | None = None,
    population: str = "like-these",
    level: float = 0.95,
) -> JudgedResult:
    """Correct a judge's labels of all rows with human labels of some rows: proportions of labels, and their mean.

    `label` and `judge` name the columns with human labels and with the judge's labels. Unlabelled rows have an empty
    cell in the column `label`. An empty cell in the column `judge` counts as the label 'unread'. `by` names a column of
    groups to compare; rows with an empty cell belong to no group. `cluster` names a column of clusters of similar rows.
    `chance` names a column with each row's probability of being sampled for a label; without it, the labelled rows
    count as a simple random sample. `group` pools labels under a name, and `value` gives labels numbers for the mean.
    With `population="these"`, the numbers describe exactly these rows, otherwise rows like these.

    Raises:
        InputError: the table or a column cannot be used, there are no human labels, or a label is unknown.
    """
    from overton.judging.judged_tables import UNREAD, JudgedTable
    from overton.judging.judged_tables import correct as corrected

    if population not in POPULATIONS:
        raise InputError([Problem(option_place("population"), population, f"must be {' or '.join(POPULATIONS)}")])
    frame, place = _open_frame(table)
    columns = {"label": label, "judge": judge, "by": by, "cluster": cluster, "chance": chance}
    texts = {name: _column_texts(frame, place, column) for name, column in columns.items() if column is not None}
    made = JudgedTable(
        judged=[word or UNREAD for word in texts["judge"]],
        people=texts["label"],
        by=texts.get("by"),
        cluster=_fill_clusters(texts.get("cluster")),
        chance=None if chance is None else _parse_chances(texts["chance"], texts["label"], place, chance),
        groups=group or {},
        values={name: _parse_value(name, number) for name, number in (value or {}).items()},
    )
    try:
        return corrected(made, these=population == "these", level=level)
    except InputError as error:
        raise error.placed(lambda where: option_place(where) if where in _OPTIONS else place) from None


_OPTIONS = ("group", "value")


def _open_frame(table: str | Path | pl.DataFrame) -> tuple[pl.DataFrame, str]:
    from overton.files.tables import read_table

    if isinstance(table, str | Path):
        return read_table(Path(table)), str(table)
    return table, "table"


def _column_texts(frame: pl.DataFrame, place: str, column: str) -> list[str | None]:
    """A column as texts, None for empty cells."""
    import polars as pl

    if column not in frame.columns:
        raise InputError([Problem(place, column, f"is not a column; there are {', '.join(frame.columns[:30])}")])
    if frame[column].dtype.is_nested():
        raise InputError([Problem(place, column, "contains lists or objects, not labels")])
    texts = frame[column].cast(pl.String).str.strip_chars()
    return [text or None for text in texts.to_list()]


def _fill_clusters(texts: list[str | None] | None) -> list[str] | None:
    """The cluster of each row. A row with an empty cell is its own cluster."""
    if texts is None:
        return None
    return [text if text is not None else f"\0{number}" for number, text in enumerate(texts)]


def _parse_chances(texts: Sequence[str | None], label: Sequence[str | None], place: str, column: str) -> list[float]:
    """Each row's probability of being labelled. The cell may be empty if the row is unlabelled."""
    found, problems = [], []
    for line, (text, said) in enumerate(zip(texts, label, strict=True), 1):
        chance = _parse_number(text)
        usable = _LEAST_CHANCE <= chance <= 1
        if said is not None and not usable:
            reason = f"is {text!r}; must be at least {_LEAST_CHANCE:g} and at most 1"
            problems.append(Problem(place, f"row {line}, {column}", reason))
        found.append(chance if usable else 1.0)
    if problems:
        raise InputError(problems[:20])
    return found


def _parse_value(label: str, number: float | str) -> float:
    """The value of a label as a number. Raises `InputError` if it is not a number."""
    found = _parse_number(str(number))
    if not isfinite(found):
        raise InputError([Problem(option_place("value"), label, f"is {number!r}; must be a number")])
    return found


def _parse_number(word: str | None) -> float:
    try:
        return float(word or "nan")
    except ValueError:
        return float("nan")


def correction_document(found: JudgedResult) -> dict[str, Any]:
    """A corrected table as JSON values, with a row for each number."""
    from overton.studies.document import TABLE_SCHEMA

    return {
        "schema": TABLE_SCHEMA,
        "level": found.level,
        "population": found.population,
        "units": found.units,
        "labelled": found.labelled,
        "warnings": list(found.warnings),
        "rows": list(correction_rows(found)),
    }


def correction_rows(found: JudgedResult) -> Iterator[Cells]:
    """A table with a row for each variant of a number: from the judge's labels alone ('plain'), corrected, and from the
    labelled rows alone.

    Proportions and means come first; means have an empty label. The agreement of judge and people comes last.
    """
    from overton.studies.frame import number_cells
    from overton.studies.label_shares import judged_alone

    for row in found.rows:
        number = row.number
        alone = judged_alone(number.judge, found.units, found.level)
        key = {"measure": "mean" if row.label is None else "share", "label": row.label, "group": row.group}
        variants = {"plain": alone, "corrected": number.corrected, "labelled": number.labelled}
        for variant, estimate in variants.items():
            yield {**key, "against": row.against, "variant": variant, **number_cells(estimate)}
    for measure in ("alpha", "kappa", "same"):
        key = {"measure": measure, "label": None, "group": None, "against": None, "variant": "plain"}
        yield {**key, **number_cells(getattr(found.agreement, measure))}
