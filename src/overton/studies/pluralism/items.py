"""The thread with its comments, and the reference viewpoints that were found in it."""

from __future__ import annotations

import msgspec


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
