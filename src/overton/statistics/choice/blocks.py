"""Rows laid out dilemma by dilemma, so that the arithmetic of many dilemmas is that of a few large arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from overton.statistics.choice.situations import Situations

__all__ = ["Block", "blocks"]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """Some dilemmas (B) with about as many rows, padded to R each with rows without decisions.

    `features` [B, R, K, P], `allowed` [B, R, K], `counts` [B, R, K], `trials` [B, R] their sums, `basis` [K, J] of the
    dilemmas' effects. The rows fall into `models` groups of R / `models`, one after the other.
    """

    features: Array
    allowed: NDArray[np.bool_]
    counts: Array
    trials: Array
    basis: Array
    models: int

    @property
    def size(self) -> int:
        """How many dilemmas there are."""
        return len(self.counts)

    def groups(self) -> list[tuple[Block, Indices]]:
        """Each group's rows by themselves, with only the columns of the design that count in them, and which these are.

        A column counts where it is not zero in all of them.
        """
        rows = len(self.counts[0]) // self.models
        return [self._group(slice(group * rows, (group + 1) * rows)) for group in range(self.models)]

    def _group(self, mine: slice) -> tuple[Block, Indices]:
        features, trials = self.features[:, mine], self.trials[:, mine]
        columns = np.flatnonzero(features[trials > 0].any(axis=(0, 1)))
        alone = replace(
            self,
            features=features[..., columns],
            allowed=self.allowed[:, mine],
            counts=self.counts[:, mine],
            trials=trials,
            models=1,
        )
        return alone, columns


def blocks(situations: Situations, features: Array, basis: Array, size: int, *, models: int = 1) -> list[Block]:
    """Lay out all rows with a decision in blocks of about `size` rows (or one dilemma, where it has more).

    `features` [U, K, P] by pattern. With `models`, rows are grouped by model.
    """
    group = situations.model[situations.pattern] if models > 1 else np.zeros_like(situations.pattern)
    used = np.flatnonzero(situations.counts.sum(1) > 0)
    cell = situations.dilemma[used] * models + group[used]
    order = used[np.argsort(cell, kind="stable")]
    sizes = np.bincount(cell, minlength=situations.dilemmas * models)
    starts = (np.cumsum(sizes) - sizes).reshape(-1, models)
    sizes = sizes.reshape(-1, models)
    largest = sizes.max(1)
    by_size = np.argsort(largest, kind="stable")
    made = []
    for members in _runs(by_size[largest[by_size] > 0], largest * models, size):
        place = np.arange(int(largest[members].max()))
        real = (place < sizes[members][..., None]).reshape(len(members), -1)
        rows = np.where(real, (starts[members][..., None] + place).reshape(real.shape), 0)
        pattern = situations.pattern[order[rows]]
        counts = situations.counts[order[rows]] * real[:, :, None]
        allowed = situations.allowed[pattern]
        made.append(Block(features[pattern], allowed, counts, counts.sum(2), basis, models))
    return made


def _runs(members: Indices, rows: Indices, most: int) -> Iterator[Indices]:
    """Consecutive members, sorted by their number of rows, in runs that hold at most `most` rows once padded."""
    start = 0
    while start < len(members):
        stop = start + 1
        while stop < len(members) and (stop + 1 - start) * rows[members[stop]] <= most:
            stop += 1
        yield members[start:stop]
        start = stop
