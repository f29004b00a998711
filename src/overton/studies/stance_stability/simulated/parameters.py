"""What a simulated chameleon and a simulated judge are like, and how that is told on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeVar

import msgspec

from overton.errors import InputError, Problem
from overton.studies.stance_stability.judging import CERTAINTY
from overton.studies.stance_stability.record import STANCES

__all__ = ["CLEAR", "JudgeParameters", "Parameters"]

CLEAR: tuple[str, ...] = STANCES[:3]
"""The stances that are one: all but 'unclear'."""

MOST_CITATIONS = 20


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulated chameleon is like.

    change     probability that its stance differs from its last one; each of the other two is as likely
    first      weights of the three stances in the first turn, and wherever it remembers none; 0 where not named
    unclear    probability that an answer takes no position; the next one then changes, or not, from the last clear one
    certainty  weights of the words 'clearly', 'likely' and 'uncertain'; 0 where not named
    citations  sources that an answer cites, fewer where fewer are shown (0 to 20)
    reuse      probability that a cited source is one that it has cited before, where sources of both sorts are left
    """

    change: float = 0.3
    first: dict[str, float] = msgspec.field(default_factory=lambda: dict.fromkeys(CLEAR, 1.0))
    unclear: float = 0.0
    certainty: dict[str, float] = msgspec.field(
        default_factory=lambda: {"clearly": 0.5, "likely": 0.3, "uncertain": 0.2}
    )
    citations: int = 2
    reuse: float = 0.5

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> Parameters:
        """Parameters from words; `first.critical=1` and `certainty.likely=1` replace all weights of the default.

        Raises:
            InputError: every name that is unknown and every value that is out of its range; `place` says whose.
        """
        return _read(cls, args, place, {"first": CLEAR, "certainty": tuple(CERTAINTY)})


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a simulated judge is like: probabilities, for each of its replies.

    invalid          that a reply is not JSON
    wrong            that the stance is another than the answer's, each of the other three as likely
    wrong_certainty  that the certainty is another
    """

    invalid: float = 0.0
    wrong: float = 0.0
    wrong_certainty: float = 0.0

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> JudgeParameters:
        """Parameters from words. Raises `InputError` as `Parameters.from_args` does."""
        return _read(cls, args, place, {})


T = TypeVar("T", bound=msgspec.Struct)


def _read(kind: type[T], args: Mapping[str, str], place: str, tables: Mapping[str, tuple[str, ...]]) -> T:
    """The parameters that `args` name; a table's entries are written TABLE.KEY."""
    single = [name for name in kind.__struct_fields__ if name not in tables]
    known = [*single, *(f"{table}.{key}" for table, keys in tables.items() for key in keys)]
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, text in args.items():
        value, reason = (
            _number(name, text) if name in known else (0, f"no such parameter; there are {', '.join(known)}")
        )
        if reason:
            problems.append(Problem(place, name, reason))
        elif name in single:
            found[name] = value
        else:
            table, _, key = name.partition(".")
            found.setdefault(table, {})[key] = float(value)
    problems += [
        Problem(place, table, "one weight must be more than 0")
        for table in tables
        if table in found and not any(found[table].values())
    ]
    if problems:
        raise InputError(problems)
    return kind(**found)


def _number(name: str, text: str) -> tuple[float, str]:
    """The value and '', or why there is none."""
    try:
        value = int(text) if name == "citations" else float(text)
    except ValueError:
        return 0, f"{text!r} is not a {'whole ' if name == 'citations' else ''}number"
    if name == "citations":
        return value, "" if 0 <= value <= MOST_CITATIONS else f"must be between 0 and {MOST_CITATIONS}"
    if "." in name:
        return value, "" if isfinite(value) and value >= 0 else "must be a weight, 0 or more"
    return value, "" if 0 <= value <= 1 else f"{text} is not a probability, 0 to 1"
