"""A number with its uncertainty: the only form in which Overton shows one."""

from __future__ import annotations

import msgspec

__all__ = ["Estimate"]


class Estimate(msgspec.Struct, frozen=True):
    """A value, its interval, and the count behind it.

    `value` is NaN where it cannot be computed, and `low`/`high` are NaN where there is no interval to give. `n`
    counts the units behind the value (answers, issues, pairs: the measure's docstring says which). `level` is the
    interval's nominal coverage and `method` how it was made ('bootstrap over issues', 'Wilson', 'Wald', ...).
    """

    value: float
    low: float
    high: float
    n: int
    method: str
    level: float = 0.95
