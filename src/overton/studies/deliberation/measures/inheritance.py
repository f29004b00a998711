"""Inherited values (section 4.2, figure 4 d to f): taken over from an opponent with a change of verdict."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import Inheritance
from overton.studies.deliberation.measures.parts import Part, Parts
from overton.studies.deliberation.measures.valuesets import count_values

__all__ = ["measure_inheritance"]

Ints = NDArray[np.integer]
Masks = NDArray[np.uint64]

_UNKNOWN = "the values of round 1 are not known in any deliberation"


def measure_inheritance(parts: Parts, resampling: Resampling) -> tuple[Inheritance, ...]:
    """Which values each model takes over, against each set of others."""
    return tuple(one for part in parts.pooled for one in _of_part(part, resampling))


def _of_part(part: Part, resampling: Resampling) -> list[Inheritance]:
    talks = part.talks
    opening = talks.message[part.rows, :, 0]
    told: NDArray[np.bool_] = np.asarray((((opening >= 0) & talks.known[opening]) | ~talks.seated[part.rows]).all(1))
    known = part.where(told)
    row, seat, masks = _inherited(known)
    made = []
    for model in part.models:
        own = known.seats[row, seat] == talks.models.index(model)
        counts = count_values(known, masks[own], known.dilemma[row[own]])
        used = np.flatnonzero(counts.any(0))
        below = known.count_agents(known.seated(model))
        estimates = resampling.ratios([Counts(counts[:, used], below)], _UNKNOWN)[0]
        values = {(talks.values or ())[value]: one for value, one in zip(used, estimates, strict=True)}
        made.append(Inheritance(part.setting, model, values, int(part.seated(model)[~told].sum())))
    return made


def _inherited(part: Part) -> tuple[Ints, Ints, Masks]:
    """The agents that changed their verdict, as numbers of row and seat, and their inherited values as bits [N, W]."""
    talks, masks = part.talks, part.talks.masks
    assert masks is not None
    said = np.append(np.where(talks.known[:, None], masks, 0), np.zeros((1, masks.shape[1]), masks.dtype), axis=0)
    row, seat = np.nonzero(part.changed)
    message = talks.message[part.rows[row]]  # -1, what was not said, is the row of zeros at the end
    after = np.logical_or.accumulate(talks.moved[part.rows[row], seat], axis=1)
    every, agent = np.arange(len(row)), message[np.arange(len(row)), seat]
    opening = said[message[:, :, 0]]
    own = opening[every, seat]
    opening[every, seat] = 0
    others = np.bitwise_or.reduce(opening, axis=1)
    used = np.bitwise_or.reduce(said[np.where(after, agent, -1)], axis=1)
    return row, seat, np.asarray(used & others & ~own)
