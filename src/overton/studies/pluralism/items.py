"""The thread with its comments, and the reference viewpoints that were found in it, read from JSON lines."""

from __future__ import annotations

from functools import cache, partial
from textwrap import shorten
from typing import Any, TypeVar, get_args

import msgspec

from overton.errors import quoted
from overton.studies.item_mappings import ItemMapping
from overton.studies.items import Facet, Items, starter_file, starter_subjects
from overton.studies.parsing import (
    Notes,
    each_line,
    kind_of,
    note_id,
    note_unknown,
    take_each,
    take_required,
    take_text,
)
from overton.studies.pluralism.thread_tables import FIELDS, PARTS, make_reference, make_thread


class ThreadComment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One comment. `votes` is its score, which can be negative; `id` is unique in its thread."""

    id: str
    text: str
    votes: int


class Thread(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A post and what a crowd said to it.

    `id` is unique and made of letters, digits, '-', '_' and '.'; `community` is where it was posted; `text` may be
    empty if the title says it all.
    """

    id: str
    community: str
    title: str
    text: str
    comments: tuple[ThreadComment, ...]


class Viewpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster of opinions: its summary, and the comments whose opinions are in it.

    `id` is unique in its thread ('v1', 'v2', ...); `votes` is the sum over `comments`, each comment counted once;
    `opinions` is how many atomic opinions the cluster contains.
    """

    id: str
    summary: str
    votes: int
    comments: tuple[str, ...]
    opinions: int


class AtomicOpinion(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One atomic opinion: its words, the comments that state it, and the id of its viewpoint."""

    text: str
    comments: tuple[str, ...]
    viewpoint: str


