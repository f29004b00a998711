"""The published experiment that a study follows, which defines `--as-published` for runs, plans and analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any

import msgspec

from overton.errors import InputError, Problem, list_names
from overton.studies import reply_reading
from overton.studies.options import Option, StudyOptions, option_place, with_fields
from overton.studies.sections import Callout, EmptyCell, Exhibit, Section, Table

OPTION = "as_published"
"""The name of two options: in a run it requests the paper's design, and in an analysis the paper's estimator.

Calls that the option does not change keep their identity, so a run can reuse their answers.
"""
KEY = "as-published"
"""The key of the section with the paper's own tables."""
_MOST_NAMED = 12
"""The largest number of members of a list that a sentence names."""
_HELP = "Use the paper's design, prompts and judge unless an option says otherwise"


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper, selected from the tables of the study's report.

    `title` is the title of the report's table. A '*' in `title` matches anything. By default all columns are shown.
    With `columns`, only the first column and these columns are shown. `source` is the table's location in the paper, by
    default the `source` of the report's table.
    """

    title: str
    columns: tuple[str, ...] = ()
    source: str = ""


class PaperValues(msgspec.Struct, frozen=True):
    """The values that `--as-published` had when a run started: options, options of the analysis, and models by role."""

    options: dict[str, Any] = {}
    how: dict[str, Any] = {}
    roles: dict[str, list[str]] = {}


@dataclass(frozen=True)
class Paper:
    """A paper's design, parsing of replies and estimator, declared once for a study.

    citation the citation of the paper
    options  the options of runs and plans that the paper's design fixes, by name. Users can override these values
    unless   for an option of the design, the options that replace it. If the user gives a replacing option, the paper's
             value is not used
    roles    the default models of each role, as in the paper
    how      the options of the analysis that give the paper's numbers, by name
    tables   the paper's tables, in its order
    ours     one sentence on the parts that Overton has written itself, because the paper does not print them
    missing  the reason why Overton has no published design for the study; all other fields are then empty
    """

    citation: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    unless: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    how: Mapping[str, Any] = field(default_factory=dict)
    tables: tuple[PaperTable, ...] = ()
    ours: str = ""
    missing: str = ""

    def defaults(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The options of the design, except those that other options in `given` replace."""
        replaced = {name for name, others in self.unless.items() if any(given.get(other) for other in others)}
        return {name: value for name, value in self.design.items() if name not in replaced}

    @property
    def design(self) -> dict[str, Any]:
        """The options of the design, including the option that leaves a model's thinking in its replies, as papers
        do."""
        return {**self.options, reply_reading.OPTION: reply_reading.PUBLISHED}

    @property
    def values(self) -> PaperValues:
        """The paper's values, as a manifest keeps them."""
        return PaperValues(
            as_stored(self.design), as_stored(self.how), {role: list(names) for role, names in self.roles.items()}
        )


def as_stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a manifest stores them."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(values)))
    return found


def is_wanted(given: Mapping[str, Any]) -> bool:
    """Whether the user's options request the paper's design."""
    return str(given.get(OPTION)).lower() in {"true", "yes"}


def with_published(options: type[StudyOptions], published: Paper) -> type[StudyOptions]:
    """A study's options with the option that requests the paper's design; unchanged if they already have that
    option."""

    def complete(cls: type[StudyOptions], given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The given options, those of the paper's design if requested, and the options derived from them."""
        if is_wanted(given):
            check_published(published)
            given = {**published.defaults(given), **given}
        return options.complete(given, named)

    return with_fields(options, [(OPTION, Annotated[bool, Option(_HELP)], False)], complete=classmethod(complete))


def published_values(published: Paper | None, options: Mapping[str, Any]) -> PaperValues | None:
    """The paper's values for the manifest of a run with these options; None without the flag."""
    return published.values if published and options.get(OPTION) else None


def check_published(published: Paper | None) -> None:
    """Refuse `--as-published` for a study without a published design.

    Raises:
        InputError: Overton has no published design for the study; the message gives the reason.
    """
    if published is None or published.missing:
        reason = published.missing if published else "this study declares no published design"
        raise InputError([Problem(option_place(OPTION), "", reason)])


def departures(values: PaperValues, options: Mapping[str, Any], roles: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The differences in options and models between a run and the requested paper's design, one line each.

    `options` are the run's options, as stored, and `roles` the specs of its models.
    """
    for name, value in values.options.items():
        if name in options and options[name] != value:
            yield f"{name.replace('_', ' ')}: {_words(options[name])} instead of {_words(value)}"
    for role, specs in values.roles.items():
        if list(roles.get(role, ())) != specs:
            yield f"{role}: {_words(list(roles.get(role, ())))} instead of {_words(specs)}"


def _words(value: Any) -> str:
    if isinstance(value, list):
        return list_names(list(map(_words, value)), _MOST_NAMED) if value else "none"
    if isinstance(value, dict):  # for example, a value and its definition
        return str(next(iter(value.values()), ""))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def published_section(published: Paper, sections: Sequence[Section], differs: Sequence[str]) -> Section:
    """The paper's own tables, found among the study's `sections`, and the run's differences from the paper's design
    (`differs`)."""
    tables = [exhibit for section in sections for exhibit in section.exhibits if isinstance(exhibit, Table)]
    found: list[Exhibit] = [table for wanted in published.tables for table in _tables_of(wanted, tables)]
    said = f"The paper's own numbers: {published.citation}. {published.ours}"
    if differs:
        said += f" The design differs from the paper's in {'; '.join(differs)}."
    return Section(KEY, "As published", [Callout(said, summary=True), *found])


def without_lifted(sections: Sequence[Section], first: Sequence[Section]) -> list[Section]:
    """The sections, minus each table that a section in `first` already shows in full."""
    shown = {_heads(exhibit) for section in first for exhibit in section.exhibits if isinstance(exhibit, Table)}
    kept = [
        replace(section, exhibits=[each for each in section.exhibits if not _is_among(each, shown)])
        for section in sections
    ]
    return [section for section in kept if section.exhibits]


def _heads(table: Table) -> tuple[str, ...]:
    return (table.title, *(column.title for column in table.columns))


def _is_among(exhibit: Exhibit, shown: set[tuple[str, ...]]) -> bool:
    return isinstance(exhibit, Table) and _heads(exhibit) in shown


def _tables_of(wanted: PaperTable, tables: Sequence[Table]) -> Iterator[Table]:
    for table in tables:
        if fnmatchcase(table.title, wanted.title):
            kept = _kept_columns(wanted, table)
            if any(_has_number(row, kept) for row in table.rows):
                yield replace(
                    table,
                    columns=[replace(table.columns[place], detail=False) for place in kept],
                    rows=[[row[place] for place in kept] for row in table.rows],
                    note="" if wanted.columns else table.note,
                    source=wanted.source or table.source,
                )


def _kept_columns(wanted: PaperTable, table: Table) -> list[int]:
    titles = [column.title for column in table.columns]
    return [place for place, title in enumerate(titles) if not place or not wanted.columns or title in wanted.columns]


def _has_number(row: Sequence[Any], kept: Sequence[int]) -> bool:
    return any(row[place] is not None and not isinstance(row[place], EmptyCell) for place in kept[1:])
