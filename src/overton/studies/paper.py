"""The experiment of the paper that a study follows: what `--as-published` stands for in runs, plans and analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Annotated, Any, cast

import msgspec

from overton.errors import InputError, Problem, list_names
from overton.studies.options import Option, StudyOptions, option_place
from overton.studies.sections import Callout, EmptyCell, Exhibit, Section, Table

OPTION = "as_published"
"""The name of the option that asks for the paper's design, and of the choice that asks for its estimator."""
KEY = "as-published"
"""The key of the section with the paper's own tables."""
_MOST_NAMED = 12
"""Most members of a list that a sentence names."""
_HELP = "Take the paper's design, prompts and judge where no option says otherwise"


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper's, taken from those that the study's report has anyway.

    `title` is the title of the report's table, in which '*' stands for anything. Of its columns only these are shown,
    all by default; the first column always is. `source` is the paper's own number for it, by default the report's.
    """

    title: str
    columns: tuple[str, ...] = ()
    source: str = ""


class PaperValues(msgspec.Struct, frozen=True):
    """The values behind `--as-published` when a run started: options, choices of the analysis, answerers by role."""

    options: dict[str, Any] = {}
    how: dict[str, Any] = {}
    roles: dict[str, list[str]] = {}


@dataclass(frozen=True)
class Paper:
    """The design, reading and estimator of a paper, declared once for a study.

    citation the paper, as it is cited
    options  the options of runs and plans that its design fixes, by name. They are defaults: one that is given wins
    unless   options of which any, if given, replaces an option of the design
    roles    who answers in a role by default, as the paper had it
    how      the choices by which it computes its numbers, by name
    tables   its tables, in its order
    ours     in one sentence: which parts it does not print, so that they are the project's own
    missing  instead of all this: why the study has no published design here
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
        """The options of the design, without those that other options `given` replace."""
        replaced = {name for name, others in self.unless.items() if any(given.get(other) for other in others)}
        return {name: value for name, value in self.options.items() if name not in replaced}

    @property
    def values(self) -> PaperValues:
        """All of these values, as a manifest keeps them."""
        return PaperValues(
            as_stored(self.options), as_stored(self.how), {role: list(names) for role, names in self.roles.items()}
        )


def as_stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Options as a manifest has them once it was written and read."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(dict(values)))
    return found


def is_wanted(given: Mapping[str, Any]) -> bool:
    """Whether options, as people give them, ask for the paper's design."""
    return str(given.get(OPTION)).lower() in {"true", "yes"}


def with_published(options: type[StudyOptions], published: Paper) -> type[StudyOptions]:
    """The options of a study with the one that asks for its paper's design; unchanged if they have it."""
    if OPTION in options.__struct_fields__:
        return options

    def complete(cls: type[StudyOptions], given: dict[str, Any], named: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """The options given, with those of the paper's design if they ask for it, and those that follow from both."""
        if is_wanted(given):
            check_published(published)
            given = {**published.defaults(given), **given}
        return options.complete(given, named)

    made = msgspec.defstruct(
        options.__name__,
        [(OPTION, Annotated[bool, Option(_HELP)], False)],
        bases=(options,),
        module=options.__module__,
        frozen=True,
        forbid_unknown_fields=True,
        namespace={"__doc__": options.__doc__, "complete": classmethod(complete)},
    )
    return cast("type[StudyOptions]", made)


def published_values(published: Paper | None, options: Mapping[str, Any]) -> PaperValues | None:
    """The values behind the flag in a run with these options, as a manifest has them; None without the flag."""
    return published.values if published and options.get(OPTION) else None


def check_published(published: Paper | None) -> None:
    """Refuse to go by a paper where there is none.

    Raises:
        InputError: the study has no published design here; says why.
    """
    if published is None or published.missing:
        reason = published.missing if published else "this study declares no published design"
        raise InputError([Problem(option_place(OPTION), "", reason)])


def departures(values: PaperValues, options: Mapping[str, Any], roles: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """In which options, and in whose answers, a run differs from the design that its flag stood for, a line each.

    `options` are the run's, as stored, and `roles` the specs of those who answer in it.
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
    if isinstance(value, dict):  # such as a value with its definition
        return str(next(iter(value.values()), ""))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def published_section(published: Paper, sections: Sequence[Section], differs: Sequence[str]) -> Section:
    """The paper's own tables, found among the study's `sections`, with what in the design `differs` from it."""
    tables = [exhibit for section in sections for exhibit in section.exhibits if isinstance(exhibit, Table)]
    found: list[Exhibit] = [table for wanted in published.tables for table in _tables_of(wanted, tables)]
    said = f"The paper's own numbers: {published.citation}. {published.ours}"
    if differs:
        said += f" The design differs from the paper's in: {'; '.join(differs)}."
    return Section(KEY, "As published", [Callout(said, summary=True), *found])


def without_lifted(sections: Sequence[Section], first: Sequence[Section]) -> list[Section]:
    """The sections without tables that are shown whole in those that come first."""
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
