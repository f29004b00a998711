"""What it matters who speaks first (section 4.3)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, starmap

import numpy as np

from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import ContrastIn, ContrastOf, FirstSpeaker, OrderEffects, Setting
from overton.studies.deliberation.measures.contrasts import NOTHING, Pair, compared, corrected
from overton.studies.deliberation.measures.parts import Part, Parts

__all__ = ["measure_order"]


def measure_order(parts: Parts, resampling: Resampling) -> OrderEffects | None:
    """First-speaker effects in round-robin deliberations; None where there are none."""
    in_turn = [part for part in parts.pooled if part.setting.format == "round-robin"]
    if not in_turn:
        return None
    led = [(model, one) for part in in_turn for model in part.models if (one := _led_by(part, model)).rows.size]
    estimates = resampling.ratios((_endings(one) for _, one in led), NOTHING)
    changes = corrected(compared(resampling, (pair for part in in_turn for pair in _changes(part))))
    at_once = corrected(compared(resampling, (pair for part in in_turn for pair in _at_once(part))))
    return OrderEffects(
        speakers=tuple(
            FirstSpeaker(one.setting, model, *made) for (model, one), made in zip(led, estimates, strict=True)
        ),
        at_once=tuple(starmap(ContrastIn, at_once)),
        changes=tuple(ContrastOf(setting, model, contrast) for (setting, model), contrast in changes),
    )


def _led_by(part: Part, model: str) -> Part:
    return part.where(part.seated(model)[:, 0])


def _endings(part: Part) -> Counts:
    """Consensus in round 1, in any round, on the first speaker's first verdict, on another."""
    own = part.talks.agreed_verdict[part.rows] == part.talks.verdict[part.rows, 0, 0]
    reached = part.agreement > 0
    flags = (part.agreement == 1, reached, reached & own, reached & ~own)
    return Counts(np.stack([part.count(flag) for flag in flags], axis=1), part.count())


def _at_once(part: Part) -> Iterator[Pair[Setting]]:
    """Consensus in round 1 by who speaks first."""
    for pair in combinations(part.models, 2):
        led = [_led_by(part, model) for model in pair]
        if all(one.rows.size for one in led):
            yield Pair(part.setting, pair, *(Counts(one.count(one.agreement == 1), one.count()) for one in led))


def _changes(part: Part) -> Iterator[Pair[tuple[Setting, str]]]:
    """A model's change-of-verdict rate when it speaks first, and when it speaks later."""
    for model in part.models:
        seated = part.seated(model)
        first = seated & (np.arange(seated.shape[1]) == 0)
        sides = (first, seated & ~first)
        if all(side.any() for side in sides):
            counts = (Counts(part.count_agents(side & part.changed), part.count_agents(side)) for side in sides)
            yield Pair((part.setting, model), ("first", "later"), *counts)
