"""A number that rests on a judge, three times: by the judge alone, corrected by people's labels, by these alone."""

from __future__ import annotations

from math import isnan

import msgspec

from overton.statistics import Estimate, PreferredEstimate, preferred_estimate
from overton.studies.plain import Shape

__all__ = ["ENOUGH", "Variants", "leading"]

ENOUGH = 100
"""From this many labelled rows on, the corrected number leads: with fewer, intervals of rare labels cover too seldom
(see docs/judges.md)."""


class Variants(msgspec.Struct, frozen=True):
    """A number by the judge alone (`plain`), corrected by people's labels, and by what people labelled alone.

    In `corrected` and `labelled` those who cannot tell give no label; for a share, `corrected_at_most` is as if all of
    them had given this one (for a difference: on the first side only; in `corrected_at_least` on the second side only).
    `leads` names the number to use.
    """

    SHAPE = Shape(leads=True)

    leads: str
    plain: Estimate
    corrected: Estimate
    labelled: Estimate
    corrected_at_most: Estimate | None = None
    corrected_at_least: Estimate | None = None

    def led(self, plain: Estimate) -> PreferredEstimate:
        """The number to use, with the three; `plain` is the judge's, as it is shown."""
        return preferred_estimate(self.leads, {"plain": plain, "corrected": self.corrected, "labelled": self.labelled})


def leading(corrected: Estimate, labels: int) -> str:
    """Which one to use: the corrected one if it has an interval, and there are enough labels."""
    return "corrected" if labels >= ENOUGH and not isnan(corrected.low) else "plain"
