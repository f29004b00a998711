"""An experiment: a study with its items, options and seed chosen, and the trials that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from overton.calls import Trial
from overton.engine import digest
from overton.errors import InputError, Problem
from overton.studies.options import StudyOptions
from overton.studies.study import AnyStudy
from overton.untrusted import visible_line

BATCHED_AT_ONCE = 20_000
"""The number of trials in progress at once in a run with batches. Waiting trials take memory."""
MOST_TRIALS = 1_000_000
"""The maximum number of trials per model in a run. With more, planning, measuring and reporting would take too long or
too much memory."""


@dataclass(frozen=True)
class Experiment:
    """A study's `items` and `options`, applied to every model, with the `seed` of random choices."""

    study: AnyStudy
    items: Sequence[Any]
    options: StudyOptions
    seed: int = 0

    def trials(self) -> Iterable[Trial]:
        """The trials in plan order, grouped by item. They are made again on each call, so that they take no memory."""
        return self.study.trials(self.items, self.options, self.seed)

    def check_trials(self) -> None:
        """Refuse too many trials, and trials with the same name.

        Raises:
            InputError: see `trials_by_item`.
        """
        _ = self.trials_by_item

    @cached_property
    def trials_by_item(self) -> Counter[str]:
        """The number of trials of each item. Counting stops at the maximum number of trials in a run, and the trials
        are not kept.

        Raises:
            InputError: there are more trials than this maximum, or two trials have the same name.
        """
        counted: Counter[str] = Counter()
        seen, again = set[int](), set[int]()
        for trial in islice(self.trials(), MOST_TRIALS + 1):
            counted[trial.item] += 1
            known = hash(trial.name)  # keep hashes, because names would take hundreds of megabytes in the largest runs
            (again if known in seen else seen).add(known)
        if counted.total() > MOST_TRIALS:
            reason = f"there would be more than {MOST_TRIALS:,} trials of each model, the maximum of a run"
            problem = Problem(self.study.name, "", f"{reason}: ask for fewer, or split them over several runs")
            raise InputError([problem])
        if again:
            _check_names(self.study.name, (trial.name for trial in self.trials()), again)
        return counted

    @cached_property
    def items_digest(self) -> str:
        """A digest of the items."""
        return digest(list(self.items))

    @cached_property
    def prompt_digests(self) -> dict[str, str]:
        """A digest of each of the study's prompt texts, by name."""
        return {name: digest(text) for name, text in self.study.prompts().items()}


def _check_names(study: str, names: Iterable[str], hashes: Container[int]) -> None:
    """Refuse trials with the same name, because their calls would be the same calls. Look only at trials whose names
    have these hashes.

    Raises:
        InputError: two trials have the same name.
    """
    counted = Counter(name for name in names if hash(name) in hashes)
    if twice := [name for name, count in counted.items() if count > 1]:
        reason = f"two trials have this name ({len(twice):,} such names): each trial needs its own name"
        raise InputError([Problem(f"study {study}", visible_line(twice[0]), reason)])
