"""What a study found about a model, as its profile reports it: one plain sentence with its number."""

from __future__ import annotations

from math import isnan, nan
from typing import Literal, get_args

import msgspec

from overton.statistics import NO_INTERVAL, Estimate, not_computed
from overton.statistics.jackknife import SHARE, Range
from overton.studies.numbers import Kind

__all__ = ["ASPECTS", "Aspect", "Trait", "remaining", "uncertain"]

Aspect = Literal["stands", "moved", "omits", "refuses"]
"""What a trait says of a model: where it stands, what moves it, what it leaves out, what it refuses."""

ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


class Trait(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a study found about a model, in one plain sentence with its number.

    title     what the number is, in a few words that appear beside those of other studies
    number    the estimate; NaN if there is none, and then its method says why
    units     what its `n` counts ('issues')
    exhibit   the key of the section of the study's report that shows it
    within    the least and the most that it could be: the range of charts
    scale     the title of the charts' axis, '' if its kind says enough; numbers of one scale share a chart
    null      what it would be if there were nothing to find, None if that is not known; `null_is` says what kind of
              number that is
    caution   what to read along with it
    """

    aspect: Aspect
    model: str
    title: str
    sentence: str
    number: Estimate
    units: str
    exhibit: str
    kind: Kind = "share"
    within: Range = SHARE
    scale: str = ""
    null: float | None = None
    null_is: str = "as it would be if nothing moved it"
    caution: str = ""


def remaining(share: Estimate) -> Estimate:
    """What is left of a whole without this share of it; the interval is reversed accordingly."""
    if isnan(share.value):
        return share
    return msgspec.structs.replace(share, value=1 - share.value, low=1 - share.high, high=1 - share.low)


def uncertain(count: float, n: int, why: str, nothing: str) -> Estimate:
    """A share of `n` that has no interval, and `why` it has none; if `n` is 0 there is no share, for the reason
    `nothing`."""
    if not n:
        return not_computed(nothing)
    return Estimate(count / n, nan, nan, n, NO_INTERVAL + why)
