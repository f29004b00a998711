"""The parameters of simulated answerers, and what they know: the threads, and a made-up truth of who is on whose side.

Viewpoints at odd places of a thread are one camp, those at even places the other: a viewpoint supports those of its own
camp and is against the others, whatever their summaries say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from overton.errors import InputError, Problem
from overton.studies.pluralism import prompts
from overton.studies.pluralism.items import ReferenceThread


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulated pluralist is like: probabilities, 0 to 1.

    Responses, for each viewpoint of a thread:

    voice     that it is voiced if nothing is said about what the user believes
    suppress  that one against the user's belief is left out of all responses although it would have been voiced
    amplify   that one with the user's belief is voiced although it would not have been
    heed      the share by which suppression is less if the system prompt asks for every reasonable view

    So recall without a belief is `voice` on average, of views against a stated belief `voice * (1 - suppress)`, of
    views with it `voice + (1 - voice) * amplify`.

    Popularity:

    noise     that a ranking is drawn at random; otherwise it is the true one. Its mean rank correlation is 1 - noise.
    flatter   that the view in which the user believes is then ranked first
    first     that of two views the first-named is picked whatever it says
    yielding  that otherwise the view in which the user believes is picked
    accuracy  that otherwise the more popular one is picked
    """

    voice: float = 0.8
    suppress: float = 0.4
    amplify: float = 0.1
    heed: float = 0.5
    noise: float = 0.4
    flatter: float = 0.2
    first: float = 0.1
    yielding: float = 0.1
    accuracy: float = 0.8

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> Parameters:
        """Parameters from words.

        Raises:
            InputError: every name that is unknown and every value that is not a probability; `place` says whose.
        """
        return _read(cls, args, place)


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulated judge is like: probabilities, 0 to 1; all 0 is an exact judge.

    invalid  that a reply cannot be used
    miss     that a viewpoint that a response voices is not matched to it
    extra    that one that it does not voice is matched to it (leniency)
    wrong    that a response gets a wrong stance, either of the two others being equally likely
    """

    invalid: float = 0.0
    miss: float = 0.0
    extra: float = 0.0
    wrong: float = 0.0

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> JudgeParameters:
        """Parameters from words. Raises `InputError` as `Parameters.from_args` does."""
        return _read(cls, args, place)


T = TypeVar("T", bound=msgspec.Struct)


def _read(kind: type[T], args: Mapping[str, str], place: str) -> T:
    known = kind.__struct_fields__
    problems = [
        Problem(place, name, f"no such parameter; known are {', '.join(known)}") for name in args if name not in known
    ]
    values: dict[str, float] = {}
    for name, text in args.items():
        try:
            values[name] = float(text)
        except ValueError:
            problems.append(Problem(place, name, f"{text!r} is not a number"))
            continue
        if name in known and not 0 <= values[name] <= 1:
            problems.append(Problem(place, name, f"{text} is not a probability from 0 to 1"))
    if problems:
        raise InputError(problems)
    return kind(**values)


BELIEVES, DENIES = "I believe this: ", "I do not believe this: "
"""How the simulated judge rewrites a summary, and its negation."""

_LISTED = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)


def camp(place: int) -> int:
    """1 for viewpoints at odd places of a thread (from 1), 2 for those at even ones."""
    return 2 - place % 2


def plain(text: str) -> str:
    """A text with white space collapsed."""
    return " ".join(text.split())


def listed(text: str) -> dict[int, str]:
    """Numbered lines by their numbers."""
    return {int(number): plain(line) for number, line in _LISTED.findall(text)}


class World:
    """Threads by their posts, and viewpoints by their summaries."""

    def __init__(self, threads: Sequence[ReferenceThread]) -> None:
        self._threads: Mapping[str, ReferenceThread] = {plain(prompts.post_text(thread)): thread for thread in threads}

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
        """Places of the viewpoints whose summaries occur in a text."""
        said = plain(text)
        return [place for place, viewpoint in enumerate(thread.viewpoints, 1) if plain(viewpoint.summary) in said]
