"""Sections as an HTML fragment for a notebook cell: tables and sentences, without a page's scripts or styles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup, escape

from overton.reporting.cells import CellView, format_table
from overton.studies.sections import Callout, Exhibit, Method, Prose, Section, Statement, Table
from overton.untrusted import visible

MOST_ROWS = 30
"""The maximum number of rows of a table in a notebook cell; the total is shown below it."""


def fragment(sections: Sequence[Section]) -> str:
    """Sections with their tables, callouts and prose as HTML. Every text is escaped, because it may be hostile."""
    parts = [
        Markup("<h4>{}</h4>{}").format(visible(section.title), Markup("").join(_format_exhibits(section.exhibits)))
        for section in sections
    ]
    return str(Markup("<div class='overton'>{}</div>").format(Markup("").join(parts)))


def facts(title: str, rows: Iterable[tuple[str, str]], beneath: Sequence[str] = ()) -> str:
    """A small table of names and values."""
    cells = (
        Markup("<tr><th style='text-align:left'>{}</th><td style='text-align:left'>{}</td></tr>").format(
            visible(name), visible(value)
        )
        for name, value in rows
    )
    said = Markup("").join(Markup("<p>{}</p>").format(visible(line)) for line in beneath)
    table = Markup("<table>{}</table>").format(Markup("").join(cells))
    return str(Markup("<div class='overton'><h4>{}</h4>{}{}</div>").format(visible(title), table, said))


def _format_exhibits(exhibits: Iterable[Exhibit]) -> Iterator[Markup]:
    for exhibit in exhibits:
        match exhibit:
            case Table():
                yield _table_markup(exhibit)
            case Callout():
                word = "Warning" if exhibit.kind == "warning" else "Note"
                yield Markup("<p><b>{}:</b> {}</p>").format(word, visible(exhibit.text))
            case Statement():
                beside = " ".join(filter(None, [exhibit.evidence, exhibit.caution]))
                yield Markup("<p>{} <small>{}</small></p>").format(visible(exhibit.text), visible(beside))
            case Prose() | Method():
                yield Markup("<p>{}</p>").format(visible(exhibit.text))


def _table_markup(table: Table) -> Markup:
    made = format_table(table)
    head = Markup("").join(
        Markup("<th>{}</th>").format(visible(f"{title} ({count})" if count else title))
        for title, count in made.headings
    )
    rows = (
        Markup("<tr>{}</tr>").format(
            Markup("").join(_cell_markup(*pair) for pair in zip(row, made.numeric, strict=True))
        )
        for row in made.rows[:MOST_ROWS]
    )
    left_out = len(made.rows) - MOST_ROWS
    more = [f"The first {MOST_ROWS} of {len(made.rows):,} rows."] if left_out > 0 else []
    beneath = " ".join(filter(None, [*more, table.note, f"{made.intervals}." if made.intervals else ""]))
    return Markup(
        "<table><caption style='text-align:left'>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
        "<p><small>{}</small></p>"
    ).format(visible(table.title), head, Markup("").join(rows), visible(beneath))


def _cell_markup(cell: CellView, numeric: bool) -> Markup:
    side = "right" if numeric else "left"
    beside = " ".join(filter(None, [cell.interval, f"({cell.count})" if cell.count else "", cell.reason]))
    text = escape(visible(f"{cell.text} {beside}".strip()))
    return Markup("<td style='text-align:{}'>{}</td>").format(side, text)
