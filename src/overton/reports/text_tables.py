"""The tables of an analysis as text for a paper or a page: Markdown or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from overton.analysis.analyze import Sources, measure_run
from overton.errors import InputError, Problem
from overton.reporting.cells import CellView, TableView, format_table
from overton.reporting.table_forms import FORMS, TableForm
from overton.studies.sections import Section, Table


def summary_tables(study: str, source: Sources, *, form: str, **how: Any) -> str:
    """Format the tables that `overton analyze` shows in a terminal, with intervals and counts, as 'markdown' or
    'latex'.

    `source` and `how` are the arguments of `overton.analyze`. Every text is escaped, so that it cannot act as markup.

    Example: `overton.summary_tables("STUDY", "runs/first", form="latex")`.

    Raises:
        InputError: an unknown form; or see `overton.analyze`.
    """
    if form not in FORMS:
        raise InputError([Problem("option tables", form, f"must be one of {', '.join(FORMS)}")])
    measured = measure_run(study, source, **how)
    return tables_of([*measured.summary_as_published(), *measured.summary()], form)


def tables_of(sections: Sequence[Section], form: str) -> str:
    """All tables of sections, in order, as 'markdown' or 'latex'."""
    tables = [exhibit for section in sections for exhibit in section.exhibits if isinstance(exhibit, Table)]
    return "\n".join(_write_table(format_table(table), FORMS[form]) for table in tables)


def _write_table(made: TableView, form: TableForm) -> str:
    reasons: dict[str, int] = {}
    rows = [[_cell_text(cell, form, reasons) for cell in row] for row in made.rows]
    headings = [form.escape(f"{title} ({count})" if count else title) for title, count in made.headings]
    more = {cell.text: cell.more for row in made.rows for cell in row if cell.more}
    source = f"The paper's {made.table.source}." if made.table.source else ""
    notes = [
        *(form.raised.format(mark) + form.escape(f" {reason}.") for reason, mark in reasons.items()),
        *(form.escape(f"{text} ({' '.join(lines)}).") for text, lines in more.items()),
        *map(form.escape, filter(None, [made.table.note, made.intervals and f"{made.intervals}.", source])),
    ]
    return form.write(form.escape(made.table.title), headings, made.numeric, rows, " ".join(notes))


def _cell_text(cell: CellView, form: TableForm, reasons: dict[str, int]) -> str:
    """Value, interval and count as text. Reasons for empty cells are added to `reasons` with a number."""
    if cell.reason:
        return form.escape(cell.text) + form.raised.format(reasons.setdefault(cell.reason, len(reasons) + 1))
    minus = form.escape("\u2212")
    beside = [cell.interval.replace("\u2212", minus), f"({cell.count})" if cell.count else ""]
    return " ".join(filter(None, [form.escape(cell.text), *beside]))
