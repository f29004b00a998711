"""Bands of conversations by their Chameleon score and by their re-use of sources (sections 3.3 and 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from overton.statistics.arrays import Floats, Ints

_DIGITS = 12
"""A score that is 0.3 except for rounding is 0.3: scores are rounded to this many digits before bands and bounds."""


@dataclass(frozen=True)
class Band:
    """One band of a measure's values, between `low` and `high`."""

    measure: str
    name: str
    low: float
    high: float

    @property
    def key(self) -> str:
        """The key of the share of conversations in it."""
        return f"{self.measure}_{self.name.replace(' ', '_')}"

    @property
    def title(self) -> str:
        """'Low, 0 to 0.3'."""
        return f"{self.name.capitalize()}, {self.low:g} to {self.high:g}"


CHAMELEON_BANDS = (
    Band("chameleon", "low", 0.0, 0.3),
    Band("chameleon", "moderate", 0.3, 0.5),
    Band("chameleon", "high", 0.5, 1.0),
)
REUSE_BANDS = (
    Band("source_reuse", "high diversity", 0.0, 0.3),
    Band("source_reuse", "moderate diversity", 0.3, 0.6),
    Band("source_reuse", "low diversity", 0.6, 1.0),
)
OVER = (0.6, 0.7)
"""Scores for which the share of conversations above them is reported (section 4)."""

BINS = 10
"""Figure 4 splits re-use into bins; their number is our choice."""


def place_in_bands(values: Floats, bands: Sequence[Band]) -> Ints:
    """The index of each value's band; the middle one includes both its bounds. -1 for NaN."""
    rounded = np.round(values, _DIGITS)
    places = np.where(rounded < bands[0].high, 0, np.where(rounded > bands[1].high, 2, 1))
    return np.where(np.isnan(values), -1, places)


def band_flags(values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Whether each conversation's score and re-use are in each band, and its score above a bound; NaN without one."""
    made: dict[str, Floats] = {}
    for bands in (CHAMELEON_BANDS, REUSE_BANDS):
        own = values.get(bands[0].measure)
        if own is not None:
            places = place_in_bands(own, bands)
            made |= {band.key: np.where(places < 0, np.nan, places == at) for at, band in enumerate(bands)}
    if (scores := values.get("chameleon")) is not None:
        rounded = np.round(scores, _DIGITS)
        for bound in OVER:
            made[f"chameleon_over_{bound}"] = np.where(np.isnan(rounded), np.nan, rounded > bound)
    return made


def bins_of(reuse: Floats) -> list[str | None]:
    """The bin of each conversation's re-use by its ends ('0.3 to 0.4'), None without any; the last includes 1."""
    names = [f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}" for place in range(BINS)]
    places = np.floor(np.round(np.nan_to_num(reuse) * BINS, _DIGITS)).clip(0, BINS - 1).astype(int)
    return [
        None if missing else names[place]
        for place, missing in zip(places.tolist(), np.isnan(reuse).tolist(), strict=True)
    ]
