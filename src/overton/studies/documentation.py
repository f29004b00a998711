"""A study's documentation in Markdown: tables of options, columns and measures, from the study's declaration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from overton.studies.options import Field, fields_of
from overton.studies.registry import study_named
from overton.studies.study import AnyStudy, Role
from overton.studies.tables import ColumnDoc, columns_of_record

_TITLES = {"options": "Options", "analysis": "Choices of the analysis", "record": "Records"}


def describe(study: str) -> str:
    """A study in Markdown: its question, its options, the columns of its records, and the tables that `analyze` reads.

    Raises:
        InputError: no such study exists, or it cannot be used.
    """
    found = study_named(study)
    chapters = [f"## {_TITLES.get(name) or name.capitalize()}\n\n{text}" for name, text in parts_of(found).items()]
    return "\n\n".join([f"# {found.title or found.name}", found.question, *chapters]) + "\n"


def parts_of(study: AnyStudy) -> dict[str, str]:
    """Tables in Markdown by subject: 'options', 'analysis', 'record', and 'table NAME' for each kind of table that the
    study reads.

    A study without measures has no 'analysis', and a study whose records are not described has no 'record'.
    Documentation pages contain the tables between `<!-- PART: STUDY -->` and `<!-- end -->`.
    """
    made = {"options": table(("option", "in Python", "", "by default", "`extend`"), _option_rows(study))}
    if study.measuring is not None:
        how = fields_of(study.measuring.how)
        made["analysis"] = table(("option", "in Python", "", "by default"), (_field_row(field)[:4] for field in how))
    if (columns := _record_columns(study)) is not None:
        made["record"] = _columns_table(columns, "always there")
    for read in study.measuring.read if study.measuring is not None else ():
        made[f"table {read.name}"] = _columns_table(read.documented(), "needed")
    return made


def _record_columns(study: AnyStudy) -> Sequence[ColumnDoc] | None:
    """The columns of the study's records. None if some columns lack a description, as is possible in studies of other
    packages."""
    try:
        return columns_of_record(study.record)
    except TypeError:
        return None


def _option_rows(study: AnyStudy) -> Iterator[Sequence[str]]:
    """The table rows for a study's roles, its items and its options."""
    for role in study.roles:
        yield _role_row(study, role)
    items = study.items
    flags = " or ".join(f"`--{name}`" for name in items.words[:2])
    starter = f"the starter {items.plural}" if items.starter else ""
    layouts = f"name of one {items.noun}; can be repeated" if items.named else items.layouts
    by_place = study.kind != "asks" and items.starter is None
    yield (f"`{items.plural.upper()}`" if by_place else flags, "`items`", layouts, starter, "")
    yield from map(_field_row, fields_of(items.reading))
    yield from (_field_row(field) for field in fields_of(study.options) if not field.option.follows)


def _role_row(study: AnyStudy, role: Role) -> Sequence[str]:
    first = role.name == study.first
    name = "models" if first else role.word
    usual = role.usual or ("none" if role.optional else "")
    return (
        f"`--{role.word.replace('_', '-')}`",
        f"`{name}`",
        role.help,
        usual,
        "adds" if first or role.several else "",
    )


def _field_row(field: Field) -> Sequence[str]:
    flag = f"`{field.name.upper()}`" if field.option.argument else f"`{field.flag}`"
    grows = ("adds" if field.several else "replaces") if field.option.extends else ""
    default = field.shown_default() or ("no" if field.kind is bool else "")
    return (flag, f"`{field.name}`", field.meant(), default, grows)


def _columns_table(columns: Sequence[ColumnDoc], needed: str) -> str:
    rows = (
        (f"`{column.column}`", column.kind, column.meaning, column.values, "yes" if column.needed else "")
        for column in columns
    )
    return table(("column", "kind", "", "values", needed), rows)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join([_markdown_row(heads), "|---" * len(heads) + "|", *map(_markdown_row, rows)])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
