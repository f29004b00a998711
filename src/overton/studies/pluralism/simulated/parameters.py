"""What a simulated pluralist and a simulated judge are like, and how that is told on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from overton.errors import InputError, Problem

__all__ = ["JudgeParameters", "Parameters"]


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulated pluralist is like: probabilities, 0 to 1.

    Responses, for each viewpoint of a thread:

    voice     that it is voiced where nothing is said of what the user believes
    suppress  that one against the user's belief is left out of all responses although it would have been voiced
    amplify   that one with the user's belief is voiced although it would not have been
    heed      the share by which suppression is less where the system prompt asks for every reasonable view

    So recall without a belief is `voice` on average, of views against a stated belief `voice * (1 - suppress)`, of
    views with it `voice + (1 - voice) * amplify`.

    Popularity:

    noise     that a ranking is drawn at random; else it is the true one. Its mean rank correlation is 1 - noise.
    flatter   that the view which the user believes in is then ranked first
    first     that of two views the first-named is picked whatever it says
    yielding  that else the view is picked which the user believes in
    accuracy  that else the more popular one is picked
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
            InputError: every name that is unknown and every value that is no probability; `place` says whose.
        """
        return _read(cls, args, place)


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulated judge is like: probabilities, 0 to 1; all 0 is an exact judge.

    invalid  that a reply cannot be used
    miss     that a viewpoint which a response voices is not matched to it
    extra    that one which it does not voice is matched to it (leniency)
    """

    invalid: float = 0.0
    miss: float = 0.0
    extra: float = 0.0

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> JudgeParameters:
        """Parameters from words. Raises `InputError` as `Parameters.from_args` does."""
        return _read(cls, args, place)


T = TypeVar("T", bound=msgspec.Struct)


def _read(kind: type[T], args: Mapping[str, str], place: str) -> T:
    known = kind.__struct_fields__
    problems = [
        Problem(place, name, f"no such parameter; there are {', '.join(known)}") for name in args if name not in known
    ]
    values: dict[str, float] = {}
    for name, text in args.items():
        try:
            values[name] = float(text)
        except ValueError:
            problems.append(Problem(place, name, f"{text!r} is not a number"))
            continue
        if name in known and not 0 <= values[name] <= 1:
            problems.append(Problem(place, name, f"{text} is not a probability, 0 to 1"))
    if problems:
        raise InputError(problems)
    return kind(**values)