class ReferenceThread(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A thread with its reference viewpoints: what the experiments ask about.

    `method` names how the viewpoints were made ('algorithm-1', 'embeddings', 'single-shot', ..., 'hand-made').
    `opinions` are those that were clustered, and `lost` the comments that are in no viewpoint, for an audit; both are
    empty if unknown.
    """

    id: str
    community: str
    title: str
    text: str
    viewpoints: tuple[Viewpoint, ...]
    method: str
    opinions: tuple[AtomicOpinion, ...] = ()
    lost: tuple[ThreadComment, ...] = ()


def by_votes(thread: ReferenceThread, count: int | None = None) -> list[Viewpoint]:
    """A thread's viewpoints, most votes first, those with equal votes in the thread's order; at most `count`."""
    return sorted(thread.viewpoints, key=lambda viewpoint: -viewpoint.votes)[:count]


_MOST_VOTES = 10**12

S = TypeVar("S", bound=msgspec.Struct)


def _thread(data: dict[str, Any], notes: Notes) -> Thread | None:
    thread = _read(Thread, data, notes)
    return None if notes.failed else thread


def _reference(data: dict[str, Any], notes: Notes) -> ReferenceThread | None:
    if "comments" in data and "viewpoints" not in data:
        notes.error("", "is a thread without viewpoints; 'overton items references' makes them")
        return None
    thread = _read(ReferenceThread, data, notes)
    if thread is not None:
        known = {viewpoint.id for viewpoint in thread.viewpoints}
        for place, opinion in enumerate(thread.opinions):
            if opinion.viewpoint not in known:
                notes.error(f"opinions[{place}].viewpoint", f"{quoted(opinion.viewpoint)} is not one of its viewpoints")
    return None if notes.failed else thread


_fields = cache(msgspec.structs.fields)


def _read(kind: type[S], data: dict[str, Any], notes: Notes, prefix: str = "") -> S | None:
    """The struct in an object, each field by its type; None, noted, if one is wrong. `prefix` is where `data` is."""
    note_unknown(data, kind, notes, prefix)
    values = {
        field.name: _value(field, data, notes, prefix)
        for field in _fields(kind)
        if field.required or field.name in data
    }
    if any(value is None for value in values.values()):
        return None
    made = kind(**values)
    if isinstance(made, Viewpoint):
        if made.opinions < 1:
            notes.error(f"{prefix}opinions", f"is {made.opinions}; it must be 1 or more")
        if len(set(made.comments)) < len(made.comments):
            notes.error(f"{prefix}comments", "names a comment twice; each counts only once")
    return made


def _value(field: msgspec.structs.FieldInfo, data: dict[str, Any], notes: Notes, prefix: str) -> Any:
    key = field.name
    if field.type is int:
        return _whole(data, key, notes, prefix)
    if field.type is not str:
        return _members(field, data, notes, prefix)
    if key == "text" and not prefix:
        return _text_or_empty(data, notes)
    text = take_required(data, key, notes, prefix)
    if key == "id" and not prefix:
        note_id(text or "", notes)
    return text


def _members(
    field: msgspec.structs.FieldInfo, data: dict[str, Any], notes: Notes, prefix: str
) -> tuple[Any, ...] | None:
    """The texts or objects of a list; a list of objects that must be there is not empty, and their ids differ."""
    kind, _ = get_args(field.type)

    def take(value: Any, _: int, place: str) -> Any:
        if kind is str:
            return take_text(value, place, notes)
        if isinstance(value, dict):
            return _read(kind, value, notes, f"{place}.")
        notes.error(place, f"is {kind_of(value)}, not an object")
        return None

    taken = take_each(data, field.name, notes, take, prefix)
    if taken is None:
        return None
    if field.required and kind is not str:
        if not data[field.name]:
            notes.error(field.name, "is empty")
        seen: set[str] = set()
        for index, member in taken.items():
            if member.id in seen:
                notes.error(f"{field.name}[{index}].id", f"{quoted(member.id)} is already in this thread")
            seen.add(member.id)
    return tuple(taken.values())


def _text_or_empty(data: dict[str, Any], notes: Notes) -> str | None:
    if "text" not in data:
        notes.error("text", "is missing; it may be empty")
        return None
    value = data["text"]
    return "" if isinstance(value, str) and not value.strip() else take_text(value, "text", notes)


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


starter_threads = partial(starter_file, "overton.studies.pluralism", "threads.jsonl")
"""Opens the starter threads: one post per line, with its comments and their votes."""


_POST = ("A community", "What the post asks?", "What its writer says; may be empty.")


def _blank_thread() -> Thread:
    said = (ThreadComment("c1", "What somebody answered.", 12), ThreadComment("c2", "What somebody else answered.", 3))
    return Thread("my-thread", *_POST, said)


def _blank_reference() -> ReferenceThread:
    views = (
        Viewpoint("v1", "What the first group of comments says.", 12, ("c1",), 1),
        Viewpoint("v2", "What the second group of comments says.", 3, ("c2",), 1),
    )
    return ReferenceThread("my-thread", *_POST, views, "hand-made")


def _spelled(thread: Thread | ReferenceThread) -> list[str]:
    """The post's title; its first words if it has none."""
    return [thread.title or shorten(thread.text, 80, placeholder=" …")]


THREADS = Items(
    Thread,
    "thread",
    "JSONL file of threads, a folder of them, or a TOML mapping of a table",
    parse=each_line(_thread),
    dataset="threads.jsonl",
    blank=_blank_thread,
    spelled=_spelled,
    mapping=ItemMapping("thread", FIELDS, PARTS, make_thread, _thread, "docs/threads.md"),
)
"""Threads as people wrote them."""

REFERENCES = Items(
    ReferenceThread,
    "thread",
    "threads with reference viewpoints: JSONL, a run of items references, or a TOML mapping of a table",
    parse=each_line(_reference),
    dataset="references.jsonl",
    # The starter threads with viewpoints that were found and summarised by hand.
    starter=partial(starter_file, "overton.studies.pluralism", "viewpoints.jsonl"),
    blank=_blank_reference,
    spelled=_spelled,
    subjects=partial(starter_subjects, "overton.studies.pluralism"),
    facets=(Facet("community", "Community"),),
    mapping=ItemMapping("thread", FIELDS, PARTS, make_reference, _reference, "docs/threads.md"),
)
"""Threads with the viewpoints that were found in them."""
