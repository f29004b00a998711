"""Verdicts before and after deliberation (figure 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.items import VERDICTS
from overton.studies.deliberation.measures.analysis import INVALID_NAME, SpeakerVerdicts, Verdicts
from overton.studies.deliberation.measures.coded import summed
from overton.studies.deliberation.measures.contrasts import NOTHING
from overton.studies.deliberation.measures.parts import Part, Parts
from overton.studies.deliberation.measures.talks import ABSENT

__all__ = ["measure_verdicts"]

Ints = NDArray[np.integer]

_NAMES = (*VERDICTS, INVALID_NAME)


def measure_verdicts(parts: Parts, resampling: Resampling) -> tuple[Verdicts, ...]:
    """Each agent's verdicts in round 1 and at the end, and what deliberations agree on, by setting."""
    counts = (one for part in parts.by_setting for one in _counts(part))
    estimates = iter(resampling.ratios(counts, NOTHING))
    return tuple(_verdicts(part, estimates) for part in parts.by_setting)


def _counts(part: Part) -> Iterator[Counts]:
    """What is agreed on, then each speaker's verdicts in round 1 and in the last."""
    talks, rows = part.talks, part.rows
    first, last = talks.verdict[rows, :, 0], talks.at_end[rows]
    yield _counted(part, talks.agreed_verdict[rows, None])
    for speaker in part.speakers:
        yield _counted(part, first[:, list(speaker.seats)])
        yield _counted(part, last[:, list(speaker.seats)])


def _counted(part: Part, verdicts: Ints) -> Counts:
    """How often each dilemma got each verdict, the invalid ones last."""
    there = verdicts != ABSENT
    dilemma = np.broadcast_to(part.dilemma[:, None], verdicts.shape)[there]
    counts = summed([dilemma, verdicts[there] % len(_NAMES)], (len(part.talks.dilemmas), len(_NAMES)))
    return Counts(counts, counts.sum(1))


def _verdicts(part: Part, estimates: Iterator[list[Estimate]]) -> Verdicts:
    *agreed, without = next(estimates)
    speakers = tuple(
        SpeakerVerdicts(one.model, one.position, _named(next(estimates)), _named(next(estimates)))
        for one in part.speakers
    )
    return Verdicts(part.setting, speakers, _named(agreed), without)


def _named(estimates: Iterable[Estimate]) -> dict[str, Estimate]:
    """By name; 'invalid' only where there are such verdicts."""
    named = dict(zip(_NAMES, estimates, strict=False))
    if INVALID_NAME in named and not named[INVALID_NAME].value > 0:
        del named[INVALID_NAME]
    return named
