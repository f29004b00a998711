"""Agreement with the crowd, where its verdict is known."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from overton.statistics.resampling import Counts, Resampling
from overton.studies.deliberation.measures.analysis import Crowd, CrowdIn, ModelCrowd, Setting
from overton.studies.deliberation.measures.contrasts import Pair, compared, corrected
from overton.studies.deliberation.measures.parts import Part, Parts
from overton.studies.deliberation.measures.steering import in_order
from overton.studies.deliberation.measures.talks import ABSENT

__all__ = ["measure_crowd"]

_NAMES = ("round 1", "last round")
_NO_CONSENSUS = "no deliberation on a dilemma whose crowd is known reached consensus"


def measure_crowd(parts: Parts, resampling: Resampling) -> Crowd | None:
    """How often verdicts are the crowd's; None where no crowd is known."""
    talks = parts.talks
    if not (talks.crowd >= 0).any():
        return None
    pairs = (pair for goal in in_order(one.goal for one in talks.settings) for pair in _models(_known(parts, goal)))
    settings = resampling.ratios(map(_consensus, parts.by_setting), _NO_CONSENSUS)
    return Crowd(
        models=tuple(ModelCrowd(*key, contrast) for key, contrast in corrected(compared(resampling, pairs))),
        settings=tuple(CrowdIn(part.setting, one) for part, (one,) in zip(parts.by_setting, settings, strict=True)),
        unknown=int((talks.crowd < 0).sum()),
    )


def _known(parts: Parts, goal: str | None) -> Part:
    """Deliberations with a goal whose dilemma's crowd is known."""
    talks = parts.talks
    has_goal = np.array([one.goal == goal for one in talks.settings])[talks.setting]
    rows = np.flatnonzero(has_goal & (talks.crowd[talks.dilemma] >= 0))
    return Part(Setting("all", goal, talks.models), talks, rows)


def _models(part: Part) -> Iterator[Pair[tuple[str | None, str]]]:
    """Each model's verdicts in round 1 and in the last one."""
    talks = part.talks
    crowd = talks.crowd[part.dilemma][:, None]
    rounds = (talks.verdict[part.rows, :, 0], talks.at_end[part.rows])
    for model in part.models:
        there = [part.seated(model) & (verdicts != ABSENT) for verdicts in rounds]
        if all(one.any() for one in there):
            counts = (
                Counts(part.count_agents(one & (verdicts == crowd)), part.count_agents(one))
                for one, verdicts in zip(there, rounds, strict=True)
            )
            yield Pair((part.setting.goal, model), _NAMES, *counts)


def _consensus(part: Part) -> Counts:
    """Consensus verdicts that are the crowd's, of those on dilemmas whose crowd is known."""
    crowd, agreed = part.talks.crowd[part.dilemma], part.talks.agreed_verdict[part.rows]
    both = (crowd >= 0) & (agreed >= 0)
    return Counts(part.count(both & (crowd == agreed)), part.count(both))
