"""Change-of-verdict rates (section 4.1)."""

from __future__ import annotations

from itertools import combinations, starmap

from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import Change, Changes, ContrastIn
from overton.studies.deliberation.measures.contrasts import NOTHING, Pair, compared, corrected
from overton.studies.deliberation.measures.parts import Part, Parts, Speaker

__all__ = ["measure_changes"]


def measure_changes(parts: Parts, resampling: Resampling) -> Changes:
    """How often each model changes its verdict, over all deliberations and in each setting."""
    models = parts.talks.models
    overall = resampling.ratios((parts.everything.changes(model) for model in models), NOTHING)
    speakers = [(part, speaker) for part in parts.by_setting for speaker in part.speakers]
    rates = resampling.ratios((_changes(*one) for one in speakers), NOTHING)
    pairs = (
        Pair(part.setting, pair, part.changes(pair[0]), part.changes(pair[1]))
        for part in parts.by_setting
        for pair in combinations(part.models, 2)
    )
    return Changes(
        by_model={model: rate for model, (rate,) in zip(models, overall, strict=True)},
        settings=tuple(
            Change(part.setting, speaker.model, speaker.position, rate)
            for (part, speaker), (rate,) in zip(speakers, rates, strict=True)
        ),
        contrasts=tuple(starmap(ContrastIn, corrected(compared(resampling, pairs)))),
    )


def _changes(part: Part, speaker: Speaker) -> Counts:
    changed = part.changed[:, list(speaker.seats)]
    return Counts(part.count_agents(changed), part.count() * len(speaker.seats))
