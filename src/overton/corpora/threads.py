"""Reading, checking and writing threads and threads with reference viewpoints: JSON lines, one a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from overton.corpora.draft import take_each, take_required, take_text
from overton.corpora.findings import Finding, Notes, quoted
from overton.corpora.object_lines import files_at, note_repeated, note_unknown, object_lines, write_objects
from overton.corpora.texts import kind_of, unreadable
from overton.errors import InputError
from overton.studies.pluralism.items import Comment, ReferenceThread, Thread, Viewpoint

__all__ = [
    "MAX_THREADS",
    "REFERENCES",
    "THREADS",
    "check_references",
    "check_threads",
    "read_references",
    "read_threads",
    "write_references",
    "write_threads",
]

THREADS = "threads.jsonl"
"""The name of a dataset of threads in its folder."""

REFERENCES = "references.jsonl"
"""The name of a dataset of threads with reference viewpoints in its folder."""

MAX_THREADS = 100_000

_ID = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,200}")
_MOST_VOTES = 10**12

T = TypeVar("T", Thread, ReferenceThread)
M = TypeVar("M", Comment, Viewpoint)


def read_threads(path: Path) -> list[Thread]:
    """The threads at `path` in their order: a JSONL file, or a folder with 'threads.jsonl' or such files.

    Raises:
        InputError: every problem of every file, with file, line and key.
    """
    return _items(path, _THREADS)


def read_references(path: Path) -> list[ReferenceThread]:
    """The threads with reference viewpoints at `path`: a JSONL file, or a folder (of a run) with 'references.jsonl'.

    Raises:
        InputError: every problem of every file, with file, line and key.
    """
    return _items(path, _REFERENCES)


def check_threads(path: Path) -> list[Finding]:
    """Everything that keeps the threads at `path` from being used."""
    return _findings(_read(path, _THREADS)[1])


def check_references(path: Path) -> list[Finding]:
    """Everything that keeps the threads with viewpoints at `path` from being used."""
    return _findings(_read(path, _REFERENCES)[1])


def write_threads(threads: Sequence[Thread], path: Path, *, replace: bool = False) -> Path:
    """Write `threads` to a '.jsonl' file, or as 'threads.jsonl' into a folder, whole or not at all; gives the file.

    Raises:
        InputError: the file exists already and not `replace`, or cannot be written.
    """
    return write_objects(threads, _file(path, THREADS), replace=replace)


def write_references(threads: Sequence[ReferenceThread], path: Path, *, replace: bool = False) -> Path:
    """Write threads with viewpoints to a '.jsonl' file, or as 'references.jsonl' into a folder; see `write_threads`."""
    return write_objects(threads, _file(path, REFERENCES), replace=replace)


def _file(path: Path, name: str) -> Path:
    return path if path.suffix == ".jsonl" else path / name


@dataclass(frozen=True)
class _Layout(Generic[T]):
    """How a kind of line is read: its dataset's name, what the lines are called, and the reader of one."""

    name: str
    called: str
    read: Callable[[dict[str, Any], Notes], T | None]


def _items(path: Path, layout: _Layout[T]) -> list[T]:
    items, notes = _read(path, layout)
    problems = [finding.problem() for finding in _findings(notes)]
    if problems:
        raise InputError(problems)
    return items


def _findings(notes: Iterable[Notes]) -> list[Finding]:
    return [finding for noted in notes for finding in noted.findings]


def _read(path: Path, layout: _Layout[T]) -> tuple[list[T], list[Notes]]:
    """What could be read, and the notes on all lines and files."""
    general = Notes(str(path))
    notes = [general]
    items: list[T] = []
    named: list[tuple[str, Notes]] = []
    for file in files_at(path, layout.name, general):
        for line in object_lines(file, notes):
            if len(named) == MAX_THREADS:
                line.notes.error("", f"is one line more than {MAX_THREADS:,}")
                break
            item = layout.read(line.data, line.notes)
            named.append((str(line.data.get("id", "")), line.notes))
            if item is not None:
                items.append(item)
    note_repeated(named)
    if not named and not any(noted.failed for noted in notes):
        general.error("", f"holds no {layout.called}")
    return items, notes


