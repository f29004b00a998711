"""Numbers as text. Tables and charts use a fixed number of decimals. In sentences, the rounding depends on the number
of cases."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Literal

from overton.statistics import Estimate

Kind = Literal["text", "count", "share", "points", "score", "value"]
"""The kind of a number, which determines its format.

text    as it is
count   a whole number
share   a proportion from 0 to 1, shown as a percentage with one decimal
points  a difference of proportions from -1 to 1, shown in percentage points with its sign
score   a number from 0 to 100, shown with one decimal
value   any number, shown with two decimals
"""

NOT_DETERMINED = "not determined"
"""Replaces a limit of an interval that the data do not determine."""

MINUS = "\u2212"
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
    """`value` in the format of its kind, with a true minus sign; a dash if it is NaN."""
    return "\u2013" if isnan(value) else _FORMATS[kind](value).replace("-", MINUS)


def interval(estimate: Estimate, kind: Kind) -> str:
    """'[low, high]' without percent signs, or 'no interval'.

    If the data do not determine a limit, the text has `NOT_DETERMINED` in its place.
    """
    return _interval(estimate, lambda end: number(end, kind))


def _interval(estimate: Estimate, format_limit: Callable[[float], str]) -> str:
    if isnan(estimate.low):
        return "no interval"
    ends = {"low": estimate.low, "high": estimate.high}
    said = (
        NOT_DETERMINED if name in estimate.undetermined else format_limit(end).replace("%", "")
        for name, end in ends.items()
    )
    return f"[{', '.join(said)}]"


def reason(estimate: Estimate) -> str:
    """The reason why an estimate has no value."""
    return estimate.method.removeprefix("not computed:").strip()


_MANY_CASES = 100
"""The number of cases from which a percentage in a sentence has a decimal: one case is then at most one percent."""


def brief_number(value: float, kind: Kind, n: int) -> str:
    """`value` as sentences show it, without a plus sign. A percentage of fewer than 100 cases is rounded to a whole
    number."""
    if isnan(value) or kind not in {"share", "points"}:
        return number(value, kind)
    if n >= _MANY_CASES:
        return number(value, kind).removeprefix("+")
    return f"{round(100 * value)}{'%' if kind == 'share' else ''}".replace("-", MINUS)


def brief_value(estimate: Estimate, kind: Kind) -> str:
    """The estimate's value, rounded for a sentence by its number of cases."""
    return brief_number(estimate.value, kind, estimate.n)


def brief_interval(estimate: Estimate, kind: Kind) -> str:
    """`interval`, with limits rounded for a sentence."""
    return _interval(estimate, lambda end: brief_number(end, kind, estimate.n))


def brief_estimate(estimate: Estimate, kind: Kind) -> str:
    """`sentence`, with numbers rounded for a sentence."""
    return _in_one_line(estimate, brief_value(estimate, kind), brief_interval(estimate, kind))


def percentage(level: float) -> str:
    """The level of an interval: '95%', '99.38%'."""
    return f"{f'{100 * level:.2f}'.rstrip('0').rstrip('.')}%"


def sentence(estimate: Estimate, kind: Kind) -> str:
    """The value, its interval and the number of cases in one line, or the reason why the estimate has no value."""
    return _in_one_line(estimate, number(estimate.value, kind), interval(estimate, kind))


def _in_one_line(estimate: Estimate, value: str, limits: str) -> str:
    if isnan(estimate.value):
        return f"no value: {reason(estimate)}"
    return f"{value} {limits}, n = {estimate.n:,}"


def _unsigned_zero(value: float) -> float:
    return value + 0.0 if value != 0 else 0.0
