"""What a chart shows, in a few numbers for its title: how far its values reach, and whose the extremes are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overton.studies.charts.drawing import shortened
from overton.studies.numbers import Kind, number

_LONGEST = 60


@dataclass(frozen=True)
class Value:
    """A number that is drawn, on its own scale: its series ('' for the only one), and what else it describes."""

    value: float
    series: str
    of: str


def said(values: Sequence[Value], kind: Kind) -> str:
    """From the lowest to the highest, each with what it describes; two series separately; '' for no values."""
    series = list(dict.fromkeys(one.series for one in values))
    if len(series) == 2:
        each = [(name, [one for one in values if one.series == name]) for name in series]
        return "; ".join(f"{_reach(own, kind)} ({name})" for name, own in each)
    return _from_to(values, kind) if values else ""


def _reach(values: Sequence[Value], kind: Kind) -> str:
    low, high = (number(end(one.value for one in values), kind) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _from_to(values: Sequence[Value], kind: Kind) -> str:
    low, high = (end(values, key=lambda one: one.value) for end in (min, max))
    if len(values) == 1:
        return number(low.value, kind)
    if number(low.value, kind) == number(high.value, kind):
        return f"all {number(low.value, kind)}"
    return f"{_ended(low, kind)} to {_ended(high, kind)}"


def _ended(one: Value, kind: Kind) -> str:
    of = ", ".join(filter(None, (one.of, one.series)))
    return f"{number(one.value, kind)} ({shortened([of], _LONGEST)[of]})"
