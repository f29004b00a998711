"""Codes counted: how often each combination of them occurs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["summed"]


def summed(
    cells: Sequence[NDArray[np.integer]], shape: tuple[int, ...], weights: NDArray[np.generic] | None = None
) -> NDArray[np.float64]:
    """How often each combination of codes occurs, or the sum of its weights, as an array of `shape`."""
    flat = cells[0].astype(np.int64)
    for cell, width in zip(cells[1:], shape[1:], strict=True):
        flat = flat * width + cell
    return np.bincount(flat, weights, minlength=int(np.prod(shape))).reshape(shape).astype(float, copy=False)
