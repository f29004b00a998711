"""What there is to measure, and what a reader has to know about it."""

from __future__ import annotations

import numpy as np
import polars as pl

from overton.studies.deliberation.measures.analysis import Tally
from overton.studies.deliberation.measures.parts import Parts
from overton.studies.deliberation.measures.talks import INVALID

__all__ = ["notes_on", "tally"]

_FEW = 20


def tally(parts: Parts, decisions: pl.DataFrame) -> Tally:
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


def notes_on(found: Tally) -> tuple[str, ...]:
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
    if found.dilemmas < _FEW:
        notes.append(
            f"There are {found.dilemmas} dilemmas. Intervals over so few are rough, and say little about others."
        )
    return tuple(notes)


def _some(count: int) -> str:
    return f"{count:,} deliberation{' was' if count == 1 else 's were'}"
