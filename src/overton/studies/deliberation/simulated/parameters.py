"""Parameters of simulated agents and of a simulated judge, and how they are given on a command line."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from statistics import NormalDist
from typing import Any

import msgspec

from overton.calls import Draw
from overton.errors import InputError, Problem
from overton.studies.deliberation.items import VERDICTS, Verdict
from overton.studies.deliberation.prompts import VALUES

_PREFERENCE: dict[Verdict, float] = {"YTA": 0.5, "NTA": 1.2, "ESH": 0.4, "NAH": 0.0, "INFO": -1.5}
_VALUES = {
    "Honest communication": 0.5,
    "Respect and dignity": 0.4,
    "Family bonds and cohesion": 0.4,
    "Empathy and understanding": 0.3,
    "Personal autonomy": 0.3,
    "Consent and personal boundaries": 0.2,
    "Personal accountability and responsibility": 0.2,
    "Conflict resolution and reconciliation": 0.2,
}
_NORMAL = NormalDist()


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated agent: the terms of equation 2 in logits, and some probabilities.

    preference           theta: its taste for each verdict; 0 for those not named
    dilemma_spread       standard deviation of phi, a dilemma's own effect on each verdict, which follows from the
                         dilemma's id and `seed` alone: agents with the same values of both see the same effects
    inertia              alpha: for its own verdict from the round before
    conformity_previous  gamma_prev: for each of the others' verdicts in earlier rounds
    conformity_within    gamma_within: for each of the others' verdicts in this round
    yielding             what is subtracted from inertia if the goals in its prompt are balanced
    taste                standard deviation of its own lasting taste for each verdict on a dilemma, which follows from
                         the agent's name, the dilemma's id and `taste_seed`
    invalid              probability that a reply to a first request states no verdict
    invalid_again        the same for a repeated request
    values               probability that an explanation names a value; 0 for those not named here
    """

    preference: dict[Verdict, float] = msgspec.field(default_factory=_PREFERENCE.copy)
    dilemma_spread: float = 1.0
    inertia: float = 1.5
    conformity_previous: float = 0.15
    conformity_within: float = 0.9
    yielding: float = 0.0
    taste: float = 0.0
    invalid: float = 0.0
    invalid_again: float = 0.0
    values: dict[str, float] = msgspec.field(default_factory=_VALUES.copy)
    seed: int = 0
    taste_seed: int = 0

    def leaning(self, name: str, dilemma: str) -> tuple[float, ...]:
        """How the agent `name` leans to each verdict on a dilemma (its id) before anybody has spoken, in logits."""
        effects = _normals(f"{self.seed}/dilemma/{dilemma}")
        tastes = _normals(f"{self.taste_seed}/taste/{name}/{dilemma}")
        return tuple(
            self.preference.get(verdict, 0.0) + self.dilemma_spread * effect + self.taste * taste
            for verdict, effect, taste in zip(VERDICTS, effects, tastes, strict=True)
        )

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> Parameters:
        """Parameters from text; `preference.NTA=1` or `value.Accessibility=0.5` replaces all defaults of its table.

        Raises:
            InputError: for every unknown name and every value out of range; `place` says whose.
        """
        reading = _ParameterProblems(place, cls, {"preference": VERDICTS, "value": VALUES})
        known = reading.read(args)
        preference, values = reading.tables["preference"], reading.tables["value"]
        return cls(
            **known | ({"preference": preference} if preference else {}) | ({"values": values} if values else {})
        )


class JudgeParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A simulated judge of values: probabilities.

    miss     that it overlooks a value which an explanation names
    outside  that it names a value not in the list
    invalid  that its answer is not JSON
    """

    miss: float = 0.0
    outside: float = 0.0
    invalid: float = 0.0

    @classmethod
    def from_args(cls, args: Mapping[str, str], place: str) -> JudgeParameters:
        """Parameters from text. Raises `InputError` as `Parameters.from_args` does."""
        return cls(**_ParameterProblems(place, cls, {}).read(args))


_PROBABILITIES = frozenset({"invalid", "invalid_again", "miss", "outside", "value"})
_SPREADS = frozenset({"dilemma_spread", "taste"})
_WHOLE = frozenset({"seed", "taste_seed"})


class _ParameterProblems:
    """The state of reading arguments: tables of those written as NAME.KEY, and the problems so far."""

    def __init__(self, place: str, kind: type[msgspec.Struct], tables: Mapping[str, tuple[str, ...]]) -> None:
        self.place = place
        self.keys = tables
        self.tables: dict[str, dict[str, float]] = {name: {} for name in tables}
        self.single = [name for name in kind.__struct_fields__ if name not in ("preference", "values")]
        self.problems: list[Problem] = []

    def read(self, args: Mapping[str, str]) -> dict[str, Any]:
        found = {name: self._take(name, text) for name, text in args.items()}
        if self.problems:
            raise InputError(self.problems)
        return {name: value for name, value in found.items() if name in self.single}

    def _take(self, name: str, text: str) -> float:
        table, dot, key = name.partition(".")
        if dot and table in self.keys:
            if key not in self.keys[table]:
                self._refuse(name, f"there is no {table} of {key!r}; there are {', '.join(self.keys[table])}")
            self.tables[table][key] = self._number(table, name, text)
            return self.tables[table][key]
        if name not in self.single:
            names = ", ".join([*self.single, *(f"{table}.NAME" for table in self.keys)])
            self._refuse(name, f"there is no such parameter; there are {names}")
        return self._number(name, name, text)

    def _number(self, kind: str, name: str, text: str) -> float:
        try:
            value = int(text) if kind in _WHOLE else float(text)
        except ValueError:
            return self._refuse(name, f"{text!r} is not a {'whole ' if kind in _WHOLE else ''}number")
        if not isfinite(value):
            return self._refuse(name, "must be finite")
        if kind in _PROBABILITIES and not 0 <= value <= 1:
            return self._refuse(name, f"{text} is not a probability, 0 to 1")
        if kind in _SPREADS and value < 0:
            return self._refuse(name, "must be 0 or more")
        return value

    def _refuse(self, name: str, reason: str) -> float:
        if name not in {problem.key for problem in self.problems}:
            self.problems.append(Problem(self.place, name, reason))
        return 0.0


def _normals(name: str) -> list[float]:
    """A standard normal number for each verdict."""
    # Moved off the ends of [0, 1), where the quantile is infinite.
    words = Draw(name).words(len(VERDICTS))
    return [_NORMAL.inv_cdf(((word >> 11) + 0.5) / (2**53 + 1)) for word in words]
