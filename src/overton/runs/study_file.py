"""`study.toml` of a run's folder: the configuration file that repeats the run.

The file contains no API keys and no absolute paths. The files that it names are in the run's folder, except models,
collections of pages and lists of servers. If the user gave a relative path to a model, collection or list, the file has
the path from the run's folder. If the user gave an absolute path, the file has only the last part of the path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any

import msgspec

from overton.errors import InputError, command
from overton.files.atomic import write_atomic
from overton.files.toml_text import toml_text
from overton.models import parse_spec, price_of
from overton.models.arguments import LIST
from overton.models.spec import with_path
from overton.retrieval.sources import with_folder
from overton.runs.answerers import public_spec
from overton.runs.folder import FILE, ITEMS, PROMPTS, Manifest, ModelEntry
from overton.studies.options import Field, StudyOptions, fields_of
from overton.studies.study import AnyStudy

STUDY_FILE = "study.toml"

_URL_START = re.compile(r"https?://", re.IGNORECASE)


def write_study_file(run: Path, study: AnyStudy, options: StudyOptions, manifest: Manifest) -> None:
    """Write the configuration file of a run into its folder.

    Raises:
        RunError: it cannot be written.
    """
    write_atomic(run / STUDY_FILE, [study_file_text(run, study, options, manifest).encode()])


def study_file_text(run: Path, study: AnyStudy, options: StudyOptions, manifest: Manifest) -> str:
    """The configuration file of the run in this folder."""
    named = _PathsFromRun(run)
    settings = _settings(study, options, manifest, named)
    notes = [f"# Repeats this run: {command('run', '--config', STUDY_FILE, '--out', 'FOLDER')}"]
    notes += [
        f"# {name} is on the machine of this run; put it next to this file, or change the name." for name in named.left
    ]
    return "\n".join([*notes, toml_text(settings)])


class _PathsFromRun:
    """A function that writes a path as seen from a run's folder. `left` has the files of which only the name is
    written."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self.left: list[str] = []

    def __call__(self, path: str) -> str:
        if not (PurePath(path).is_absolute() or path.startswith("~")):
            try:
                return PurePath(os.path.relpath(path, self._run)).as_posix()
            except ValueError:  # on another drive
                pass
        name = re.split(r"[/\\]", path.rstrip("/\\"))[-1]
        self.left += [] if name in self.left else [name]
        return name


def _settings(
    study: AnyStudy, options: StudyOptions, manifest: Manifest, named: Callable[[str], str]
) -> dict[str, Any]:
    """The values of the configuration file, by key."""
    limits = manifest.shard.limits if manifest.shard else manifest.limits  # a shard's file describes the whole run
    precision = manifest.precision
    entries = {role: manifest.models.get(role.name, ()) for role in study.roles}
    models = {role.name: role.name not in study.retrieval for role in study.roles}
    found: dict[str, Any] = {"study": study.name, "items": ITEMS, "seed": manifest.seed}
    for role, answering in entries.items():
        written = [_answerer(entry, named, is_model=models[role.name]) for entry in answering]
        found[role.key] = written if role.several or role.name == study.first else next(iter(written), None)
    found |= {field.key: _plain(field, getattr(options, field.name)) for field in _given_fields(options)}
    found |= dict(_read_beside(study, options))
    found["prompts"] = PROMPTS if manifest.replaced else None
    found["batch"] = any(entry.batched for side in manifest.models.values() for entry in side) or None
    found["anyway"] = (manifest.first_replies is not msgspec.UNSET and manifest.first_replies.anyway) or None
    found |= {"max-cost": limits.cost, "max-calls": limits.calls}
    if precision is not None:
        found |= {"precision": dict(precision.measures), "at-most-calls": precision.calls}
    every = [entry for role, side in entries.items() if models[role.name] for entry in side]
    found["model-arg"] = {entry.name: _arguments(entry, named) for entry in every if entry.arguments}
    found["price"] = dict(_prices(every))
    for role, answering in entries.items():
        if not models[role.name] and answering:
            found[f"{role.key}-arg"] = _arguments(answering[0], named)
    return {key: value for key, value in found.items() if value not in (None, {}, [], ())}


def _given_fields(options: StudyOptions) -> Iterator[Field]:
    return (field for field in fields_of(type(options)) if not field.option.follows and not field.option.file)


def _read_beside(study: AnyStudy, options: StudyOptions) -> Iterator[tuple[str, str | list[str]]]:
    """Options whose values were read from a file next to the items. The manifest has these values, so the configuration
    file refers to the manifest."""
    for field in fields_of(study.items.reading):
        value = getattr(options, field.name, None)
        if field.option.file and value and not isinstance(value, bool):
            yield field.key, [FILE] if field.several else FILE


def _plain(field: Field, value: Any) -> Any:
    """An option's value in the form for TOML; None if the option is not set."""
    if field.several:
        return None if value is None else [_plain_value(field, each) for each in value]
    return None if value is None else _plain_value(field, value)


def _plain_value(field: Field, value: Any) -> Any:
    if field.option.texts and isinstance(value, str) and value.startswith("@"):
        return f"@{value}"  # otherwise the text would name a file
    return value if isinstance(value, str | bool | int | float) else field.word(value)


def _answerer(entry: ModelEntry, named: Callable[[str], str], *, is_model: bool) -> str:
    """A model or service in the form in which users give it."""
    spec = with_path(entry.spec, named) if is_model else with_folder(entry.spec, named)
    return spec if not is_model or entry.name == public_spec(entry.spec) else f"{entry.name}={spec}"


def _arguments(entry: ModelEntry, named: Callable[[str], str]) -> dict[str, Any]:
    """The arguments of a model or service by key. A key that is repeated has a list of values."""
    found: dict[str, list[Any]] = {}
    for key, value in entry.arguments:
        found.setdefault(key, []).append(_native(_listed(value, named) if key == "base_url" else value))
    return {key: values if len(values) > 1 else values[0] for key, values in found.items()}


def _listed(address: str, named: Callable[[str], str]) -> str:
    """An address, unchanged, or a file that lists addresses, with its path as seen from the run's folder."""
    listed = address.removeprefix(LIST)
    return address if listed == address or _URL_START.match(listed) else f"{LIST}{named(listed)}"


def _native(word: str) -> Any:
    """The number or boolean that this word represents, otherwise the word itself."""
    readers: Sequence[Callable[[str], Any]] = (int, float)
    for read in readers:
        try:
            if repr(value := read(word)) == word and word not in ("inf", "nan", "-inf"):
                return value
        except ValueError:
            continue
    return {"true": True, "false": False}.get(word, word)


def _prices(entries: Iterable[ModelEntry]) -> Iterator[tuple[str, list[float]]]:
    """The prices that differ from Overton's own list, by model."""
    for entry in entries:
        own = entry.price
        if own is None:
            continue
        listed = _listed_price(entry)
        if listed is None or (listed.input, listed.output) != (own.input, own.output):
            yield entry.name, [own.input, own.output]


def _listed_price(entry: ModelEntry) -> Any:
    try:
        return price_of(parse_spec(entry.spec))
    except InputError:  # a provider that this version does not know
        return None
