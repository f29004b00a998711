"""What both simulated answerers know: the threads, and a made-up truth of who is on whose side.

Viewpoints at odd places of a thread are one camp, those at even places the other: a viewpoint supports those of its own
camp and is against the others. That holds whatever their summaries say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread

__all__ = ["BELIEVES", "DENIES", "World", "camp", "listed", "plain"]

BELIEVES, DENIES = "I believe this: ", "I do not believe this: "
"""How the simulated judge rewrites a summary, and how its negation."""

_LISTED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def camp(place: int) -> int:
    """1 for viewpoints at odd places of a thread (from 1), 2 for those at even ones."""
    return 2 - place % 2


def plain(text: str) -> str:
    """A text with its white space made single."""
    return " ".join(text.split())


def listed(text: str) -> dict[int, str]:
    """Numbered lines by their numbers."""
    return {int(number): plain(line) for number, line in _LISTED.findall(text)}


class World:
    """Threads by their posts, and viewpoints by their summaries."""

    def __init__(self, threads: Sequence[ReferenceThread]) -> None:
        self._threads: Mapping[str, ReferenceThread] = {plain(prompts.post_text(one)): one for one in threads}

    def thread(self, post: str) -> ReferenceThread | None:
        """The thread whose post this is."""
        return self._threads.get(plain(post))

    @staticmethod
    def place(thread: ReferenceThread, summary: str) -> int | None:
        """The place of the viewpoint with this summary, from 1."""
        known = plain(summary)
        places = enumerate(thread.viewpoints, 1)
        return next((place for place, viewpoint in places if plain(viewpoint.summary) == known), None)

    @staticmethod
    def voiced(thread: ReferenceThread, text: str) -> list[int]:
        """Places of the viewpoints whose summaries stand in a text."""
        said = plain(text)
        return [place for place, viewpoint in enumerate(thread.viewpoints, 1) if plain(viewpoint.summary) in said]
