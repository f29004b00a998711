"""How numbers read, in tables and on charts alike."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Literal

from overton.statistics import Estimate

Kind = Literal["text", "count", "share", "points", "score", "value"]
"""The kind of a number, and so how it reads.

text    as it is
count   a whole number
share   0 to 1, shown as a percentage with one decimal
points  a difference of shares, -1 to 1, shown in percentage points with its sign
score   0 to 100, shown with one decimal
value   any number, shown with two decimals
"""

NOT_DETERMINED = "not determined"
"""Stands in place of a limit."""

_MINUS = "\u2212"
_FORMATS: dict[Kind, Callable[[float], str]] = {
    "text": str,
    "count": lambda value: f"{value:,.0f}",
    "share": lambda value: f"{100 * value:.1f}%",
    "points": lambda value: f"{_unsigned_zero(round(100 * value, 1)):+.1f}".replace("+0.0", "0.0"),
    "score": lambda value: f"{_unsigned_zero(round(value, 1)):.1f}",
    "value": lambda value: f"{_unsigned_zero(round(value, 2)):.2f}",
}


def rounded_p(value: float) -> str:
    """A P value with three decimals."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def number(value: float, kind: Kind) -> str:
    """`value` as its kind shows it, with a true minus sign; a dash if it is NaN."""
    return "\u2013" if isnan(value) else _FORMATS[kind](value).replace("-", _MINUS)


def interval(estimate: Estimate, kind: Kind) -> str:
    """'[low, high]', or 'no interval' if there is none; the percent sign is on the value only.

    A limit at the end of the measure's range is `NOT_DETERMINED`: nothing but the range keeps it there.
    """
    if isnan(estimate.low):
        return "no interval"
    ends = {"low": estimate.low, "high": estimate.high}
    said = (
        NOT_DETERMINED if name in estimate.undetermined else number(end, kind).replace("%", "")
        for name, end in ends.items()
    )
    return f"[{', '.join(said)}]"


def reason(estimate: Estimate) -> str:
    """Why an estimate has no value, in words."""
    return estimate.method.removeprefix("not computed:").strip()


def sentence(estimate: Estimate, kind: Kind) -> str:
    """Value, interval and count in one line, or why there is none."""
    if isnan(estimate.value):
        return f"no value: {reason(estimate)}"
    return f"{number(estimate.value, kind)} {interval(estimate, kind)}, n = {estimate.n:,}"


def _unsigned_zero(value: float) -> float:
    return value + 0.0 if value != 0 else 0.0
