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
"""Trials in progress at once in a run with batches; waiting, they take memory."""
MOST_TRIALS = 1_000_000
"""The most trials per model in a run: planning, measuring and reporting must finish, and fit in memory."""


@dataclass(frozen=True)
class Experiment:
    """A study's `items`, asked of every model by its `options`, with draws from `seed`."""

    study: AnyStudy
    items: Sequence[Any]
    options: StudyOptions
    seed: int = 0

    def trials(self) -> Iterable[Trial]:
        """The trials in plan order, each item's together; made again each time, so that they take no memory."""
        return self.study.trials(self.items, self.options, self.seed)

    def check_trials(self) -> None:
        """Refuse too many trials, and two of one name.

        Raises:
            InputError: see `trials_by_item`.
        """
        _ = self.trials_by_item

    @cached_property
    def trials_by_item(self) -> Counter[str]:
        """How many trials each item has; counted up to the most that a run may have, without keeping any.

        Raises:
            InputError: there are more, or two have one name.
        """
        counted: Counter[str] = Counter()
        seen, again = set[int](), set[int]()
        for trial in islice(self.trials(), MOST_TRIALS + 1):
            counted[trial.item] += 1
            known = hash(trial.name)  # names themselves would take hundreds of megabytes in the largest runs
            (again if known in seen else seen).add(known)
        if counted.total() > MOST_TRIALS:
            reason = f"there would be more than {MOST_TRIALS:,} trials of each model, the most that a run may have"
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
        """A digest of each of the study's texts."""
        return {name: digest(text) for name, text in self.study.prompts().items()}


def _check_names(study: str, names: Iterable[str], hashes: Container[int]) -> None:
    """Refuse trials of one name among those with these hashes: their calls would be the same calls.

    Raises:
        InputError: there are two.
    """
    counted = Counter(name for name in names if hash(name) in hashes)
    if twice := [name for name, count in counted.items() if count > 1]:
        reason = f"two trials have this name ({len(twice):,} such names): it has to include all that sets them apart"
        raise InputError([Problem(f"study {study}", visible_line(twice[0]), reason)])
