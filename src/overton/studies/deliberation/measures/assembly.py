"""All measures of a table of decisions, put together."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl

from overton.statistics.resampling import Bootstrap, Resampling
from overton.studies.deliberation.measures.analysis import (
    Analysis,
    Archetypes,
    Changes,
    ConsensusResult,
    Crowd,
    OrderEffects,
    Steering,
    Values,
    Verdicts,
)
from overton.studies.deliberation.measures.archetypes import measure_archetypes
from overton.studies.deliberation.measures.changes import measure_changes
from overton.studies.deliberation.measures.choice import Fitting, fit_choices
from overton.studies.deliberation.measures.coding import talks_from
from overton.studies.deliberation.measures.consensus import measure_consensus
from overton.studies.deliberation.measures.crowd import measure_crowd
from overton.studies.deliberation.measures.inheritance import measure_inheritance
from overton.studies.deliberation.measures.order import measure_order
from overton.studies.deliberation.measures.parts import Parts
from overton.studies.deliberation.measures.similarity import measure_similarity
from overton.studies.deliberation.measures.steering import measure_steering
from overton.studies.deliberation.measures.tally import notes_on, tally
from overton.studies.deliberation.measures.use import measure_use
from overton.studies.deliberation.measures.verdicts import measure_verdicts

__all__ = ["assemble"]

Made = TypeVar("Made")


@dataclass(frozen=True)
class _Measured:
    """All measures but the choice model."""

    consensus: ConsensusResult
    changes: Changes
    verdicts: tuple[Verdicts, ...]
    archetypes: tuple[Archetypes, ...]
    values: Values | None
    order: OrderEffects | None
    steering: tuple[Steering, ...]
    crowd: Crowd | None


def assemble(decisions: pl.DataFrame, bootstrap: Bootstrap, how: Fitting) -> Analysis:
    """Every measure that the decisions allow."""
    parts = Parts(talks_from(decisions))
    found = tally(parts, decisions)
    made = _measured(parts, bootstrap.over(len(parts.talks.dilemmas)))
    choice, others = fit_choices(parts, how, bootstrap.level)
    return Analysis(
        models=parts.talks.models,
        tally=found,
        **vars(made),
        choice=choice,
        others=others,
        estimator=how.estimator,
        conformity=how.conformity,
        level=bootstrap.level,
        resamples=bootstrap.resamples,
        seed=bootstrap.seed,
        not_computed={name: reason for name, reason in _REASONS.items() if not getattr(made, name)},
        notes=notes_on(found),
    )


_REASONS = {
    "values": "no message has values: let a judge name them",
    "order": "no deliberation is round-robin",
    "steering": "no models deliberated with more than one goal",
    "crowd": "no dilemma's crowd verdict is known",
}
"""Why a measure is missing, where it is."""


def _measured(parts: Parts, resampling: Resampling) -> _Measured:
    """The measures, two at a time: NumPy lets other threads work."""
    with ThreadPoolExecutor(2) as pool:

        def begun(measure: Callable[[Parts, Resampling], Made]) -> Future[Made]:
            return pool.submit(measure, parts, resampling)

        asked = (measure_use, measure_similarity, measure_inheritance) if parts.talks.masks is not None else ()
        values: list[Future[Any]] = [begun(one) for one in asked]
        consensus, changes, verdicts = begun(measure_consensus), begun(measure_changes), begun(measure_verdicts)
        archetypes, order = begun(measure_archetypes), begun(measure_order)
        steering, crowd = begun(measure_steering), begun(measure_crowd)
        return _Measured(
            consensus.result(),
            changes.result(),
            verdicts.result(),
            archetypes.result(),
            Values(*(one.result() for one in values)) if values else None,
            order.result(),
            steering.result(),
            crowd.result(),
        )
