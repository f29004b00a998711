"""JSON lines of objects: which files a path means, their lines as objects, and writing such a file whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from overton.corpora.findings import Notes, quoted
from overton.corpora.texts import MAX_FILE_BYTES, decode, read_json
from overton.errors import InputError, Problem

__all__ = ["ObjectLine", "files_at", "note_repeated", "note_unknown", "object_lines", "write_objects"]


class ObjectLine(NamedTuple):
    """One line's object, and the notes on it."""

    data: dict[str, Any]
    notes: Notes


def files_at(path: Path, name: str, notes: Notes, *, advice: str = "finish the run, or name a file") -> list[Path]:
    """The files to read at `path`: itself; in a folder the dataset `name`, or else every '.jsonl' file.

    A run folder without its dataset is noted, with `advice`: its other files are no items.
    """
    if not path.is_dir():
        return [path]
    if (path / name).is_file():
        return [path / name]
    if (path / "journal.db").exists():
        notes.error("", f"is a run folder without {name}: {advice}")
        return []
    return sorted(file for file in path.glob("*.jsonl") if not file.name.startswith("."))


def object_lines(file: Path, notes: list[Notes], longest: int = MAX_FILE_BYTES) -> Iterator[ObjectLine]:
    """The JSON objects of a file, a line each; what is none of them is noted. New notes are added to `notes`."""
    number = 0
    try:
        with file.open("rb") as lines:
            while line := lines.readline(longest + 1):
                number += 1
                if not line.strip():
                    continue
                noted = Notes(str(file), f"line {number}")
                notes.append(noted)
                if len(line) > longest:
                    noted.error("", f"is longer than {longest:,} bytes")
                    return
                text = decode(line.rstrip(b"\r\n"), noted)
                data = read_json(text, noted) if text is not None else None
                if data is not None:
                    yield ObjectLine(data, noted)
    except OSError as error:
        notes[0].error("", f"{file.name} cannot be read: {error.strerror or error}")


def note_unknown(data: dict[str, Any], kind: type[msgspec.Struct], notes: Notes, prefix: str = "") -> None:
    """Note every key of `data` that is no field of `kind`."""
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in data:
        if key not in known:
            notes.error(f"{prefix}{quoted(key)}", f"is not a key of this layout ({', '.join(known)})")


def note_repeated(named: Iterable[tuple[str, Notes]]) -> None:
    """Note every id that stands a second time."""
    first: dict[str, Notes] = {}
    for name, notes in named:
        earlier = first.setdefault(name, notes)
        if name and earlier is not notes:
            place = f"{earlier.place}, {earlier.prefix}" if earlier.place != notes.place else earlier.prefix
            notes.error("id", f"{quoted(name)} stands already in {place}")


def write_objects(items: Sequence[msgspec.Struct], file: Path, *, replace: bool = False) -> Path:
    """Write `items` to `file`, one a line, whole or not at all; gives the file.

    Raises:
        InputError: the file exists already and not `replace`, or cannot be written.
    """
    if file.exists() and not replace:
        raise InputError([Problem(str(file), "", "exists already; nothing is ever written over")])
    encoder = msgspec.json.Encoder()
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as made:
            made.writelines(encoder.encode(item) + b"\n" for item in items)
        partial.replace(file)
    except OSError as error:
        raise InputError([Problem(str(file), "", f"cannot be written: {error.strerror or error}")]) from error
    finally:
        partial.unlink(missing_ok=True)
    return file
