"""The thread with its comments, and the reference viewpoints that were found in it, read from JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from textwrap import shorten
from typing import Any, TypeVar

import msgspec

from overton.errors import quoted
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
    unreadable,
)


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

M = TypeVar("M", ThreadComment, Viewpoint)
B = TypeVar("B")


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
    opinions = _beside(data, "opinions", notes, _placed)
    lost = _beside(data, "lost", notes, _comment)
    _note_unplaced(opinions, viewpoints or (), notes)
    if notes.failed or viewpoints is None:
        return None
    return ReferenceThread(**texts, viewpoints=viewpoints, method=method, opinions=opinions, lost=lost)


def _objects(
    data: dict[str, Any], key: str, notes: Notes, read: Callable[[dict[str, Any], str, Notes], B | None]
) -> dict[int, B] | None:
    """The objects of a list, by index, as `read` returns them; None without a list."""

    def take(value: Any, _: int, place: str) -> B | None:
        if isinstance(value, dict):
            return read(value, f"{place}.", notes)
        notes.error(place, f"is {kind_of(value)}, not an object")
        return None

    return take_each(data, key, notes, take)


def _beside(
    data: dict[str, Any], key: str, notes: Notes, read: Callable[[dict[str, Any], str, Notes], B | None]
) -> tuple[B, ...]:
    """The objects of a list that may be missing or empty."""
    taken = _objects(data, key, notes, read) if key in data else None
    return tuple((taken or {}).values())


def _placed(data: dict[str, Any], prefix: str, notes: Notes) -> AtomicOpinion | None:
    note_unknown(data, AtomicOpinion, notes, prefix)
    text, viewpoint = (take_required(data, key, notes, prefix) for key in ("text", "viewpoint"))
    named = take_each(data, "comments", notes, lambda value, _, place: take_text(value, place, notes), prefix)
    return AtomicOpinion(text, tuple(named.values()), viewpoint) if text and viewpoint and named is not None else None


def _note_unplaced(opinions: Sequence[AtomicOpinion], viewpoints: Sequence[Viewpoint], notes: Notes) -> None:
    known = {viewpoint.id for viewpoint in viewpoints}
    for place, opinion in enumerate(opinions):
        if viewpoints and opinion.viewpoint not in known:
            notes.error(f"opinions[{place}].viewpoint", f"{quoted(opinion.viewpoint)} is not one of its viewpoints")


def _texts(data: dict[str, Any], notes: Notes) -> dict[str, str]:
    """The id, the community, the title, and the text, which may be empty."""
    found = {key: take_required(data, key, notes) or "" for key in ("id", "community", "title")}
    note_id(found["id"], notes)
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
    """The objects of a list that is not empty and whose ids differ."""
    taken = _objects(data, key, notes, read)
    if taken is None:
        return None
    if not data[key]:
        notes.error(key, "is empty")
    seen: set[str] = set()
    for index, member in taken.items():
        if member.id in seen:
            notes.error(f"{key}[{index}].id", f"{quoted(member.id)} is already in this thread")
        seen.add(member.id)
    return tuple(taken.values())


def _comment(data: dict[str, Any], prefix: str, notes: Notes) -> ThreadComment | None:
    note_unknown(data, ThreadComment, notes, prefix)
    name, text = (take_required(data, key, notes, prefix) for key in ("id", "text"))
    votes = _whole(data, "votes", notes, prefix)
    return ThreadComment(name, text, votes) if name and text and votes is not None else None


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
        notes.error(f"{prefix}comments", "names a comment twice; each counts only once")
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
    "JSONL file of threads, or a folder of them",
    parse=each_line(_thread),
    dataset="threads.jsonl",
    blank=_blank_thread,
    spelled=_spelled,
)
"""Threads as people wrote them."""

REFERENCES = Items(
    ReferenceThread,
    "thread",
    "threads with reference viewpoints: JSONL, or a run of items references",
    parse=each_line(_reference),
    dataset="references.jsonl",
    # The starter threads with viewpoints that were found and summarised by hand.
    starter=partial(starter_file, "overton.studies.pluralism", "viewpoints.jsonl"),
    blank=_blank_reference,
    spelled=_spelled,
    subjects=partial(starter_subjects, "overton.studies.pluralism"),
    facets=(Facet("community", "Community"),),
)
"""Threads with the viewpoints that were found in them."""
