"""Argument configurations (definition 3): which arguments a prompt holds."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from overton.calls import Draw
from overton.studies.open_mindedness.items import Argument, Issue

__all__ = ["CONDITIONS", "PUBLISHED", "WORDINGS", "Condition", "arguments_for"]


class Condition(msgspec.Struct, frozen=True):
    """An argument configuration.

    `pros` and `cons` are how many arguments of each side are sampled, None for all there are. `balanced` takes as
    many of each side as the smaller side has. `weight` is w_c of section 4.4; 0 where a configuration is not part of
    the score. `side` is the side that the configuration favours.
    """

    name: str
    pros: int | None
    cons: int | None
    side: str | None = None
    balanced: bool = False
    weight: int = 0


CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("baseline", 0, 0),
        Condition("one-sided-pro", None, 0, "pro", weight=1),
        Condition("one-sided-con", 0, None, "con", weight=1),
        Condition("convincing-pro", 3, 1, "pro", weight=2),
        Condition("convincing-con", 1, 3, "con", weight=2),
        Condition("balanced", None, None, balanced=True, weight=3),
        # Not in the paper: with three agreeing arguments, as in 3:1, a single contrary one is the only difference.
        Condition("three-pro", 3, 0, "pro"),
        Condition("three-con", 0, 3, "con"),
    )
}

PUBLISHED = ("baseline", "one-sided-pro", "one-sided-con", "convincing-pro", "convincing-con", "balanced")
"""The six configurations of the paper, asked by default."""

WORDINGS = (1, 2)
"""Every configuration with arguments is asked in two wordings of the evidence wrapper."""


def arguments_for(condition: Condition, issue: Issue, draw: Callable[[str], Draw]) -> list[Argument]:
    """The arguments of `issue` that `condition` holds, sampled by `draw`; fewer where there are fewer."""
    smaller = min(len(issue.pros), len(issue.cons)) if condition.balanced else None
    return _sample(issue.pros, condition.pros, smaller, draw("pros")) + _sample(
        issue.cons, condition.cons, smaller, draw("cons")
    )


def _sample(side: tuple[Argument, ...], size: int | None, smaller: int | None, draw: Draw) -> list[Argument]:
    wanted = smaller if smaller is not None else size
    return list(side) if wanted is None else draw.sample(side, wanted)
