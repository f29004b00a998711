"""Intended changes, for readers: `python -m tests.unchanged.changes` writes them into CHANGELOG.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from .json_paths import MOVED
from .mapping import COMMANDS, FORMS, HEAD, NAMES, STORED

NUMBERS = """\
Every document has {head} at its head. A number, which was `value`, `low`, `high`, `n`, `method` and `level`, or
`estimate`, `interval`, `n`, `method` and `level`, is a measure, `leads` and its variants; the variant `plain` holds
`estimate`, `interval`, `n`, `method` and `why`. `level` stands at the head only, and `why` says what `method` said of a
number that is missing. Besides, `X > a, b` standing for `X > a` and `X > b`:"""
FILE = Path(__file__).parents[2] / "CHANGELOG.md"
BEGIN, END = "<!-- changed: written by python -m tests.unchanged.changes -->\n", "<!-- end -->\n"


def text() -> str:
    """The list as Markdown."""
    return "\n".join(_lines()) + "\n"


def written() -> str:
    """The part of the changelog that holds the list."""
    return FILE.read_text("utf-8").partition(BEGIN)[2].partition(END)[0]


def write() -> None:
    """Put the list into the changelog."""
    before, begin, rest = FILE.read_text("utf-8").partition(BEGIN)
    FILE.write_text(before + begin + text() + END + rest.partition(END)[2], "utf-8")


def _lines() -> Iterator[str]:
    yield from ("#### Options", "")
    yield from _table("study", "was", "is", rows=_options())
    yield from ("", "#### Commands", "")
    yield from _table("was", "is", rows=((f"`{old}`", f"`{new}`") for old, new in COMMANDS))
    yield from ("", "#### Columns of records", "")
    columns = [(study, *rule) for (study, kind), form in FORMS.items() if kind == "records" for rule in form.moved]
    if columns:
        yield from _table("study", "was", "is", rows=columns)
    else:
        yield "All have the names, types and values that they had."
    yield from ("", "#### JSON", "")
    yield from NUMBERS.format(head=_named(HEAD)).splitlines()
    for study, moved in MOVED.items():
        yield from ("", f"##### {study}", "")
        yield from _table("was", "is", rows=((f"`{old}`", f"`{new}`") for old, new in moved))
    yield from ("", "#### What else is in another form", "")
    yield from _table("of", "what", "new", rows=_forms())
    yield from (
        "",
        "Limits of intervals by a bootstrap are rounded to seven decimals, those by formulas are not rounded.",
    )


def _options() -> Iterator[tuple[str, str, str]]:
    for study, names in NAMES.items():
        for old, new in [*names.options.items(), *names.how.items()]:
            yield study, f"`{old}`", f"`{new}`"


def _forms() -> Iterator[tuple[str, str, str]]:
    for (study, kind), form in FORMS.items():
        if kind != "analysis" and not study.startswith(STORED):
            yield study, kind, _named(form.added)


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _table(*heads: str, rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    write()
