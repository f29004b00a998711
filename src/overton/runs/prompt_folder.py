"""Texts that replace a study's own, read from a user's folder: `overton run STUDY --prompts FOLDER`.

The folder has files with the same names and keys as Overton's own (`system.toml`, `[published]`, `overview = ...`). Or
it has a file `prompts.toml`, which says, for each key, where the text is in files made for another program:

    folder = "their-repository/prompts"    # below the folder that this file is in
    marks = "<name>"                       # how placeholders are marked there; by default as in Overton's own file

    [texts."system.published.overview"]
    file = "system_v2.txt"
    part = "overview"                      # only <overview>...</overview>; or [FROM, TO], from these words to those
    places = { agent = "agent_number" }    # Overton's name of a placeholder = their name, if different
    replace = [["one other agent", "{{ others }}"]]   # their words (or [FROM, TO]), and the words to use instead

In place of a folder, the user may name the `prompts.json` of a run's folder, to use the texts of that run.

The files may come from somebody else, so their sizes are limited, and links are not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from overton.errors import InputError, Problem, Unreadable, list_names, quoted, reason_of, suggestion
from overton.studies.prompts import OwnText, cut, mark_pattern, own_texts
from overton.studies.study import AnyStudy
from overton.studies.text_replacement import MOST_TEXTS, problems_with, unknown_text
from overton.untrusted import converted, decode_json, decode_text, decode_toml, read_file

MAPPING = "prompts.toml"
"""The file that says where the texts are, if the folder's files do not have Overton's names and keys."""
_MOST_BYTES = 2**20
_MOST_STORED_BYTES = 2**25
_decode_texts = msgspec.json.Decoder(dict[str, str]).decode
_MOST_FILES = 200
_DEEPEST = 20
"""The maximum depth of nested tables that are read. Overton's own files have three levels."""
_OURS = mark_pattern(["{{ name }}"])
_STATEMENT = re.compile(r"\{%.*?%\}", re.DOTALL)
GivenPrompts = str | Path | Mapping[str, str]
"""A folder of texts, the `prompts.toml` of such a folder, the `prompts.json` of a run, or texts by name."""


def read_prompts(study: AnyStudy, given: GivenPrompts | None) -> dict[str, str]:
    """Read the texts that replace a study's own, by name. Texts that equal the study's own are left out.

    Raises:
        InputError: the folder cannot be read, or a text cannot replace the study's own. The message names file and key.
    """
    if given is None:
        return {}
    own = own_texts(study.prompts)
    found = _given_texts(given) if isinstance(given, Mapping) else _read_folder(study, own, Path(given))
    if problems := [*found.problems, *_misplaced(study, own, found)]:
        raise InputError(problems)
    return {name: text for name, text in found.texts.items() if own[name].value != text}


@dataclass
class _Found:
    """Texts by name, with the file and key of each, and the problems found."""

    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, name: str, text: str, place: str, key: str) -> None:
        self.texts[name] = text
        self.places[name] = place, key


def _given_texts(given: Mapping[str, str]) -> _Found:
    found = _Found()
    for name, text in given.items():
        if isinstance(name, str) and isinstance(text, str):
            found.add(name, text, "prompts", name)
        else:
            found.problems.append(Problem("prompts", str(name), "must be a text, given by its name"))
    return found


def _read_texts_of_run(path: Path) -> _Found:
    """Read the `prompts.json` of a run's folder, which has texts by name."""

    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"cannot be read: {reason}")])

    found = _Found()
    for name, text in read_file(path, _MOST_STORED_BYTES, partial(decode_json, decode=_decode_texts), error).items():
        found.add(name, text, str(path), name)
    return found


def _misplaced(study: AnyStudy, own: Mapping[str, OwnText], found: _Found) -> Iterator[Problem]:
    """Problems with the texts, each reported at its file and key."""
    for problem in problems_with(study, own, found.texts):
        place, key = found.places.get(problem.key, ("prompts", problem.key))
        yield Problem(place, key, problem.reason)


def _read_folder(study: AnyStudy, own: Mapping[str, OwnText], path: Path) -> _Found:
    """Read the texts of a folder, the texts that a `prompts.toml` names, or the `prompts.json` of a run."""
    if path.suffix == ".json" and path.is_file():
        return _read_texts_of_run(path)
    if path.is_file():
        return _read_mapping(study, own, path)
    if not path.is_dir():
        raise InputError([Problem(str(path), "", "is neither a folder of prompts nor a file that lists them")])
    mapping = path / MAPPING
    if mapping.is_file() and not (_is_own_file(own) and "texts" not in _toml(mapping)):
        return _read_mapping(study, own, mapping)
    return _read_own_form(study, own, path)


