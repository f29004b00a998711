"""Readers for threads with comments, and for threads with reference viewpoints, from JSON lines."""

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
    """A post and a crowd's comments on it.

    `id` is unique and consists of letters, digits, '-', '_' and '.'. `community` is the forum in which it was posted.
    `text` may be empty if the title is the whole post.
    """

    id: str
    community: str
    title: str
    text: str
    comments: tuple[ThreadComment, ...]


class Viewpoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster of opinions: its summary, and the comments whose opinions are in it.

    `id` is unique in its thread ('v1', 'v2', ...). `votes` is the sum over `comments`, each comment counted once.
    `opinions` is the number of atomic opinions in the cluster.
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
    """A thread with its reference viewpoints: the item of the experiments.

    `method` names the source of the viewpoints ('algorithm-1', 'embeddings', 'single-shot', ..., 'hand-made').
    `opinions` are the clustered opinions, and `lost` the comments in no viewpoint, for an audit; both are empty if
    unknown.
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
    """The `count` viewpoints with the most votes in a thread, or all viewpoints if the thread has fewer. The viewpoint
    with the most votes comes first. Viewpoints with equal votes keep the thread's order."""
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
    """The struct in an object, with each field read by its type. If a field is wrong, the problem is noted and the
    result is None. `prefix` is the location of `data`."""
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
            notes.error(f"{prefix}comments", "names a comment twice; name each comment once")
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
    """The texts or objects of a list. A required list of objects must not be empty, and its objects must have different
    ids."""
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
        notes.error("text", 'is missing; use "" for an empty text')
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
        reason = f"is {quoted(value)}, not a whole number below a million millions"
    else:
        reason = f"is {kind_of(value)}, not a whole number"
    notes.error(f"{prefix}{key}", reason)
    return None


starter_threads = partial(starter_file, "overton.studies.pluralism", "threads.jsonl")
"""Opens the bundled sample threads: one post per line, with its comments and their votes."""


_POST = ("A community", "The question of the post?", "The text of the post, or nothing.")


def _blank_thread() -> Thread:
    said = (ThreadComment("c1", "One person's answer.", 12), ThreadComment("c2", "Another person's answer.", 3))
    return Thread("my-thread", *_POST, said)


def _blank_reference() -> ReferenceThread:
    views = (
        Viewpoint("v1", "The view of the first group of comments.", 12, ("c1",), 1),
        Viewpoint("v2", "The view of the second group of comments.", 3, ("c2",), 1),
    )
    return ReferenceThread("my-thread", *_POST, views, "hand-made")


def _spelled(thread: Thread | ReferenceThread) -> list[str]:
    """The post's title, or its first words if the title is empty."""
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
    "threads with reference viewpoints: JSONL, a run of overton items references, or a TOML mapping of a table",
    parse=each_line(_reference),
    dataset="references.jsonl",
    # The bundled sample threads, with viewpoints that were found and summarised by hand.
    starter=partial(starter_file, "overton.studies.pluralism", "viewpoints.jsonl"),
    blank=_blank_reference,
    spelled=_spelled,
    subjects=partial(starter_subjects, "overton.studies.pluralism"),
    facets=(Facet("community", "Community"),),
    mapping=ItemMapping("thread", FIELDS, PARTS, make_reference, _reference, "docs/threads.md"),
)
"""Threads with their reference viewpoints."""
