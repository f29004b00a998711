"""Items of any kind: functions that list, create and check items, and recognise their kind by the content.

`check`, `list`, `new`, `read` and `write` work on the items of any study. For every study that makes or judges items,
this module has a function of the study's name (`rephrase`, `audit`, `topics`, `references`), called like `overton.run`.
It also has a function for every command that a study adds (`dilemmas`, `threads`, `fill_templates`,
`compare_clusterings`, ...).
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from overton.errors import InputError, Problem
from overton.files.atomic import make_folder, write_atomic
from overton.files.texts import ItemFile, texts_at
from overton.runs.items import check_items, read_items
from overton.runs.items import read_items as read
from overton.runs.items import write_items as write
from overton.runs.start import call_of
from overton.studies.installed_study import blaming
from overton.studies.item_rows import ROW_SUFFIXES, known_columns
from overton.studies.items import Items, title_of
from overton.studies.parsing import ItemProblem, object_lines, plain_field
from overton.studies.registry import listed, own_commands, package_of, provider_of, study_named

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from overton.studies.study import AnyStudy

__all__ = ["Listing", "check", "list", "new", "read", "write"]

_KINDS_WITH_ITEMS = ("asks", "makes", "labels")
_MAX_TRIED_OBJECTS = 20
"""The maximum number of objects in a file that are tried until one can be read."""


class Listing(msgspec.Struct, frozen=True):
    """One item of a list: its kind, its study, its id, and its subject."""

    kind: str
    study: str
    id: str
    title: str


def check(
    study: AnyStudy | str, path: str | Path | Traversable | None = None, **reading: Any
) -> builtins.list[ItemProblem]:
    """Errors and warnings about items. No calls are made.

    `check("STUDY", PATH)` checks the file as items of that study, `check("STUDY")` checks the study's bundled items,
    and `check(PATH)` recognises the study by the items' keys. `reading` has values for the fields of the study's
    `Items.reading`.

    Raises:
        InputError: an option is unknown, a study without bundled items is given without a path, or a file's kind
            cannot be recognised.
    """
    if path is None and isinstance(study, str | Path) and _is_path(str(study)):
        return check_items(recognised(study), study, **reading)
    return check_items(str(study) if isinstance(study, Path) else study, path, **reading)


def list_items(kind: str | Path | None = None) -> builtins.list[Listing]:
    """The bundled items of all studies, or of one kind, or the items in a file.

    `kind` is a kind ('issues', 'dilemma'), a study's name, or a path.

    Raises:
        InputError: no such kind exists, or the file cannot be read.
    """
    if kind is None:
        return [
            listing
            for study in _studies_with_items()
            if study.items.starter
            for listing in _list_items_of(study, read_items(study))
        ]
    if _is_path(str(kind)):
        study = recognised(kind)
        return [*_list_items_of(study, read_items(study, kind))]
    study = kind_named(str(kind))
    return [*_list_items_of(study, read_items(study))]


def new(kind: str, out: str | Path) -> Path:
    """Create a file with one template item and return its path. The file fails its check until all texts are replaced.

    Raises:
        InputError: no such kind exists, the kind has no template item, or the file exists.
        RunError: the file cannot be written.
    """
    study, file = kind_named(kind), Path(out)
    if file.exists():
        raise InputError([Problem(str(file), "", "exists already, and is never overwritten")])
    with blaming(study, "Items.blank"):
        item = study.items.blank() if study.items.blank else next(iter(read_items(study)))
    make_folder(file.parent)
    return write_atomic(file, [msgspec.json.format(msgspec.json.encode(item), indent=2) + b"\n"])


def kind_named(word: str) -> AnyStudy:
    """The study for the kind of items that `word` names: 'issue', 'issues', or the name of a study.

    Raises:
        InputError: no study has such items, or several packages use the word for different kinds of items.
    """
    studies = [*_studies_with_items()]
    for study in studies:
        if word in (study.name, study.name.replace("-", "_")):
            return study
    called = [study for study in studies if word in (study.items.noun, study.items.plural)]
    if shared := _describe_clash(called):
        raise InputError([Problem("kind", word, f"{shared}: name the study instead")])
    if called:
        return called[0]
    known = ", ".join(dict.fromkeys(study.items.plural for study in studies))
    raise InputError([Problem("kind", word, f"no such kind of items, and no such file; known kinds are {known}")])


def shared_words() -> builtins.list[str]:
    """One sentence for each word that several packages use for different kinds of items."""
    called: dict[str, builtins.list[AnyStudy]] = {}
    for study in _studies_with_items():
        called.setdefault(study.items.noun, []).append(study)
    return [f"items: {word}: {shared}" for word, studies in called.items() if (shared := _describe_clash(studies))]


def _describe_clash(called: Sequence[AnyStudy]) -> str:
    """The packages that use a word for different kinds of items, each with its first study, in words; '' if all use the
    word for one kind."""
    first = {package_of(study): study for study in reversed(called)}
    if len({study.items.kind for study in first.values()}) < 2:
        return ""
    named = [f"{study.name} of {provider_of(study)}" for study in reversed(first.values())]
    return f"{' and '.join(named)} both use this word for their items"


def kind_of(study: AnyStudy) -> AnyStudy:
    """The study that questions models about items of the same kind as those of `study`. If there is no such study,
    the result is `study` itself."""
    return next(
        (other for other in _studies_with_items() if other.kind == "asks" and other.items.kind is study.items.kind),
        study,
    )


def recognised(path: str | Path) -> AnyStudy:
    """The study whose items a file or folder contains, recognised by the keys of the first readable object.

    If several studies have items of this kind, the result is the study that finds the fewest errors in the items (the
    first in a tie).

    Raises:
        InputError: the kind cannot be recognised; the message gives advice.
    """
    return min(count_errors(path), key=lambda entry: entry[1])[0]


def count_errors(path: str | Path) -> builtins.list[tuple[AnyStudy, int]]:
    """The studies for the kind of items in a file or folder, each with the number of errors that it finds in the items.

    Raises:
        InputError: the kind cannot be recognised; the message gives advice.
    """
    fitting = _likely_studies(Path(path))
    if not fitting:
        known = "; ".join(
            f"{study.name}: {study.items.layouts}" for study in _studies_with_items() if study.kind == "asks"
        )
        advice = "say whose items these are: overton items check STUDY PATH"
        raise InputError([Problem(str(path), "", f"contains items of no known kind ({known}); {advice}")])
    return [(study, sum(found.severity == "error" for found in check_items(study, path))) for study in fitting]


def _likely_studies(path: Path) -> builtins.list[AnyStudy]:
    """The studies whose items are most like those at `path`; several studies if they use the same kind of items.

    Raises:
        InputError: nothing can be read. The error has the first problem.
    """
    likeness = {study.name: (study, _likeness(study.items, path)) for study in _studies_with_items()}
    best = max(like for _, like in likeness.values())
    return [study for study, like in likeness.values() if like == best] if best > 0 else []


def _likeness(items: Items[Any], path: Path) -> float:
    """The proportion of keys that an item and the content of `path` have in common, 0 to 1."""
    keys = _first_object_keys(items, path)
    fields = msgspec.structs.fields(items.kind)
    wanted = {field.encode_name for field in fields if field.required}
    known = {field.encode_name for field in fields}
    return len(keys & known) / len(keys | wanted) if keys else 0.0


def _first_object_keys(items: Items[Any], path: Path) -> set[str]:
    """The keys of the first object that a study would read at `path`. For a mapping, the keys that the mapping
    names."""
    if path.suffix == ".toml":
        return items.mapping.keys(ItemFile(path)) if items.mapping else set()
    try:
        texts = texts_at(path, suffixes=items.suffixes, dataset=items.dataset, folders=items.folders)
    except InputError:
        return set()
    for text in texts[:_MAX_TRIED_OBJECTS]:
        if text.suffix in (".json", ".jsonl"):
            for place, line in enumerate(object_lines([text])):
                if line.data is not None:
                    return set(line.data)
                if place >= _MAX_TRIED_OBJECTS:
                    break
        elif text.suffix in ROW_SUFFIXES and not path.is_dir():
            return _keys_of_rows(items, text)
    return set()


def _keys_of_rows(items: Items[Any], text: ItemFile) -> set[str]:
    """The keys of an item that a table's columns or a list's lines give."""
    kind: type[msgspec.Struct] = items.kind
    try:
        if text.suffix == ".txt":
            return {plain} if (plain := plain_field(kind)) and text.suffix not in items.suffixes else set()
        return known_columns(text.grid(), kind)
    except InputError:
        return set()


def _studies_with_items() -> Iterator[AnyStudy]:
    """Studies that read items. Studies that question models come first."""
    usable = [study for study in listed() if not study.problem and study.kind in _KINDS_WITH_ITEMS]
    for entry in sorted(usable, key=lambda study: _KINDS_WITH_ITEMS.index(study.kind)):
        yield study_named(entry.name)


def _list_items_of(study: AnyStudy, items: Any) -> Iterator[Listing]:
    for item in items:
        yield Listing(study.items.noun, study.name, item.id, title_of(item))


list = list_items


def _is_path(word: str) -> bool:
    """Whether a word that may name a study or a kind is a path: it exists, and is not a study's name."""
    return Path(word).exists() and word.replace("_", "-") not in {study.name for study in listed()}


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of a study that makes items, or of a command that a study adds."""
    makers = {study.name.replace("-", "_"): study for study in listed() if study.kind == "makes"}
    if name in makers:
        return call_of(makers[name])
    commands = {own_command.name.replace("-", "_"): own_command for own_command in own_commands()}
    if name in commands:
        return commands[name].function
    raise AttributeError(f"module 'overton.items' has no attribute {name!r}")


def __dir__() -> builtins.list[str]:
    makers = [study.name for study in listed() if study.kind == "makes"]
    return sorted(
        [
            *__all__,
            *(name.replace("-", "_") for name in (*makers, *(own_command.name for own_command in own_commands()))),
        ]
    )
