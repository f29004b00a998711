"""All measures of a table of decisions, put together, with what there was to measure and what to know about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec
import numpy as np
import polars as pl

from overton.statistics.jackknife import Jackknife, Resampling
from overton.statistics.proportions import wilson_limits
from overton.studies.arm_weights import LEFT_OUT
from overton.studies.deliberation.items import VERDICTS
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
from overton.studies.deliberation.measures.choice import Fitting, fit_again, fit_choices, unfitted_choices
from overton.studies.deliberation.measures.endings import (
    changes_by_model,
    measure_archetypes,
    measure_changes,
    measure_consensus,
    measure_verdicts,
    overall_consensus,
)
from overton.studies.deliberation.measures.influences import measure_crowd, measure_order, measure_steering
from overton.studies.deliberation.measures.parts import SettingParts
from overton.studies.deliberation.measures.results import Choice
from overton.studies.deliberation.measures.talks import INVALID, talks_from
from overton.studies.deliberation.measures.values import measure_inheritance, measure_similarity, measure_use
from overton.studies.warnings import FaultCount, count_faults, names_of_faulty, warn_few_items

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
    parts = SettingParts(talks_from(decisions))
    found = _tally(parts, decisions)
    resampling = jackknife.over(len(parts.talks.dilemmas))
    made = _measured(parts, resampling)
    weighted = parts.talks.weight is not None
    choice, others = unfitted_choices(parts, how) if weighted else fit_choices(parts, how, jackknife.level)
    faults = count_faults(decisions, "format")
    if faults:
        rest = SettingParts(parts.talks.without_faults()) if any(fault.faulty for fault in faults) else None
        made, choice = _beside(made, choice, rest, resampling, how)
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
        faults=faults,
        warnings=(*_mute(parts, found), *_read_anyway(decisions, faults), *_regardless(parts, jackknife.level)),
        not_computed={
            name: LEFT_OUT if weighted and name == "values" and parts.talks.masks is not None else reason
            for name, reason in _REASONS.items()
            if not getattr(made, name)
        },
        notes=_notes_on(found),
    )


def _beside(
    made: _Measured, choice: tuple[Choice, ...], rest: SettingParts | None, resampling: Resampling, how: Fitting
) -> tuple[_Measured, tuple[Choice, ...]]:
    """The headlines beside those without faulty messages, `rest`; the same numbers if that is None: none is faulty."""
    if rest is None:
        consensus, changes, fits = made.consensus.overall, made.changes.by_model, choice
    else:
        consensus = overall_consensus(rest, resampling)
        changes = changes_by_model(rest, resampling)
        fits = choice if rest.talks.weight is not None else fit_again(rest, choice, how, resampling.level)
    return (
        replace(
            made,
            consensus=msgspec.structs.replace(made.consensus, without_faults=consensus),
            changes=msgspec.structs.replace(made.changes, without_faults=changes),
        ),
        tuple(msgspec.structs.replace(fit, without_faults=without) for fit, without in zip(choice, fits, strict=True)),
    )


_REASONS = {
    "values": "no message has values: let a judge name them",
    "order": "no deliberation is round-robin",
    "steering": "no models deliberated with more than one goal",
    "crowd": "no dilemma's crowd verdict is known",
}
"""Why a measure is missing, if it is."""


def _measured(parts: SettingParts, resampling: Resampling) -> _Measured:
    """The measures, two at a time: NumPy lets other threads work."""
    with ThreadPoolExecutor(2) as pool:

        def started(measure: Callable[[SettingParts, Resampling], Made]) -> Future[Made]:
            return pool.submit(measure, parts, resampling)

        has_values = parts.talks.masks is not None and parts.talks.weight is None
        of_values = (measure_use, measure_similarity, measure_inheritance) if has_values else ()
        values: list[Future[Any]] = [started(of_value) for of_value in of_values]
        consensus, changes, verdicts = started(measure_consensus), started(measure_changes), started(measure_verdicts)
        archetypes, order = started(measure_archetypes), started(measure_order)
        steering, crowd = started(measure_steering), started(measure_crowd)
        return _Measured(
            consensus.result(),
            changes.result(),
            verdicts.result(),
            archetypes.result(),
            Values(*(future.result() for future in values)) if values else None,
            order.result(),
            steering.result(),
            crowd.result(),
        )


def _tally(parts: SettingParts, decisions: pl.DataFrame) -> Tally:
    """Counts of what was said, and of what was unusable."""
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


def _unfinished(parts: SettingParts) -> int:
    """Deliberations without consensus that are shorter than the longest of their kind."""
    count = 0
    for part in parts.pooled:
        rounds = parts.talks.rounds[part.rows]
        count += int(((part.agreement == 0) & (rounds < rounds.max())).sum())
    return count


def _mute(parts: SettingParts, found: Tally) -> Iterator[str]:
    """Models that in effect take no part."""
    for name in parts.talks.mute:
        yield (
            f"{name}: none of its {found.messages[name]:,} verdicts could be read. It has no rate of change, no inertia"
            " and no conformity, and its deliberations do not count towards consensus."
        )


def _read_anyway(decisions: pl.DataFrame, faults: Sequence[FaultCount]) -> Iterator[str]:
    """How many verdicts were read in malformed messages, which a truncated explanation does not prevent."""
    import polars as pl

    came = pl.col("failure").is_null() if "failure" in decisions.columns else pl.lit(value=True)
    for name in names_of_faulty(faults):
        own = decisions.filter(pl.col("model") == name, came, pl.col("faults").list.len() > 0)
        if read := own["verdict"].count():
            yield (
                f"{name}: Overton read the verdict in {read:,} of its {own.height:,} malformed messages; these verdicts"
                " count in the headlines."
            )


_ALIKE, _ALL_BUT = 0.75, 0.02
"""A model's verdict is taken not to depend on the dilemma if at least 98% of its first verdicts are the same and the
lower limit of their share over dilemmas is above 75%: 12 dilemmas without exception."""


def _regardless(parts: SettingParts, level: float) -> Iterator[str]:
    """Models that open every dilemma with one verdict."""
    talks = parts.talks
    for code, name in enumerate(talks.models):
        given = (talks.model == code) & (talks.first >= 0)
        dilemma = np.broadcast_to(talks.dilemma[:, None], given.shape)[given]
        counts = np.bincount(talks.first[given], minlength=len(VERDICTS))
        verdict, dilemmas = int(counts.argmax()), len(np.unique(dilemma))
        share = counts[verdict] / max(int(counts.sum()), 1)
        if share >= 1 - _ALL_BUT and float(wilson_limits(share, dilemmas, level)[0]) > _ALIKE:
            yield (
                f"{name}: its verdict does not depend on the dilemma. It opens with {VERDICTS[verdict]} in"
                f" {counts[verdict]:,} of {counts.sum():,} deliberations, on {dilemmas:,} dilemmas: keeping to it is"
                " not inertia, and others coming round to it is not persuasion."
            )


def _notes_on(found: Tally) -> tuple[str, ...]:
    """Warnings, each a sentence."""
    notes = []
    if found.failed:
        notes.append(f"{_some(found.failed)} left out entirely because a call failed for good.")
    for name, count in found.invalid.items():
        if 0 < count < found.messages[name]:
            notes.append(
                f"{name}: {count:,} of {found.messages[name]:,} verdicts could not be read; they agree with nothing."
            )
    if found.unfinished:
        notes.append(
            f"{_some(found.unfinished)} without consensus although shorter than others of the same models: if they "
            "were cut off, the share of consensus is too low."
        )
    if found.continued:
        notes.append(
            f"{found.continued:,} deliberations went on after all agents had agreed; consensus is counted in the round "
            "where it was first reached, last verdicts in the last round."
        )
    return (*notes, *warn_few_items(found.dilemmas, "dilemmas"))


def _some(count: int) -> str:
    return f"{count:,} deliberation{' was' if count == 1 else 's were'}"
