"""What a clustering takes and gives: opinions in, clusters out, and counts of what went wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import msgspec

from overton.calls import Ask, Draw
from overton.studies.pluralism.items import Thread

__all__ = ["Cluster", "Clustered", "Clustering", "Counts", "Drawing", "Opinion", "plain_text"]

Drawing = Callable[[str], Draw]
"""The random choices of a trial for one purpose: `Trial.draw`."""


class Opinion(msgspec.Struct, frozen=True):
    """An atomic opinion, and the ids of the comments that state it in these words (an opinion unit of eq. 1)."""

    text: str
    comments: tuple[str, ...]


class Cluster(msgspec.Struct, frozen=True):
    """One viewpoint: its summary, and the places of its opinions in the list that was clustered, in any order."""

    summary: str
    members: tuple[int, ...]


class Counts(msgspec.Struct):
    """What went wrong while opinions were clustered.

    asked_again  unusable replies that were asked for again (an unknown cluster, broken JSON, ...)
    unread       requests without a usable reply in the end
    own          opinions in a cluster of their own because no reply named a cluster that exists
    regrouped    opinions that the grouping of the bootstrap sample left out, and that were then assigned one by one
    noise        opinions that a density method left outside of all clusters, each a cluster of its own
    replaced     clusters with an opinion's text in the place of a summary that could not be had
    """

    asked_again: int = 0
    unread: int = 0
    own: int = 0
    regrouped: int = 0
    noise: int = 0
    replaced: int = 0


class Clustered(msgspec.Struct, frozen=True):
    """Every opinion in exactly one cluster; clusters in the order in which they were made."""

    clusters: tuple[Cluster, ...]
    counts: Counts


class Clustering(Protocol):
    """A way to put a thread's opinions into clusters. There is at least one opinion, and no two have the same text."""

    async def __call__(self, thread: Thread, opinions: Sequence[Opinion], ask: Ask, draw: Drawing) -> Clustered:
        """Cluster the opinions.

        Raises:
            CallFailed: a call failed for good.
        """
        ...


def plain_text(text: str) -> str:
    """A text as it is compared: letter case, spacing, and marks around it and at its end do not count."""
    return " ".join(text.casefold().split()).strip(" .!\"'“”‘’")
