"""A number with its interval: limits that only the end of the range determines."""

from __future__ import annotations

from math import inf, nan

import msgspec
import pytest

from overton.statistics import Estimate
from overton.statistics.estimate import DIFFERENCE, SHARE, Ends, not_computed
from overton.statistics.jackknife import Jackknife


@pytest.mark.parametrize(
    ("value", "low", "high", "within", "undetermined"),
    [
        (0.24, 0.1, 1.0, (0, 1), ("high",)),
        (0.24, 0.0, 0.5, (0, 1), ("low",)),
        (0.24, 0.0, 1.0, (0, 1), ("low", "high")),
        (0.24, 0.1, 0.5, (0, 1), ()),
        (0.0, 0.0, 0.24, (0, 1), ()),  # none of twelve: less than none there is not
        (1.0, 0.76, 1.0, (0, 1), ()),
        (0.52, 0.3, 0.52, (0, 0.5), ("high",)),  # a deviation of six answers, all yes or no
        (0.24, 0.0, 1.0, (None, None), ()),
        (0.24, nan, nan, (0, 1), ()),
    ],
)
def test_a_limit_at_the_end_of_the_range_is_undetermined_unless_the_value_lies_there(
    value: float, low: float, high: float, within: Ends, undetermined: tuple[str, ...]
) -> None:
    assert Estimate(value, low, high, 12, "by hand", within=within).undetermined == undetermined


@pytest.mark.parametrize(
    ("low", "high", "above", "below"),
    [
        (0.02, 0.3, True, False),
        (-0.3, -0.02, False, True),
        (-0.1, 0.1, False, False),
        (0.0, 0.1, False, False),
        (2.8e-17, 0.1, False, False),  # 0, but for the order in which proportions were added
        (-0.1, -2.8e-17, False, False),
        (nan, nan, False, False),
    ],
)
def test_intervals_exclude_zero_by_more_than_rounding_errors(low: float, high: float, above: bool, below: bool) -> None:
    found = Estimate(0.05, low, high, 12, "by hand")
    assert (found.lies_above(), found.lies_below()) == (above, below)


def test_nothing_is_undetermined_where_nothing_is_computed() -> None:
    assert not_computed("no answers").undetermined == ()


def test_limits_that_the_range_cuts_off_are_undetermined_and_wilsons_are_not() -> None:
    cut = Jackknife().mean([0.9, 1.0, 1.0, 1.0, 0.4, 1.0], SHARE)
    assert (cut.high, cut.undetermined) == (1.0, ("high",))
    assert Jackknife().mean([0.9, 1.0, 1.0, 1.0, 0.4, 1.0]).undetermined == ()  # without a range
    none = Jackknife().mean([0.0] * 12, SHARE)
    assert (none.value, none.low, none.undetermined) == (0.0, 0.0, ())
    some = Jackknife().mean([0.0] * 11 + [1.0], SHARE)
    assert some.method == "Wilson, over issues"
    assert some.undetermined == ()
    assert Jackknife().mean([-0.9, -1.0, 0.5, -1.0, -1.0], DIFFERENCE).undetermined == ("low",)


@pytest.mark.parametrize("within", [(0.0, inf), (-inf, inf), (0.0, 1.0)])
def test_an_estimate_is_read_back_from_json(within: tuple[float, float]) -> None:
    made = Jackknife().mean([0.1, 0.4, 0.3, 0.2, 0.5], within)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Estimate) == made
