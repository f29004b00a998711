"""All measures of a table of decisions, put together, with what there was to measure and what to know of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl

from overton.statistics.resampling import Jackknife, Resampling
from overton.studies.cautions import few
from overton.studies.deliberation.measures.analysis import (
    Analysis,
    Archetypes,
    Changes,
    ConsensusResult,
    Crowd,
    OrderEffects,
    Steering,
    Tally,
    Values,
    Verdicts,
)
from overton.studies.deliberation.measures.choice import Fitting, fit_choices
from overton.studies.deliberation.measures.endings import (
    measure_archetypes,
    measure_changes,
    measure_consensus,
    measure_verdicts,
)
from overton.studies.deliberation.measures.influences import measure_crowd, measure_order, measure_steering
from overton.studies.deliberation.measures.parts import Parts
from overton.studies.deliberation.measures.talks import INVALID, talks_from
from overton.studies.deliberation.measures.values import measure_inheritance, measure_similarity, measure_use

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


def assemble(decisions: pl.DataFrame, jackknife: Jackknife, how: Fitting) -> Analysis:
    """Every measure that the decisions allow."""
    parts = Parts(talks_from(decisions))
    found = _tally(parts, decisions)
    made = _measured(parts, jackknife.over(len(parts.talks.dilemmas)))
    choice, others = fit_choices(parts, how, jackknife.level)
    return Analysis(
        models=parts.talks.models,
        tally=found,
        **vars(made),
        choice=choice,
        others=others,
        estimator=how.estimator,
        conformity=how.conformity,
        level=jackknife.level,
        resamples=jackknife.resamples,
        seed=jackknife.seed,
        not_computed={name: reason for name, reason in _REASONS.items() if not getattr(made, name)},
        notes=_notes_on(found),
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


def _tally(parts: Parts, decisions: pl.DataFrame) -> Tally:
    """Counts of what was said, and of what could not be used."""
    talks = parts.talks
    model = np.broadcast_to(talks.model[..., None], talks.verdict.shape)
    said, invalid = talks.message >= 0, talks.verdict == INVALID
    values = talks.known.sum()
    dropped = decisions["values_dropped"] if "values_dropped" in decisions.columns else None
    return Tally(
        deliberations=len(talks),
        failed=talks.failed,
        dilemmas=len(talks.dilemmas),
        messages={name: int((said & (model == code)).sum()) for code, name in enumerate(talks.models)},
        invalid={name: int((invalid & (model == code)).sum()) for code, name in enumerate(talks.models)},
        unfinished=_unfinished(parts),
        continued=int(((talks.agreement > 0) & (talks.agreement < talks.rounds)).sum()),
        values_known=int(values),
        values_empty=int((~talks.masks.any(1) & talks.known).sum()) if talks.masks is not None else 0,
        values_dropped=None if dropped is None or dropped.null_count() == len(dropped) else int(dropped.sum()),
    )


def _unfinished(parts: Parts) -> int:
    """Deliberations without consensus that are shorter than the longest of their kind."""
    count = 0
    for part in parts.pooled:
        rounds = parts.talks.rounds[part.rows]
        count += int(((part.agreement == 0) & (rounds < rounds.max())).sum())
    return count


def _notes_on(found: Tally) -> tuple[str, ...]:
    """Warnings, each a sentence."""
    notes = []
    if found.failed:
        notes.append(f"{_some(found.failed)} left out whole, since a call failed for good.")
    for name, count in found.invalid.items():
        if count:
            notes.append(
                f"{name}: {count:,} of {found.messages[name]:,} verdicts could not be read; they agree with nothing."
            )
    if found.unfinished:
        notes.append(
            f"{_some(found.unfinished)} without consensus although shorter than others of the same models: if they "
            "were cut off, consensus comes out too rare."
        )
    if found.continued:
        notes.append(
            f"{found.continued:,} deliberations went on after all agents had agreed; consensus is counted where it was "
            "first reached, last verdicts where they ended."
        )
    return (*notes, *few(found.dilemmas, "dilemmas"))


def _some(count: int) -> str:
    return f"{count:,} deliberation{' was' if count == 1 else 's were'}"
