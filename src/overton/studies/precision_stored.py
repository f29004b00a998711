"""What a run stores about its precision: what it is to reach, its decisions, and what it reached."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["LEVEL", "PRECISE", "SPENT", "WHOLE", "Decision", "Limit", "Reached", "Rule", "Stop", "Wanted"]

LEVEL = 0.95
"""The level of all limits."""

PRECISE, SPENT, WHOLE = "precise enough", "no more calls were allowed", "all of its trials were asked"
"""Why an arm got no further block."""

Rule = Literal["divided", "repeated"]


class Wanted(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run is to reach: half-widths by measure, in the measure's units, and the most calls in all.

    `rule` says how limits stay valid over several looks: by a level 'divided' among them, as in runs of 0.2.0, whose
    manifests do not mention it; or as 'repeated' intervals, which are narrower.
    """

    measures: dict[str, float] = {}
    calls: int | None = None
    rule: Rule = "divided"


class Limit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A number for these items and wordings, with limits that are valid at `LEVEL` after stopping; for a whole model if
    `item` is ''. `wanted` is the half-width requested, None if none was."""

    measure: str
    title: str
    value: float
    low: float
    high: float
    wanted: float | None = None
    item: str = ""
    arm: str = ""

    @property
    def half(self) -> float:
        """Its half-width."""
        return (self.high - self.low) / 2


class Stop(msgspec.Struct, frozen=True):
    """How many blocks an arm got, of how many trials in all, and why no more."""

    item: str
    arm: str
    blocks: int
    trials: int
    why: str


class Decision(msgspec.Struct, frozen=True):
    """What follows from the records so far: the new number of blocks of each arm that gets more; empty if all stop.

    `calls` were made until then. `limits` are what is known; `stops` say for every arm why, if all stop.
    """

    blocks: list[tuple[str, str, int]] = []
    calls: int = 0
    limits: list[Limit] = []
    stops: list[Stop] = []


class Reached(msgspec.Struct, frozen=True):
    """What a run stores for a lane: how many rounds it took, the last decision, and how many trials it has."""

    rounds: int
    last: Decision
    trials: int
