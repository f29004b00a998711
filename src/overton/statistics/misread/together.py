"""Do a judge's errors cluster in conversations? Undoing them assumes that they do not."""

from __future__ import annotations

from math import nan

import msgspec
import numpy as np
from numpy.typing import NDArray

from overton.statistics.misread.confusion import Readings

__all__ = ["Together", "together"]

Array = NDArray[np.float64]

_PERMUTED = 2_000
_RARELY = 0.05


class Together(msgspec.Struct, frozen=True):
    """How errors of one group are correlated, given the true label of each row.

    `correlation` is that of two labelled rows of one group, over `pairs` pairs in `groups` groups; `p` the probability
    of at least as much if errors were exchanged between rows with the same true label, whatever their group. NaN if no
    two labelled rows are of one group, or the judge made no error (or only errors) in them.
    """

    correlation: float
    p: float
    pairs: int
    groups: int = 0

    @property
    def fails(self) -> bool:
        """Whether errors cluster more than by chance, at 5%."""
        return self.p < _RARELY

    def __str__(self) -> str:
        if np.isnan(self.p):
            return "Whether the judge's errors cluster in conversations cannot be decided from these labels."
        said = f"correlation {self.correlation:.2f} over {self.pairs} pairs, p = {self.p:.3f}"
        if self.fails:
            return (
                f"The judge's errors cluster in groups ({said}): numbers corrected from single labels are then wrong."
                " Label whole groups."
            )
        return f"No clustering of the judge's errors in groups was found ({said})."


def together(readings: Readings, seed: int = 0) -> Together:
    """The correlation of errors within groups: the mean product of two rows' residues over their variance, where a
    residue is an error (0 to 1) less the rate of errors for the row's true label."""
    truth = readings.people.argmax(1)
    residue = readings.residues
    sizes = np.bincount(readings.group).astype(float)
    pairs, variance = int((sizes * (sizes - 1) / 2).sum()), float((residue**2).mean())
    several = int((sizes > 1).sum())
    if not pairs or variance < 1e-12:
        return Together(nan, nan, pairs, several)
    seen = _products(residue[None], readings.group)[0]
    order = np.argsort(truth, kind="stable")
    random = np.random.default_rng(seed)
    keys = truth[order] + random.random((_PERMUTED, len(truth)))  # sorted, labels stay in their blocks
    shuffled = np.empty((_PERMUTED, len(truth)))
    shuffled[:, order] = residue[order][np.argsort(keys, axis=1)]
    as_much = int((_products(shuffled, readings.group) >= seen - 1e-9).sum())
    return Together(float(seen / pairs / variance), (as_much + 1) / (_PERMUTED + 1), pairs, several)


def _products(residues: Array, group: NDArray[np.int64]) -> Array:
    """The sum over pairs within groups of the product of their residues [some], from residues [some, n]."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sums = np.add.reduceat(residues[:, order], starts, axis=1)
    return np.asarray(((sums**2).sum(1) - (residues**2).sum(1)) / 2)
