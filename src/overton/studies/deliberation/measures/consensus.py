"""How many rounds agreement takes, and how often there is none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate
from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import Consensus, ConsensusIn, ConsensusResult, ContrastIn, Setting
from overton.studies.deliberation.measures.coded import summed
from overton.studies.deliberation.measures.contrasts import NOTHING, Pair, compared, corrected
from overton.studies.deliberation.measures.parts import Part, Parts

__all__ = ["measure_consensus"]

Array = NDArray[np.float64]

_NEVER = "no deliberation reached consensus"


def measure_consensus(parts: Parts, resampling: Resampling) -> ConsensusResult:
    """Rounds to consensus and shares without it, over all deliberations and by setting."""
    every = [parts.everything, *parts.by_setting]
    endings = [_endings(part) for part in every]
    shares = resampling.ratios(map(_shares, endings), NOTHING)
    rounds = resampling.ratios(map(_rounds, endings), _NEVER, share=False)
    made = [_consensus(*one) for one in zip(every, shares, rounds, strict=True)]
    return ConsensusResult(
        overall=made[0],
        settings=tuple(ConsensusIn(part.setting, one) for part, one in zip(parts.by_setting, made[1:], strict=True)),
        formats=tuple(starmap(ContrastIn, corrected(compared(resampling, _formats(parts))))),
    )


def _endings(part: Part) -> Array:
    """Deliberations of each dilemma by the round of their consensus, 0 for none [dilemmas, rounds + 1]."""
    shape = (len(part.talks.dilemmas), part.talks.verdict.shape[2] + 1)
    return summed([part.dilemma, part.agreement], shape)


def _shares(endings: Array) -> Counts:
    return Counts(np.column_stack([endings[:, 1:].sum(1), endings]), endings.sum(1))


def _rounds(endings: Array) -> Counts:
    return Counts(endings @ np.arange(endings.shape[1]), endings[:, 1:].sum(1))


def _consensus(part: Part, shares: list[Estimate], rounds: list[Estimate]) -> Consensus:
    reached, without, *by_round = shares
    return Consensus(len(part.rows), reached, without, dict(enumerate(by_round, 1)), rounds[0])


def _formats(parts: Parts) -> Iterator[Pair[Setting]]:
    """The two formats, where the same models had both with the same goal."""
    by_name = {part.setting: part for part in parts.pooled}
    for setting, part in by_name.items():
        other = by_name.get(Setting("round-robin", setting.goal, setting.agents))
        if setting.format == "synchronous" and other:
            key = Setting("both", setting.goal, setting.agents)
            yield Pair(key, ("synchronous", "round-robin"), part.reached, other.reached)
