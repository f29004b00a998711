"""Functions that read, check and write the items of any study. The default items are the study's bundled sample
items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from overton.engine import digest
from overton.errors import InputError, Problem
from overton.files.texts import ItemFile, table_beside, text_beside, texts_at, write_objects
from overton.runs.folder import FILE, ITEMS, check_formats, read_manifest, stored_items
from overton.studies.items import Items, usable
from overton.studies.options import Field, fields_of, option_place, options_of
from overton.studies.parsing import ItemProblem, ParsedItems, problem_as_error
from overton.studies.registry import study_named

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from overton.studies.study import AnyStudy


def read_items(study: AnyStudy | str, path: str | Path | Traversable | None = None, **reading: Any) -> list[Any]:
    """Read the items at `path`, or the study's sample items if `path` is None.

    `study` is a study or its name. `reading` has values for the study's options for reading items (`Items.reading`).
    Files are given by their paths.

    Raises:
        InputError: the items have problems, or an option is unknown. The error lists every problem in every file, with
            its location.
    """
    asked = _items_of(study)
    where = _locate_items(asked, path)
    if isinstance(where, Sequence):
        return list(where)
    return usable(_parse_items(asked, where, _reading_options(asked, where, reading)))


class StoredItems(NamedTuple):
    """The items of a run, and the options for reading items. `options` has the options with values from the run's
    manifest, and `reading` has all others."""

    items: Sequence[Any]
    options: Mapping[str, Any]
    reading: Mapping[str, Any]


def items_of_run(study: AnyStudy, path: Any, reading: Mapping[str, Any]) -> StoredItems | None:
    """Return a run's items if `path` is the unchanged file of items in the folder of a run of this study. Return None
    for any other file, or if `reading` has names that are not options of the study. If an option in `reading` has the
    path of the run's manifest as its value, the value in the manifest is used.

    Raises:
        RunError: the run's folder cannot be read.
    """
    (path,) = path if isinstance(path, list | tuple) and len(path) == 1 else (path,)
    if not isinstance(path, str | Path) or Path(path).name != ITEMS or not (Path(path).parent / FILE).is_file():
        return None
    folder = Path(path).parent
    read_then = [name for name, given in reading.items() if _is_manifest(given, folder)]
    others = {name: given for name, given in reading.items() if name not in read_then}
    if not {field.name for field in fields_of(study.options)}.issuperset(reading):
        return None
    manifest = read_manifest(folder)
    items = stored_items(folder, study.items.kind) if manifest.study == study.name else ()
    if not items or digest(list(items)) != manifest.items:
        return None
    return StoredItems(items, {name: manifest.options.get(name) for name in read_then}, others)


def _is_manifest(given: Any, folder: Path) -> bool:
    """Whether the value of an option is the manifest in a folder. The value may be a file or a list with one file."""
    (file,) = given if isinstance(given, list | tuple) and len(given) == 1 else (given,)
    return isinstance(file, str | Path) and Path(file) == folder / FILE


def check_items(
    study: AnyStudy | str, path: str | Path | Traversable | None = None, **reading: Any
) -> list[ItemProblem]:
    """Errors and warnings about the items that `read_items` would read. No calls are made.

    Raises:
        InputError: an option is unknown, or there is no path and the study has no sample items.
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
    """Write items to a '.jsonl' file, or as the study's dataset into a folder. Return the file. If writing fails, no
    file remains.

    Raises:
        InputError: the file exists already and `replace` is False.
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
        raise InputError(
            [Problem(items.plural, "", (f"the study has no bundled sample items; give a path: {items.layouts}"))]
        )
    return items.starter()


def opened_if_file(field: Field, given: Any) -> Any:
    """The value of an option. If the option takes files, paths are replaced by opened files."""
    if field.option.file and field.several and isinstance(given, list | tuple):
        return tuple([ItemFile(Path(each)) if isinstance(each, str | Path) else each for each in given])
    return ItemFile(Path(given)) if field.option.file and isinstance(given, str | Path) else given


def with_texts_of_files(fields: Iterable[Field], given: Mapping[str, Any]) -> dict[str, Any]:
    """The given options. If an option takes texts, each '@FILE' or `Path` is replaced by the text of the file.

    Raises:
        InputError: a file is missing, too large or not UTF-8. The message names the option.
    """
    found = dict(given)
    for field in fields:
        if field.option.texts and found.get(field.name) is not None:
            values = found[field.name]
            several = list(values) if isinstance(values, list | tuple) else [values]
            found[field.name] = [_text_of_file(field, value) for value in several]
    return found


def _text_of_file(field: Field, value: Any) -> Any:
    """The given text, or the text of the file that the value names ('@FILE' or a `Path`). Line ends at the end of a
    file are removed. A text that begins with '@' is written with '@@'."""
    if isinstance(value, str) and value.startswith("@@"):
        return value[1:]
    if isinstance(value, str) and value.startswith("@"):
        value = Path(value[1:])
    if not isinstance(value, Path):
        return value
    try:
        text = ItemFile(value, largest=_MOST_TEXT_BYTES).read().rstrip("\r\n")
    except InputError as error:
        problems = [Problem(option_place(field.name), f"@{value}", _reason(each)) for each in error.problems]
        raise InputError(problems) from error
    if not text.strip():
        raise InputError([Problem(option_place(field.name), f"@{value}", "is empty")])
    return text


def _reason(problem: Problem) -> str:
    return f"{problem.key}: {problem.reason}" if problem.key else problem.reason


_MOST_TEXT_BYTES = 400_000
"""The maximum size in bytes of a file with one text."""


def _reading_options(items: Items[Any], where: Path | Traversable, given: Mapping[str, Any]) -> Any:
    """The options for reading, with their files opened. Some of these files are found next to the items."""
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
        InputError: there is nothing at the path, or a table without a mapping of its columns.
    """
    if items.mapping is not None and isinstance(where, Path) and where.suffix not in items.suffixes:
        if where.suffix == ".toml":
            return items.mapping.parse(ItemFile(where), partial(table_beside, where))
        if where.suffix == ".parquet" and where.is_file():
            advice = f"name a TOML file that says what its columns are ({items.mapping.docs})"
            raise InputError([Problem(str(where), "", f"is a table: {advice}")])
    return items.parsed(texts_at(where, suffixes=items.suffixes, dataset=items.dataset, folders=items.folders), options)
