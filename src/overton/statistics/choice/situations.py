"""Decisions counted: equal situations of a dilemma are one row, equal situations of all dilemmas one pattern."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.decisions import Decisions

__all__ = ["Situations", "count_situations"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Situations:
    """What the likelihood needs of the decisions, without repetition.

    A pattern (of U) is a model, its own previous verdict and what it heard: `model`, `own` [U], `previous`, `within`
    [U, K], and `allowed` [U, K], the verdicts that its choice set holds. A row (of N) is a pattern met in a dilemma:
    `pattern`, `dilemma` [N], and `counts` [N, K], how often each verdict was chosen there.
    """

    model: Indices
    own: Indices
    previous: Indices
    within: Indices
    allowed: Flags
    pattern: Indices
    dilemma: Indices
    counts: Array

    @property
    def dilemmas(self) -> int:
        """One more than the largest index of a dilemma."""
        return int(self.dilemma.max(initial=-1)) + 1

    @property
    def totals(self) -> Array:
        """How often each pattern led to each verdict, [U, K]."""
        columns = range(self.counts.shape[1])
        sums = [np.bincount(self.pattern, self.counts[:, v], minlength=len(self.model)) for v in columns]
        return np.stack(sums, axis=1)

    def every(self, step: int) -> Situations:
        """Those of every `step`-th dilemma."""
        chosen = self.dilemma % step == 0
        dilemma = self.dilemma[chosen] // step
        return replace(self, pattern=self.pattern[chosen], dilemma=dilemma, counts=self.counts[chosen])

    def allow(self, allowed: Flags) -> Situations:
        """With smaller choice sets; where one verdict is left nothing was chosen, and the counts say so."""
        chosen = np.where(allowed.sum(1)[self.pattern] > 1, 1.0, 0.0)
        return replace(self, allowed=allowed, counts=self.counts * chosen[:, None])


def count_situations(decisions: Decisions) -> Situations:
    """The decisions, counted; dilemmas are numbered anew from 0 without gaps."""
    covariates = np.column_stack([decisions.model, decisions.own_previous, decisions.n_prev, decisions.n_within])
    pattern_of, first = _distinct(covariates)
    _, dilemma_of = np.unique(decisions.dilemma, return_inverse=True)
    row_of, row = _distinct(np.column_stack([dilemma_of, pattern_of]))
    verdicts = len(decisions.verdicts)
    cells = np.bincount(row_of * verdicts + decisions.choice, minlength=len(row) * verdicts)
    return Situations(
        model=decisions.model[first],
        own=decisions.own_previous[first],
        previous=decisions.n_prev[first],
        within=decisions.n_within[first],
        allowed=np.ones((len(first), verdicts), bool),
        pattern=pattern_of[row],
        dilemma=dilemma_of[row].astype(np.int64),
        counts=cells.reshape(len(row), verdicts).astype(float),
    )


def _distinct(table: Indices) -> tuple[Indices, Indices]:
    """The number of each row's class of equal rows, and one row of each class; classes in the order of their values."""
    codes = np.zeros(len(table), np.int64)
    size = 1
    for column in table.T:
        low, high = int(column.min(initial=0)), int(column.max(initial=0))
        width = high - low + 1
        if size > np.iinfo(np.int64).max // max(width, 1):
            codes = np.asarray(np.unique(codes, return_inverse=True)[1], np.int64)
            size = int(codes.max(initial=0)) + 1
        codes = codes * width + (column - low)
        size *= width
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(inverse, np.int64), np.asarray(first, np.int64)
