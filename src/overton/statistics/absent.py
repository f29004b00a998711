"""What stands in place of a number that the data cannot tell."""

from __future__ import annotations

from math import nan

from overton.statistics.estimate import Estimate

__all__ = ["NOT_COMPUTED", "not_computed"]

NOT_COMPUTED = "not computed: "
"""How `Estimate.method` begins where `Estimate.value` is NaN; the reason follows."""


def not_computed(reason: str, *, level: float = 0.95, n: int = 0) -> Estimate:
    """An estimate without a value, and why; `n` counts what there was."""
    return Estimate(nan, nan, nan, n, NOT_COMPUTED + reason, level)