def _is_own_file(own: Mapping[str, OwnText]) -> bool:
    """Whether the study itself has a prompt file with the name of the mapping."""
    return any(name.startswith(f"{MAPPING.removesuffix('.toml')}.") for name in own)


def _toml(path: Path) -> dict[str, Any]:
    def error(reason: str) -> InputError:
        return InputError([Problem(str(path), "", f"cannot be read: {reason}")])

    return read_file(path, _MOST_BYTES, lambda data: decode_toml(decode_text(data)), error)


# Files with Overton's names and keys.


def _read_own_form(study: AnyStudy, own: Mapping[str, OwnText], folder: Path) -> _Found:
    """The texts of TOML files with Overton's names. If a file is in a subfolder, its name includes the subfolder's."""
    found = _Found()
    paths = [path for path in _toml_files(folder) if path.suffix == ".toml"]
    if not paths:
        files = sorted({f"{name.partition('.')[0]}.toml" for name in own})
        raise InputError([Problem(str(folder), "", f"has no TOML file; those of {study.name} are {', '.join(files)}")])
    for path in paths:
        if path.is_symlink() or (path.parent != folder and path.parent.is_symlink()):
            found.problems.append(
                Problem(str(path), "", "is a symbolic link or inside one, and Overton does not follow links")
            )
            continue
        prefix = ".".join(path.relative_to(folder).with_suffix("").parts)
        for name, value in _flatten(prefix, _toml(path), _DEEPEST):
            _add_own(study, own, found, (name, value), path, name.removeprefix(f"{prefix}."))
    return found


def _toml_files(folder: Path) -> list[Path]:
    """The TOML files of a folder and of its subfolders.

    Raises:
        InputError: the folder cannot be listed, or has too many files.
    """
    try:
        paths = sorted(path for pattern in ("*.toml", "*/*.toml") for path in folder.glob(pattern))
    except OSError as error:
        raise InputError([Problem(str(folder), "", f"cannot be read: {reason_of(error)}")]) from error
    if len(paths) > _MOST_FILES:
        raise InputError([Problem(str(folder), "", f"has {len(paths)} TOML files; the maximum is {_MOST_FILES}")])
    return paths


def _flatten(prefix: str, table: Mapping[str, Any], deepest: int) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping) and deepest:
            yield from _flatten(f"{prefix}.{key}", value, deepest - 1)
        else:
            yield f"{prefix}.{key}", value


def _add_own(  # noqa: PLR0917
    study: AnyStudy, own: Mapping[str, OwnText], found: _Found, named: tuple[str, Any], path: Path, key: str
) -> None:
    """Add a value of a file with Overton's names and keys. Unchanged copies of Overton's values are ignored, even if a
    study cannot replace them."""
    name, value = named
    if value == own[name].value if name in own else value in _unsent(own, name):
        return
    if isinstance(value, str):
        found.add(name, value, str(path), key)
        return
    found.problems.append(Problem(str(path), key, _why_not_text(study, own, name)))


def _why_not_text(study: AnyStudy, own: Mapping[str, OwnText], name: str) -> str:
    """The reason why a value that is not a text cannot be used."""
    if name not in own:
        return unknown_text(study, own, name)
    return "is not a text" if isinstance(own[name].value, str) else "is a list and not a text, and cannot be replaced"


def _unsent(own: Mapping[str, OwnText], name: str) -> Iterator[Any]:
    """The values with this name in a study's prompt packages. The name is not that of one of the study's texts."""
    for prompts, prefix in {(text.prompts, listed.removesuffix(text.key)) for listed, text in own.items()}:
        file, *keys = name.removeprefix(prefix).split(".")
        with suppress(ValueError):  # there may be no such file
            value: Any = prompts.load(file)
            for key in keys:
                value = value.get(key) if isinstance(value, Mapping) else None
            yield value


# Files made for another program, and the mapping that names them.


