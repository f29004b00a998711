"""A summary of a chart's values for its title: the smallest and the largest value, each with the name of its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from overton.studies.charts.drawing import shortened
from overton.studies.numbers import Kind, number

_MAX_CHARACTERS = 60


@dataclass(frozen=True)
class Value:
    """A number in a chart, with its series ('' if there is only one) and the name of its row. Proportions are not
    multiplied by 100."""

    value: float
    series: str
    of: str


def describe_values(values: Sequence[Value], kind: Kind) -> str:
    """State the smallest and the largest value, each with the name of its row. Two series are listed separately. The
    result is '' without values."""
    series = list(dict.fromkeys(value.series for value in values))
    if len(series) == 2:
        each = [(name, [value for value in values if value.series == name]) for name in series]
        return "; ".join(f"{_reach(own, kind)} ({name})" for name, own in each)
    return _describe_range(values, kind) if values else ""


def _reach(values: Sequence[Value], kind: Kind) -> str:
    low, high = (number(end(value.value for value in values), kind) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _describe_range(values: Sequence[Value], kind: Kind) -> str:
    low, high = (end(values, key=lambda value: value.value) for end in (min, max))
    if len(values) == 1:
        return number(low.value, kind)
    if number(low.value, kind) == number(high.value, kind):
        return f"all {number(low.value, kind)}"
    return f"{_describe_end(low, kind)} to {_describe_end(high, kind)}"


def _describe_end(value: Value, kind: Kind) -> str:
    of = ", ".join(filter(None, (value.of, value.series)))
    return f"{number(value.value, kind)} ({shortened([of], _MAX_CHARACTERS)[of]})"
