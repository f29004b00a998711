"""Paths in a configuration file. They are relative to the file's folder, and the user confirms paths that lead out of
this folder."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from overton.cli.build import PATH

if TYPE_CHECKING:
    from overton.calls import Reach
    from overton.studies.study import AnyStudy

_MOST_VISITED = 10_000
"""The maximum number of a folder's files that are searched for links."""
_QUESTION = re.compile(r"[a-z0-9-]+/[a-z0-9_-]+")


class _FileWord(click.types.StringParamType):
    """A word that names a file or folder. In a configuration file it is relative to that file's folder."""


FILE_WORD = _FileWord()


class PathReader:
    """A reader of paths in a configuration file. It resolves them from the file's folder."""

    def __init__(self, folder: Path, study: AnyStudy) -> None:
        from overton.studies.options import fields_of

        self.folder = folder
        self.files: dict[str, list[Path]] = {}
        self._opened: list[Path] = []
        self.models = {role.word for role in study.roles if role.name not in study.retrieval}
        self.sources = {role.word for role in study.roles if role.name in study.retrieval}
        self.named = study.items.named is not None
        fields = [each for kind in (study.items.reading, study.options) for each in fields_of(kind)]
        self.texts = {each.name for each in fields if each.option.texts}

    def of(self, param: click.Parameter, words: Any) -> Any:
        """The words of a parameter, with their paths made relative to the current folder."""
        change = self._change(param)
        if change is None or isinstance(words, bool):
            return words
        if param.nargs > 1:
            return [(change(name), *self._rest(row)) for name, *row in words]
        self._opened = []
        found = change(words) if isinstance(words, str) else [change(word) for word in words]
        if change not in (self._model, self._source):
            self.files[str(param.name)] = self._opened
        return found

    def _change(self, param: click.Parameter) -> Callable[[str], str] | None:
        name = str(param.name)
        if param.type is PATH or (param.type is FILE_WORD and not (name == "items" and self.named)):
            return self._path
        if name == "items":
            return self._items
        if name in self.models or param.nargs > 1:
            return self._model
        if name in self.sources:
            return self._source
        if name == "pilot":
            return self._pilot
        return self._listed if name in self.texts else None

    def _path(self, word: str) -> str:
        """The path, relative to the current folder. Two words joined by a slash name a question of an installed study
        if no such file exists."""
        path = Path(word) if word.startswith("~") else self.folder / word
        if _QUESTION.fullmatch(word) and not (_exists(path) or _exists(Path(word))):
            return word
        self._opened.append(path)
        return str(path)

    def _items(self, word: str) -> str:
        """Items that are given by words. A word is a path only if it names the file of items in a run's folder."""
        from overton.runs.folder import ITEMS

        return self._path(word) if Path(word).name == ITEMS else word

    def _pilot(self, word: str) -> str:
        return word if word.startswith("simulated/") else self._path(word)

    def _model(self, word: str) -> str:
        from overton.models.spec import name_and_spec, with_path

        spec = name_and_spec(word)[1]
        return f"{word.removesuffix(spec)}{with_path(spec, self._path)}"

    def _source(self, word: str) -> str:
        from overton.retrieval.sources import with_folder

        return with_folder(word, self._path)

    def _listed(self, word: str) -> str:
        """The word itself. If it is '@FILE', its path is made relative to the current folder."""
        return word if not re.match("@[^@]", word) else f"@{self._path(word[1:])}"

    def _rest(self, row: Sequence[str]) -> Iterator[str]:
        """The words after a name. A list of servers may be in a file, whose path is made relative to the current
        folder."""
        for word in row:
            key, _, listed = word.partition("=@")
            is_file = key == "base_url" and listed and "://" not in listed
            yield f"{key}=@{self._path(listed)}" if is_file else word


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that no file can have
        return False


def reach_of_files(paths: Iterable[Path], folder: Path, *, makes: bool) -> Iterator[Reach]:
    """The files outside of `folder` that would be opened or, with `makes`, the folders outside of `folder` that would
    be created."""
    from overton.calls import Reach

    folder = folder.resolve()
    for path in paths:
        try:
            full = path.expanduser().resolve()
            inside = full.is_relative_to(folder)
            links = list(_links_out_of(full, folder)) if inside and not makes else []
        except (OSError, RuntimeError, ValueError):  # an impossible name, reported when the file is opened
            continue
        if not inside:
            yield Reach(str(full), makes=makes, opens=not makes)
        yield from (Reach(str(link), opens=True) for link in links)


def _links_out_of(path: Path, folder: Path) -> Iterator[Path]:
    """Find the links below `path` that lead out of `folder`, and yield their targets. If there are too many files to
    search, yield the path itself."""
    visited = 0
    for where, folders, files in os.walk(path):
        for name in (*folders, *files):
            visited += 1
            inner = Path(where, name)
            if inner.is_symlink() and not (full := inner.resolve()).is_relative_to(folder):
                yield full
        if visited > _MOST_VISITED:
            yield path
            return