def _thread(data: dict[str, Any], notes: Notes) -> Thread | None:
    note_unknown(data, Thread, notes)
    texts = _texts(data, notes)
    comments = _members(data, "comments", notes, _comment)
    return None if notes.failed or comments is None else Thread(**texts, comments=comments)


def _reference(data: dict[str, Any], notes: Notes) -> ReferenceThread | None:
    if "comments" in data and "viewpoints" not in data:
        notes.error("", "is a thread without viewpoints; 'overton items references' makes them")
        return None
    note_unknown(data, ReferenceThread, notes)
    texts = _texts(data, notes)
    method = take_required(data, "method", notes) or ""
    viewpoints = _members(data, "viewpoints", notes, _viewpoint)
    if notes.failed or viewpoints is None:
        return None
    return ReferenceThread(**texts, viewpoints=viewpoints, method=method)


_THREADS = _Layout(THREADS, "threads", _thread)
_REFERENCES = _Layout(REFERENCES, "threads with viewpoints", _reference)


def _texts(data: dict[str, Any], notes: Notes) -> dict[str, str]:
    """The id, the community, the title, and the text, which may be empty."""
    found = {key: take_required(data, key, notes) or "" for key in ("id", "community", "title")}
    if found["id"] and not _ID.fullmatch(found["id"]):
        notes.error("id", f"{quoted(found['id'])} may hold letters a to z, digits, '-', '_' and '.' only")
    return {**found, "text": _text_or_empty(data, notes)}


def _text_or_empty(data: dict[str, Any], notes: Notes) -> str:
    value = data.get("text")
    if "text" not in data:
        notes.error("text", "is missing; it may be empty")
    elif not isinstance(value, str):
        notes.error("text", f"is {kind_of(value)}, not a text")
    elif (reason := unreadable(value)) is not None:
        notes.error("text", reason)
    return value.strip() if isinstance(value, str) else ""


def _members(
    data: dict[str, Any], key: str, notes: Notes, read: Callable[[dict[str, Any], str, Notes], M | None]
) -> tuple[M, ...] | None:
    """The objects of a list that is not empty, their ids different."""

    def take(value: Any, _: int, place: str) -> M | None:
        if isinstance(value, dict):
            return read(value, f"{place}.", notes)
        notes.error(place, f"is {kind_of(value)}, not an object")
        return None

    taken = take_each(data, key, notes, take)
    if taken is None:
        return None
    if not data[key]:
        notes.error(key, "is empty")
    seen: set[str] = set()
    for index, member in taken.items():
        if member.id in seen:
            notes.error(f"{key}[{index}].id", f"{quoted(member.id)} stands already in this thread")
        seen.add(member.id)
    return tuple(taken.values())


def _comment(data: dict[str, Any], prefix: str, notes: Notes) -> Comment | None:
    note_unknown(data, Comment, notes, prefix)
    name, text = (take_required(data, key, notes, prefix) for key in ("id", "text"))
    votes = _whole(data, "votes", notes, prefix)
    return Comment(name, text, votes) if name and text and votes is not None else None


def _viewpoint(data: dict[str, Any], prefix: str, notes: Notes) -> Viewpoint | None:
    note_unknown(data, Viewpoint, notes, prefix)
    name, summary = (take_required(data, key, notes, prefix) for key in ("id", "summary"))
    votes, opinions = (_whole(data, key, notes, prefix) for key in ("votes", "opinions"))
    named = take_each(data, "comments", notes, lambda value, _, place: take_text(value, place, notes), prefix)
    if opinions is not None and opinions < 1:
        notes.error(f"{prefix}opinions", f"is {opinions}; it must be 1 or more")
    if not name or not summary or votes is None or opinions is None or named is None:
        return None
    if len(set(named.values())) < len(named):
        notes.error(f"{prefix}comments", "names a comment twice; each counts once")
    return Viewpoint(name, summary, votes, tuple(named.values()), opinions)


def _whole(data: dict[str, Any], key: str, notes: Notes, prefix: str) -> int | None:
    value = data.get(key)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _MOST_VOTES:
        return value
    if key not in data:
        reason = "is missing"
    elif isinstance(value, int | float) and not isinstance(value, bool):
        reason = f"is {quoted(value)}, not a whole number of less than a million millions"
    else:
        reason = f"is {kind_of(value)}, not a whole number"
    notes.error(f"{prefix}{key}", reason)
    return None
