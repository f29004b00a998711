"""What the goal in the system prompt changes (section 4.4, figure 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from overton.statistics.resampling import Resampling
from overton.studies.deliberation.measures.analysis import Setting, Steering
from overton.studies.deliberation.measures.contrasts import Pair, compared, corrected
from overton.studies.deliberation.measures.parts import Part, Parts

__all__ = ["in_order", "measure_steering"]

_FIRST = "correctness"

Key = tuple[Setting, str | None]


def in_order(goals: Iterable[str | None]) -> list[str | None]:
    """Different goals, correctness first, then by name."""
    return sorted(set(goals), key=lambda goal: (goal != _FIRST, goal or ""))


def measure_steering(parts: Parts, resampling: Resampling) -> tuple[Steering, ...]:
    """Each later goal against the first, where the same models had both."""
    found: dict[Setting, dict[str | None, Part]] = {}
    for part in parts.pooled:
        found.setdefault(msgspec.structs.replace(part.setting, goal=None), {})[part.setting.goal] = part
    pairs = (pair for setting, by_goal in found.items() for pair in _pairs(setting, by_goal))
    return tuple(Steering(*key, contrast) for key, contrast in corrected(compared(resampling, pairs)))


def _pairs(setting: Setting, by_goal: dict[str | None, Part]) -> Iterator[Pair[Key]]:
    """Changes of verdict by model, then consensus."""
    first, *others = in_order(by_goal)
    for goal in others:
        parts, names = (by_goal[first], by_goal[goal]), (first or "", goal or "")
        for model in parts[0].models:
            yield Pair((setting, model), names, *(part.changes(model) for part in parts))
        yield Pair((setting, None), names, *(part.reached for part in parts))
