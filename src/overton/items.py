"""Items of any kind: recognising them by content, listing, creating, and checking them without naming the kind.

`check`, `list`, `new`, `read` and `write` work on the items of any study. Every study that makes or judges items is a
function of its own name (`rephrase`, `audit`, `topics`, `references`), called as `overton.run` is, and so is every
command that a study adds (`dilemmas`, `threads`, `fill_templates`, `compare_clusterings`, ...).
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
from overton.studies.items import Items, title_of
from overton.studies.parsing import ItemProblem, object_lines
from overton.studies.registry import listed, own_commands, package_of, provider_of, study_named

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from overton.studies.study import AnyStudy

__all__ = ["Listing", "check", "list", "new", "read", "write"]

_KINDS_WITH_ITEMS = ("asks", "makes", "labels")
_MAX_TRIED_OBJECTS = 20
"""Most objects of a file that are tried to find a readable one."""


class Listing(msgspec.Struct, frozen=True):
    """One item of a list: its kind, the study that asks about it, its id, and what it is about."""

    kind: str
    study: str
    id: str
    title: str


def check(
    study: AnyStudy | str, path: str | Path | Traversable | None = None, **reading: Any
) -> builtins.list[ItemProblem]:
    """Everything wrong or odd about items. Nothing is asked.

    `check("STUDY", PATH)` checks them as that study's, `check("STUDY")` those that come with it, and `check(PATH)` as
    the kind recognised by their keys. `reading` are the fields of the study's `Items.reading`.

    Raises:
        InputError: an unknown option, no path and no items that come with the study, or a file whose kind cannot be
            recognised.
    """
    if path is None and isinstance(study, str | Path) and _is_path(str(study)):
        return check_items(recognised(study), study, **reading)
    return check_items(str(study) if isinstance(study, Path) else study, path, **reading)


def list_items(kind: str | Path | None = None) -> builtins.list[Listing]:
    """The items that come with studies: all of them, or those of one kind; or those in a file.

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
    """Create a file with one item to fill in, which passes its check as it is; returns the file.

    Raises:
        InputError: no such kind exists, it has no template item, or the file exists.
        RunError: it cannot be written.
    """
    study, file = kind_named(kind), Path(out)
    if file.exists():
        raise InputError([Problem(str(file), "", "exists already, and is never overwritten")])
    with blaming(study, "Items.blank"):
        item = study.items.blank() if study.items.blank else next(iter(read_items(study)))
    make_folder(file.parent)
    return write_atomic(file, [msgspec.json.format(msgspec.json.encode(item), indent=2) + b"\n"])


def kind_named(word: str) -> AnyStudy:
    """The study that asks about items of this kind: 'issue', 'issues', or the name of a study.

    Raises:
        InputError: there is none, or several packages use the word for different kinds of items.
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
    """Which packages use a word for different kinds of items, by the first study of each; '' if one kind is meant."""
    first = {package_of(study): study for study in reversed(called)}
    if len({study.items.kind for study in first.values()}) < 2:
        return ""
    named = [f"{study.name} of {provider_of(study)}" for study in reversed(first.values())]
    return f"{' and '.join(named)} both use this word for their items"


def kind_of(study: AnyStudy) -> AnyStudy:
    """The study that asks about such items, `study` itself if none does."""
    return next(
        (other for other in _studies_with_items() if other.kind == "asks" and other.items.kind is study.items.kind),
        study,
    )


def recognised(path: str | Path) -> AnyStudy:
    """The study whose items a file or folder contains, by the keys of the first readable object.

    If several studies ask about the same things, it is the first that finds no errors in them, otherwise the first.

    Raises:
        InputError: the kind cannot be recognised, with advice.
    """
    fitting = _likely_studies(Path(path))
    if not fitting:
        known = "; ".join(
            f"{study.name}: {study.items.layouts}" for study in _studies_with_items() if study.kind == "asks"
        )
        advice = "say whose items these are: overton items check STUDY PATH"
        raise InputError([Problem(str(path), "", f"contains items of no known kind ({known}); {advice}")])
    for study in fitting:
        if not any(finding.severity == "error" for finding in check_items(study, path)):
            return study
    return fitting[0]


def _likely_studies(path: Path) -> builtins.list[AnyStudy]:
    """The studies whose items are most like those at `path`; several if they ask about the same things.

    Raises:
        InputError: the first problem, if nothing can be read.
    """
    likeness = {study.name: (study, _likeness(study.items, path)) for study in _studies_with_items()}
    best = max(like for _, like in likeness.values())
    return [study for study, like in likeness.values() if like == best] if best > 0 else []


def _likeness(items: Items[Any], path: Path) -> float:
    """The share of keys that an item and the content of `path` have in common, 0 to 1."""
    keys = _first_object_keys(items, path)
    fields = msgspec.structs.fields(items.kind)
    wanted = {field.encode_name for field in fields if field.required}
    known = {field.encode_name for field in fields}
    return len(keys & known) / len(keys | wanted) if keys else 0.0


def _first_object_keys(items: Items[Any], path: Path) -> set[str]:
    """The keys of the first object of the texts that a study would read at `path`; those that a mapping names."""
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
        elif not path.is_dir() and text.suffix in items.suffixes:
            return {field.encode_name for field in msgspec.structs.fields(items.kind)}
    return set()


def _studies_with_items() -> Iterator[AnyStudy]:
    """Studies that read items; those that ask come first."""
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
    """A study that makes items, or a command that a study adds."""
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
