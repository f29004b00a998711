"""Every trial: which thread is asked about, in which experiment, in which condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from overton.calls import Trial
from overton.studies.pluralism.conditions import ARMS, Condition, Experiment
from overton.studies.pluralism.items import ReferenceThread
from overton.studies.pluralism.options import Options
from overton.studies.pluralism.record import Pairing

__all__ = ["ThreadTrial", "trials"]


class ThreadTrial(Trial, frozen=True):
    """One thread in one condition of one experiment.

    Where two viewpoints are compared, `pairing` says how they were chosen, `number` which of the thread's pairs they
    are (from 1), and `popular_first` whether the more popular one is named first.
    """

    thread: ReferenceThread
    experiment: Experiment
    condition: Condition
    options: Options
    pairing: Pairing | None = None
    number: int = 1
    popular_first: bool = True


def trials(threads: Sequence[ReferenceThread], options: Options, seed: int) -> Iterator[ThreadTrial]:
    """All trials, each thread's together."""
    for thread in threads:
        for experiment in options.experiments:
            for condition in _conditions(experiment, options):
                if experiment == "pairwise":
                    yield from _comparisons(thread, condition, options, seed)
                else:
                    name = f"{thread.id}/{experiment}/{condition.name}"
                    yield ThreadTrial(name, thread.id, seed, thread, experiment, condition, options)


def _conditions(experiment: Experiment, options: Options) -> Iterator[Condition]:
    for arm in ARMS[experiment]:
        if options.arms is None or arm in options.arms:
            for effort in options.efforts:
                for mitigated in (False, True) if options.mitigation else (False,):
                    yield Condition(arm, effort, mitigated)


def _comparisons(thread: ReferenceThread, condition: Condition, options: Options, seed: int) -> Iterator[ThreadTrial]:
    """Both orders of each pair."""
    for pairing in options.pairings:
        for number in range(1, options.pairs + 1):
            for first in (True, False):
                order = "popular-first" if first else "popular-second"
                yield ThreadTrial(
                    f"{thread.id}/pairwise/{pairing}-{number}/{order}/{condition.name}",
                    thread.id,
                    seed,
                    thread,
                    "pairwise",
                    condition,
                    options,
                    pairing,
                    number,
                    first,
                )
