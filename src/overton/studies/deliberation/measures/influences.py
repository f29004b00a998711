"""What else moves verdicts: who speaks first (section 4.3), and the goal in the system prompt (section 4.4, figure 6);
and how often verdicts are the crowd's.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, starmap

import msgspec
import numpy as np

from overton.statistics.cluster_sums import ClusterSums
from overton.statistics.jackknife import Resampling
from overton.studies.deliberation.measures.analysis import (
    Crowd,
    CrowdIn,
    FirstSpeaker,
    ModelCrowd,
    OrderEffects,
    Steering,
)
from overton.studies.deliberation.measures.contrasts import NOTHING, SharePair, compared, corrected, two
from overton.studies.deliberation.measures.parts import SettingParts, SettingRows, in_order
from overton.studies.deliberation.measures.results import ContrastIn, ContrastOf, Setting
from overton.studies.deliberation.measures.talks import ABSENT


def measure_order(parts: SettingParts, resampling: Resampling) -> OrderEffects | None:
    """First-speaker effects in round-robin deliberations; None if there are no such deliberations."""
    in_turn = [part for part in parts.pooled if part.setting.format == "round-robin"]
    if not in_turn:
        return None
    led = [(model, own) for part in in_turn for model in part.models if (own := _led_by(part, model)).rows.size]
    estimates = resampling.ratios((_endings(part) for _, part in led), NOTHING)
    changes = corrected(compared(resampling, (pair for part in in_turn for pair in _changes(part))))
    at_once = corrected(compared(resampling, (pair for part in in_turn for pair in _at_once(part))))
    return OrderEffects(
        speakers=tuple(
            FirstSpeaker(part.setting, model, *made) for (model, part), made in zip(led, estimates, strict=True)
        ),
        at_once=tuple(starmap(ContrastIn, at_once)),
        changes=tuple(ContrastOf(setting, model, contrast) for (setting, model), contrast in changes),
    )


def _led_by(part: SettingRows, model: str) -> SettingRows:
    return part.where(part.seated(model)[:, 0])


def _endings(part: SettingRows) -> ClusterSums:
    """Consensus in round 1, in any round, on the first speaker's first verdict, on another."""
    own = part.talks.agreed_verdict[part.rows] == part.talks.verdict[part.rows, 0, 0]
    reached = part.agreement > 0
    flags = (part.agreement == 1, reached, reached & own, reached & ~own)
    return part.share(flags)


def _at_once(part: SettingRows) -> Iterator[SharePair[Setting]]:
    """Consensus in round 1 by who speaks first."""
    for pair in combinations(part.models, 2):
        led = [_led_by(part, model) for model in pair]
        if all(side.rows.size for side in led):
            yield SharePair(part.setting, pair, *two(side.share(side.agreement == 1) for side in led))


def _changes(part: SettingRows) -> Iterator[SharePair[tuple[Setting, str]]]:
    """A model's change-of-verdict rate when it speaks first, and when it speaks later."""
    for model in part.models:
        seated = part.seated(model) & part.heard
        first = seated & (np.arange(seated.shape[1]) == 0)
        sides = (first, seated & ~first)
        if all(side.any() for side in sides):
            counts = (part.share_of_agents(side & part.changed, side) for side in sides)
            yield SharePair((part.setting, model), ("first", "later"), *two(counts))


_Key = tuple[Setting, str | None]


def measure_steering(parts: SettingParts, resampling: Resampling) -> tuple[Steering, ...]:
    """Each other goal against the first, if the same models had both."""
    found: dict[Setting, dict[str | None, SettingRows]] = {}
    for part in parts.pooled:
        found.setdefault(msgspec.structs.replace(part.setting, goal=None), {})[part.setting.goal] = part
    pairs = (pair for setting, by_goal in found.items() for pair in _goals_compared(setting, by_goal))
    return tuple(Steering(*key, contrast) for key, contrast in corrected(compared(resampling, pairs)))


def _goals_compared(setting: Setting, by_goal: dict[str | None, SettingRows]) -> Iterator[SharePair[_Key]]:
    """Changes of verdict by model, then consensus."""
    first, *others = in_order(by_goal)
    for goal in others:
        parts, names = (by_goal[first], by_goal[goal]), (first or "", goal or "")
        for model in parts[0].models:
            yield SharePair((setting, model), names, *two(part.changes(model) for part in parts))
        yield SharePair((setting, None), names, *two(part.reached for part in parts))


_ROUNDS = ("round 1", "last round")
_NO_CONSENSUS = "no deliberation on a dilemma whose crowd is known reached consensus"


def measure_crowd(parts: SettingParts, resampling: Resampling) -> Crowd | None:
    """How often verdicts are the crowd's; None if no crowd is known."""
    talks = parts.talks
    if not (talks.crowd >= 0).any():
        return None
    pairs = (
        pair
        for goal in in_order(setting.goal for setting in talks.settings)
        for pair in _first_and_last(_part_with_crowd(parts, goal))
    )
    settings = resampling.ratios(map(_the_crowds, parts.by_setting), _NO_CONSENSUS)
    return Crowd(
        models=tuple(ModelCrowd(*key, contrast) for key, contrast in corrected(compared(resampling, pairs))),
        settings=tuple(
            CrowdIn(part.setting, estimate) for part, (estimate,) in zip(parts.by_setting, settings, strict=True)
        ),
        unknown=int((talks.crowd < 0).sum()),
    )


def _part_with_crowd(parts: SettingParts, goal: str | None) -> SettingRows:
    """Deliberations with this goal on dilemmas whose crowd is known."""
    talks = parts.talks
    has_goal = np.array([setting.goal == goal for setting in talks.settings])[talks.setting]
    rows = np.flatnonzero(has_goal & (talks.crowd[talks.dilemma] >= 0))
    return SettingRows(Setting("all", goal, talks.models), talks, rows)


def _first_and_last(part: SettingRows) -> Iterator[SharePair[tuple[str | None, str]]]:
    """Each model's verdicts in round 1 and in the last one."""
    talks = part.talks
    crowd = talks.crowd[part.dilemma][:, None]
    rounds = (talks.verdict[part.rows, :, 0], talks.at_end[part.rows])
    for model in part.models:
        there = [part.seated(model) & (verdicts != ABSENT) for verdicts in rounds]
        if all(seats.any() for seats in there):
            counts = (
                part.share_of_agents(np.asarray(seats & (verdicts == crowd)), seats)
                for seats, verdicts in zip(there, rounds, strict=True)
            )
            yield SharePair((part.setting.goal, model), _ROUNDS, *two(counts))


def _the_crowds(part: SettingRows) -> ClusterSums:
    """Consensus verdicts that are the crowd's, out of those on dilemmas whose crowd is known."""
    crowd, agreed = part.talks.crowd[part.dilemma], part.talks.agreed_verdict[part.rows]
    both = (crowd >= 0) & (agreed >= 0)
    return part.share(both & (crowd == agreed), both)
