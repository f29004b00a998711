"""Value occurrence: the share of messages in which a model uses a value (section 4.2, figure 4 a to c)."""

from __future__ import annotations

from itertools import combinations, starmap

import numpy as np

from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import ContrastBy, ValueUse
from overton.studies.deliberation.measures.coded import summed
from overton.studies.deliberation.measures.contrasts import NOTHING, Pair, compared, corrected
from overton.studies.deliberation.measures.parts import Part, Parts
from overton.studies.deliberation.measures.valuesets import counted

__all__ = ["measure_use"]


def measure_use(parts: Parts, resampling: Resampling) -> tuple[ValueUse, ...]:
    """How often each model uses each value, and by how much models that deliberate together differ."""
    return tuple(_use(part, resampling) for part in parts.pooled)


def _use(part: Part, resampling: Resampling) -> ValueUse:
    values = part.talks.values or ()
    counts = {model: _counts(part, model) for model in part.models}
    estimates = resampling.ratios(counts.values(), NOTHING)
    models = {model: dict(zip(values, made, strict=True)) for model, made in zip(counts, estimates, strict=True)}
    differences: list[ContrastBy] = []
    for pair in combinations(part.models, 2):
        sides = [counts[model] for model in pair]
        used = np.flatnonzero((sides[0].above + sides[1].above).any(0))
        one = Pair("", pair, *(Counts(side.above[:, used], side.below) for side in sides))
        found = [contrast for _, contrast in compared(resampling, [one])] if used.size else []
        named = [(values[value], made) for value, made in zip(used, found, strict=True)]
        differences += starmap(ContrastBy, corrected(named))
    return ValueUse(part.setting, models, tuple(differences))


def _counts(part: Part, model: str) -> Counts:
    """How many of a model's messages in each dilemma use each value, of how many whose values are known."""
    talks, seated = part.talks, part.seated(model)
    said = talks.message[part.rows][seated]
    there = (said >= 0) & talks.known[said]
    dilemma = np.broadcast_to(part.dilemma[:, None], seated.shape)[seated]
    dilemma = np.broadcast_to(dilemma[:, None], said.shape)[there]
    return Counts(counted(part, said[there], dilemma), summed([dilemma], (len(talks.dilemmas),)))
