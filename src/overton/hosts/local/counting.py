"""How many trials a run may have, in all and at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from overton.errors import InputError, Problem
from overton.studies.study import AnyStudy

__all__ = ["BATCHED_AT_ONCE", "MOST_TRIALS", "trials_by_item"]

BATCHED_AT_ONCE = 20_000
"""Trials in progress at once in a run with batches; waiting, they take memory."""
MOST_TRIALS = 1_000_000
"""The most trials per model in a run: planning, measuring and reporting must finish, and fit in memory."""


def trials_by_item(study: AnyStudy, items: Sequence[Any], options: Any, seed: int) -> Counter[str]:
    """How many trials each item has; counted up to the most that a run may have, without keeping any.

    Raises:
        InputError: there are more.
    """
    counted = Counter(trial.item for trial in islice(study.trials(items, options, seed), MOST_TRIALS + 1))
    if counted.total() > MOST_TRIALS:
        reason = f"there would be more than {MOST_TRIALS:,} trials of each model, the most that a run may have"
        raise InputError([Problem(study.name, "", f"{reason}: ask for fewer, or split them over several runs")])
    return counted
