"""Which rows people labelled and how likely each was to be drawn, and what people and judge say of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from overton.statistics.arrays import Flags, Floats

_CHANCE_TOLERANCE = 1e-9
"""Chances that differ by a smaller part are equal."""


@dataclass(frozen=True)
class LabelDraw:
    """Which of N rows people labelled.

    labelled  [N]
    chance    [N] how likely each row was to be drawn, in (0, 1]; not used for rows without a label
    cluster   [N] rows of one cluster (a conversation) are alike; numbers from 0
    these     the numbers describe these N rows; otherwise rows like these
    label     [N] the judge's label of each row by its number, if it says more than the numbers that are corrected:
              rows may have been drawn label by label
    """

    labelled: Flags
    chance: Floats
    cluster: NDArray[np.int64]
    these: bool = False
    label: NDArray[np.int64] | None = None

    def of(self, rows: Flags) -> LabelDraw:
        """The part of the draw that lies in some rows."""
        label = None if self.label is None else self.label[rows]
        return replace(
            self, labelled=self.labelled[rows], chance=self.chance[rows], cluster=self.cluster[rows], label=label
        )

    @cached_property
    def has_equal_chances(self) -> bool:
        """Whether all labelled rows were equally likely to be drawn."""
        chance = self.chance[self.labelled]
        return not len(chance) or bool(chance.max() - chance.min() <= _CHANCE_TOLERANCE * chance.max())

    @cached_property
    def whole_clusters(self) -> bool:
        """Whether clusters of several rows were drawn, each labelled whole or not at all."""
        sizes, drawn = np.bincount(self.cluster), np.bincount(self.cluster, self.labelled)
        return bool(((drawn == 0) | (drawn == sizes)).all()) and bool((sizes > 1).any())

    @cached_property
    def by_row(self) -> bool:
        """Whether each labelled row is an independent draw, however alike rows of one cluster are."""
        return self.these and not self.whole_clusters

    @cached_property
    def independent(self) -> int:
        """How many independent draws the labels are: clusters if rows of one are alike or were drawn together."""
        return int(self.labelled.sum()) if self.by_row else len(np.unique(self.cluster[self.labelled]))

    def variance(self, moved: Floats) -> float:
        """The variance of a sum of what each row [N] moves, adding up rows of one cluster if they are no independent
        draws."""
        if self.by_row:
            return float(moved @ moved)
        within = self.labelled if self.these else np.ones(len(moved), bool)
        sums = np.bincount(self.cluster[within], moved[within])[np.unique(self.cluster[within])]
        return float(((sums - sums.mean()) ** 2).sum()) * self.independent / max(self.independent - 1, 1)


@dataclass(frozen=True)
class JudgeAndHumanValues:
    """Labels of N rows by people and judge, as numbers [N]; people's values of rows without a label are ignored.

    A share has 1 if the label is given, otherwise 0, and values between if people differ. A mean is over the rows that
    count: `counts` and `judged_counts` are 0 if a label has no number. `lowest` and `highest` are the range of a
    value.
    """

    people: Floats
    judged: Floats
    counts: Floats
    judged_counts: Floats
    lowest: float = 0.0
    highest: float = 1.0
    share: bool = True

    def of(self, rows: Flags) -> JudgeAndHumanValues:
        """The same for some rows."""
        return replace(
            self,
            people=self.people[rows],
            judged=self.judged[rows],
            counts=self.counts[rows],
            judged_counts=self.judged_counts[rows],
        )
