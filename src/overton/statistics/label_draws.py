"""The sample of rows with human labels, each row's sampling probability, and human and judge values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Flags, Floats

_CHANCE_TOLERANCE = 1e-9
"""Sampling probabilities with a smaller relative difference are treated as equal."""


@dataclass(frozen=True)
class LabelDraw:
    """N rows, of which a sample has human labels.

    labelled  [N] True for rows with a human label
    chance    [N] the probability with which each row was sampled, in (0, 1]; not used for rows without a label
    cluster   [N] the index, from 0, of each row's cluster of similar rows (such as a conversation)
    these     True if results describe exactly these N rows, False if they describe the population that rows come from
    label     [N] the index of the judge's label of each row, needed if rows were sampled label by label; None if the
              judge's values already distinguish the labels
    """

    labelled: Flags
    chance: Floats
    cluster: NDArray[np.int64]
    these: bool = False
    label: NDArray[np.int64] | None = None

    def of(self, rows: Flags) -> LabelDraw:
        """The sample, restricted to some rows."""
        label = None if self.label is None else self.label[rows]
        return replace(
            self, labelled=self.labelled[rows], chance=self.chance[rows], cluster=self.cluster[rows], label=label
        )

    @cached_property
    def has_equal_chances(self) -> bool:
        """Whether all labelled rows had the same sampling probability."""
        chance = self.chance[self.labelled]
        return not len(chance) or bool(chance.max() - chance.min() <= _CHANCE_TOLERANCE * chance.max())

    @cached_property
    def whole_clusters(self) -> bool:
        """Whether whole clusters were sampled: each is labelled completely or not at all, and some have several
        rows."""
        sizes, drawn = np.bincount(self.cluster), np.bincount(self.cluster, self.labelled)
        return bool(((drawn == 0) | (drawn == sizes)).all()) and bool((sizes > 1).any())

    @cached_property
    def by_row(self) -> bool:
        """Whether single rows were sampled and results describe exactly these rows. Similarity within clusters then
        does not matter."""
        return self.these and not self.whole_clusters

    @cached_property
    def independent(self) -> int:
        """The number of independent units with labels: rows if `by_row`, otherwise clusters."""
        return int(self.labelled.sum()) if self.by_row else len(np.unique(self.cluster[self.labelled]))

    def variance(self, moved: Floats) -> float:
        """The variance of a sum, given the influence of each row on it (`moved` [N]). The influences of rows in one
        cluster are added, unless `by_row` is True."""
        if self.by_row:
            return float(moved @ moved)
        within = self.labelled if self.these else np.ones(len(moved), bool)
        sums = np.bincount(self.cluster[within], moved[within])[np.unique(self.cluster[within])]
        return float(((sums - sums.mean()) ** 2).sum()) * self.independent / max(self.independent - 1, 1)


@dataclass(frozen=True)
class JudgeAndHumanValues:
    """Human and judge labels of N rows, as numbers [N]. Human values of rows without a human label are ignored.

    For a proportion (`share`), a value is 1 if the row has the label and 0 if it does not. It is between 0 and 1 if
    people differ. A mean leaves out rows whose label has no number: their `counts` (human) or `judged_counts` are 0.
    `lowest` and `highest` are the range of values.
    """

    people: Floats
    judged: Floats
    counts: Floats
    judged_counts: Floats
    lowest: float = 0.0
    highest: float = 1.0
    share: bool = True

    def of(self, rows: Flags) -> JudgeAndHumanValues:
        """The values of some rows."""
        return replace(
            self,
            people=self.people[rows],
            judged=self.judged[rows],
            counts=self.counts[rows],
            judged_counts=self.judged_counts[rows],
        )
