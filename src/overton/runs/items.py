"""Items of any study: read from files, checked, written; by default those that come with the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.files.texts import ItemFile, table_beside, text_beside, texts_at, write_objects
from overton.runs.folder import check_formats
from overton.studies.items import Items, usable
from overton.studies.options import Field, fields_of, options_of
from overton.studies.parsing import ItemProblem, ParsedItems, problem_as_error
from overton.studies.registry import study_named

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from overton.studies.study import AnyStudy


def read_items(study: AnyStudy | str, path: str | Path | Traversable | None = None, **reading: Any) -> list[Any]:
    """The items at `path`, ready to be asked; with None, those that come with the study.

    `study` is a study or its name; `reading` are the fields of the study's `Items.reading`, files by their paths.

    Raises:
        InputError: every problem in every file, with its place; an unknown option.
    """
    asked = _items_of(study)
    where = _locate_items(asked, path)
    if isinstance(where, Sequence):
        return list(where)
    return usable(_parse_items(asked, where, _reading_options(asked, where, reading)))


def check_items(
    study: AnyStudy | str, path: str | Path | Traversable | None = None, **reading: Any
) -> list[ItemProblem]:
    """Everything wrong or odd about the items that `read_items` would read. Nothing is asked.

    Raises:
        InputError: an unknown option, or no path and no items that come with the study.
    """
    asked = _items_of(study)
    where = _locate_items(asked, path)
    if isinstance(where, Sequence):
        return []
    options = _reading_options(asked, where, reading)
    try:
        return list(_parse_items(asked, where, options).findings)
    except InputError as error:
        return [problem_as_error(problem) for problem in error.problems]


def write_items(
    study: AnyStudy | str, items: Sequence[msgspec.Struct], path: str | Path, *, replace: bool = False
) -> Path:
    """Write items to a '.jsonl' file, or as the study's dataset into a folder, whole or not at all; returns the file.

    Raises:
        InputError: the file exists already, without `replace`.
        RunError: it cannot be written.
    """
    file = Path(path)
    return write_objects(items, file if file.suffix == ".jsonl" else file / _items_of(study).dataset, replace=replace)


def _items_of(study: AnyStudy | str) -> Items[Any]:
    return (study_named(study) if isinstance(study, str) else study).items


def _locate_items(items: Items[Any], path: str | Path | Traversable | None) -> Path | Traversable | Sequence[Any]:
    if path is not None:
        found = Path(path) if isinstance(path, str) else path
        if isinstance(found, Path) and (found / "manifest.json").is_file():
            check_formats(found)
        return found
    if items.starter is None:
        raise InputError([Problem(items.plural, "", f"none come with the study; give a path: {items.layouts}")])
    return items.starter()


def opened_if_file(field: Field, given: Any) -> Any:
    """The value of an option. If the option is a file, paths are opened, one or several."""
    if field.option.file and field.several and isinstance(given, list | tuple):
        return tuple([ItemFile(Path(each)) if isinstance(each, str | Path) else each for each in given])
    return ItemFile(Path(given)) if field.option.file and isinstance(given, str | Path) else given


def _reading_options(items: Items[Any], where: Path | Traversable, given: Mapping[str, Any]) -> Any:
    """The options for reading, with their files opened, including those found beside the items."""
    values = dict(given)
    for field in fields_of(items.reading):
        if field.option.file and (value := values.get(field.name)) is not None:
            values[field.name] = opened_if_file(field, value)
        elif field.option.beside:
            values[field.name] = text_beside(where, field.option.beside)
    return options_of(items.reading, values)


def _parse_items(items: Items[Any], where: Path | Traversable, options: Any) -> ParsedItems[Any]:
    parsed = _parse_at(items, where, options)
    if parsed.items or any(finding.severity == "error" for finding in parsed.findings):
        return parsed
    return ParsedItems((), [*parsed.findings, problem_as_error(Problem(str(where), "", f"contains no {items.plural}"))])


def _parse_at(items: Items[Any], where: Path | Traversable, options: Any) -> ParsedItems[Any]:
    """The items at a path: in tables that a mapping names, or in files of the study's own layouts.

    Raises:
        InputError: there is nothing, or a table whose columns are in no mapping.
    """
    if items.mapping is not None and isinstance(where, Path) and where.suffix not in items.suffixes:
        if where.suffix == ".toml":
            return items.mapping.parse(ItemFile(where), partial(table_beside, where))
        if where.suffix in (".csv", ".parquet") and where.is_file():
            advice = f"name a TOML file that says what its columns are ({items.mapping.docs})"
            raise InputError([Problem(str(where), "", f"is a table: {advice}")])
    return items.parsed(texts_at(where, suffixes=items.suffixes, dataset=items.dataset, folders=items.folders), options)
