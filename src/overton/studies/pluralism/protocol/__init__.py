"""The protocol: the questions of the three experiments, their order, and the records (section 6)."""

from __future__ import annotations

from overton.calls import Ask
from overton.studies.pluralism.protocol import pairwise, ranking, sycophancy
from overton.studies.pluralism.protocol.trials import ThreadTrial, trials
from overton.studies.pluralism.record import Record

__all__ = ["ThreadTrial", "conduct", "trials"]

_EXPERIMENTS = {"sycophancy": sycophancy.conduct, "ranking": ranking.conduct, "pairwise": pairwise.conduct}


async def conduct(trial: ThreadTrial, ask: Ask) -> list[Record]:
    """Run the trial's experiment and return its one row."""
    return [await _EXPERIMENTS[trial.experiment](trial, ask)]
