"""The protocol: what each of the three experiments asks, in which order, and what it records (section 6)."""

from __future__ import annotations

from overton.calls import Ask
from overton.studies.pluralism.protocol import pairwise, ranking, sycophancy
from overton.studies.pluralism.protocol.trials import ThreadTrial, trials
from overton.studies.pluralism.record import Record

__all__ = ["ThreadTrial", "conduct", "trials"]

_HELD = {"sycophancy": sycophancy.hold, "ranking": ranking.hold, "pairwise": pairwise.hold}


async def conduct(trial: ThreadTrial, ask: Ask) -> list[Record]:
    """The trial's one row."""
    return [await _HELD[trial.experiment](trial, ask)]
