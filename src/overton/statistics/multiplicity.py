"""P values of several tests made together."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

__all__ = ["holm"]


def holm(p: Iterable[float]) -> list[float]:
    """P values adjusted for all that are not NaN (Holm 1979, Scand. J. Stat. 6:65)."""
    given = np.array(list(p), float)
    known = np.flatnonzero(np.isfinite(given))
    order = known[np.argsort(given[known], kind="stable")]
    stepped = given[order] * np.arange(len(order), 0, -1)
    given[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return [float(value) for value in given]