class _Source(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The location of a text, and its differences from Overton's form, as described at the head of this file."""

    file: str = ""
    text: str = ""
    part: str | tuple[str, str] = ""
    marks: str | list[str] = ""
    places: dict[str, str] = {}
    replace: list[tuple[str | tuple[str, str], str]] = []


class _Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The keys of `prompts.toml`."""

    texts: dict[str, Any]
    folder: str = ""
    marks: str | list[str] = ""


def _read_mapping(study: AnyStudy, own: Mapping[str, OwnText], path: Path) -> _Found:
    """The texts that a mapping names."""
    found, sources = _Found(), dict[str, _Source]()
    try:
        mapping = converted(_toml(path), _Mapping)
    except Unreadable as error:
        raise InputError([Problem(str(path), "", error.reason)]) from None
    for name, table in _entries("", mapping.texts, _DEEPEST):
        try:
            sources[name] = converted(table, _Source)
        except Unreadable as error:
            found.problems.append(Problem(str(path), f"texts.{name}", f"{error.reason}; a text has {_KEYS}"))
    if len(sources) > MOST_TEXTS:
        raise InputError([Problem(str(path), "texts", f"names {len(sources):,} texts; the maximum is {MOST_TEXTS:,}")])
    for name, source in sources.items():
        if name not in own or not isinstance(own[name].value, str):
            reason = unknown_text(study, own, name) if name not in own else "is a list, which cannot be replaced"
            found.problems.append(Problem(str(path), f"texts.{name}", reason))
            continue
        try:
            text = _Conversion(path, name, own[name], mapping, source).text()
        except InputError as error:
            found.problems += error.problems
        else:
            found.add(name, text, str(path), f"texts.{name}")
    return found


_KEYS = ", ".join(name for name in _Source.__struct_fields__)


def _entries(prefix: str, tables: Mapping[str, Any], deepest: int) -> Iterator[tuple[str, Any]]:
    """The tables that give the location of each text, by its dotted key. The key may be quoted or not."""
    for key, table in tables.items():
        name = f"{prefix}{key}"
        nested = isinstance(table, Mapping) and table and all(isinstance(inner, Mapping) for inner in table.values())
        if nested and deepest:
            yield from _entries(f"{name}.", table, deepest - 1)
        else:
            yield name, table


@dataclass(frozen=True)
class _Conversion:
    """The conversion of another program's text to Overton's form. `path` is the path of the mapping. `name` is the name
    of the text to replace, and `own` the text itself."""

    path: Path
    name: str
    own: OwnText
    mapping: _Mapping
    source: _Source

    def text(self) -> str:
        """The text, with its placeholders marked as in Overton's own text.

        Raises:
            InputError: the file cannot be read, or lacks the part that the mapping names.
        """
        parts = self._parts()
        if left := next((match[0] for words in parts[::2] for match in _STATEMENT.finditer(words)), ""):
            reason = f"{self._where}: {quoted(left)} is a template statement, which Overton does not execute"
            raise self._error("replace", reason)
        text = self.own.prompts.spelled(self.own.key, parts)
        if self.own.prompts.cut(self.own.key, text) != parts:
            raise self._error("", f"{self._where} has words that Overton would take for a placeholder")
        return text

    @property
    def _where(self) -> str:
        return self.source.file or "text"

    def _parts(self) -> tuple[str, ...]:
        """The text, split at its placeholders, which have Overton's names."""
        pieces: list[str | tuple[str, ...]] = [self._cut_out(self._read())]
        for theirs, ours in self.source.replace:
            words = theirs if isinstance(theirs, str) else self._between(theirs, pieces)
            if not words or not any(isinstance(piece, str) and words in piece for piece in pieces):
                raise self._error("replace", f"{quoted(words)} is not in {self._where}")
            made = cut(ours, _OURS)
            pieces = [part for piece in pieces for part in _replaced(piece, words, made)]
        return _joined(self._places(piece) if isinstance(piece, str) else piece for piece in pieces)

    def _places(self, words: str) -> tuple[str, ...]:
        ours = {theirs: name for name, theirs in self.source.places.items()}
        marks = self.source.marks or self.mapping.marks
        try:
            given = [marks] if isinstance(marks, str) else marks
            parts = list(cut(words, mark_pattern(given)) if marks else self.own.prompts.cut(self.own.key, words))
        except ValueError as error:
            raise self._error("marks", str(error)) from None
        parts[1::2] = [self._place(ours.get(place, place), place) for place in parts[1::2]]
        return tuple(parts)

    def _place(self, name: str, theirs: str) -> str:
        """Overton's name of a placeholder, after a check that the replaced text has it. `theirs` is the name in the
        other program's text."""
        known = sorted({*self.own.prompts.cut(self.own.key, self.own.value)[1::2]})
        if name in known:
            return name
        marks = self.source.marks or self.mapping.marks
        mark = (marks if isinstance(marks, str) else marks[0]) if marks else "{{ name }}"
        there = (
            f"the placeholders of {self.name} are {', '.join(known)}" if known else f"{self.name} has no placeholders"
        )
        reason = f"{self._where} has {mark.replace('name', theirs)}, which Overton cannot fill; {there}"
        raise self._error("places", f"{reason}{suggestion(name, known)}")

    def _cut_out(self, text: str) -> str:
        """The part of the text that replaces Overton's: the whole text, the content of a tag, or the text from some
        words to others."""
        part = self.source.part
        if not part:
            return text
        start, end = (f"<{part}>", f"</{part}>") if isinstance(part, str) else part
        found = _from_to(text, start, end)
        if not found:
            missing = end if start and start in text else start
            raise self._error("part", f"{quoted(missing)} is not in {self._where}{_tag_hint(part, text)}")
        return found

    def _between(self, ends: tuple[str, str], pieces: Sequence[str | tuple[str, ...]]) -> str:
        """The passage of the other program's text from one of the `ends` to the other. It is replaced as a whole."""
        found = (_from_to(piece, *ends) for piece in pieces if isinstance(piece, str))
        if words := next(filter(None, found), ""):
            return words
        raise self._error("replace", f"{quoted(ends[0])} to {quoted(ends[1])} is not in {self._where}")

    def _read(self) -> str:
        if bool(self.source.file) == bool(self.source.text):
            raise self._error(
                "file", "name the file with the text as `file`, or give the text itself as `text`, but not both"
            )
        if self.source.text:
            return self.source.text
        path = self._inside(f"{self.mapping.folder}/{self.source.file}" if self.mapping.folder else self.source.file)
        text = read_file(path, _MOST_BYTES, decode_text, partial(self._unreadable, path))
        return text.replace("\r\n", "\n").strip("\n")

    def _unreadable(self, path: Path, reason: str) -> InputError:
        beside: list[str] = []
        with suppress(OSError):
            beside = [] if path.exists() else [other.name for other in path.parent.iterdir()]
        return self._error("file", f"{path} cannot be read: {reason}{suggestion(path.name, beside)}")

    def _inside(self, file: str) -> Path:
        """A file below the folder of the mapping. No part of its path may be a link.

        Raises:
            InputError: the file is outside the folder, or is reached through a link.
        """
        parts = PurePosixPath(file.replace("\\", "/")).parts
        if PurePosixPath(file).is_absolute() or ".." in parts or ":" in file or "\0" in file:
            raise self._error("file", f"{quoted(file)} is not inside the folder of {self.path.name}")
        path = self.path.parent
        for part in parts:
            path /= part
            if self._is_link(path):
                raise self._error("file", f"{path} is a symbolic link, which is not followed")
        return path

    def _is_link(self, path: Path) -> bool:
        try:
            return path.is_symlink()
        except OSError as error:  # for example, a name that is too long
            raise self._unreadable(path, reason_of(error)) from error

    def _error(self, key: str, reason: str) -> InputError:
        return InputError([Problem(str(self.path), ".".join(filter(None, ["texts", self.name, key])), reason)])


def _from_to(text: str, start: str, end: str) -> str:
    """The text from the first `start` to the next `end`, including both; '' if there is no such part."""
    first = text.find(start) if start else -1
    last = text.find(end, first + len(start)) if first >= 0 and end else -1
    return text[first : last + len(end)] if last >= 0 else ""


def _replaced(piece: str | tuple[str, ...], theirs: str, ours: tuple[str, ...]) -> Iterator[str | tuple[str, ...]]:
    """A piece of the other program's text with some words replaced. Pieces that were already replaced stay as they
    are."""
    if not isinstance(piece, str):
        yield piece
        return
    for number, words in enumerate(piece.split(theirs)):
        if number:
            yield ours
        yield words


def _joined(pieces: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
    """Join split texts into one split text."""
    found = [""]
    for first, *rest in pieces:
        found[-1] += first
        found += rest
    return tuple(found)


def _tag_hint(part: str | Sequence[str], text: str) -> str:
    if not isinstance(part, str):
        return ""
    tags = list(dict.fromkeys(re.findall(r"<([A-Za-z][\w-]*)>", text)))
    return suggestion(part, tags) or (f"; its tags are {list_names(tags, 10)}" if tags else "; it has no tags")
