"""Krippendorff's alpha where people labelled different units."""

from __future__ import annotations

from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.judging.agreement import fleiss_kappa, krippendorff_alpha

# Krippendorff (2011), section C: four observers, twelve units, some values missing; nominal alpha 0.743.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [[one[unit] for one in OBSERVERS if one[unit] is not None] for unit in range(12)]


def test_alpha_is_that_of_the_published_example_with_missing_labels() -> None:
    found = krippendorff_alpha(UNITS)
    assert found.value == pytest.approx(0.743, abs=5e-4)
    assert found.n == 11  # the twelfth unit has one label, and says nothing
    assert found.low < 0.743 < found.high <= 1


def test_alpha_by_hand() -> None:
    # Two units agree on 'a', one on 'b', one differs: n = 8, coincidences o = 4 + 2, n(a) = 5, n(b) = 3.
    found = krippendorff_alpha([["a", "a"], ["a", "a"], ["b", "b"], ["a", "b"]])
    assert found.value == pytest.approx(1 - 7 * (8 - 6) / (64 - 25 - 9))


labels = st.lists(st.lists(st.sampled_from("abc"), max_size=4), max_size=12)


@given(units=labels, names=st.permutations("abc"))
def test_alpha_does_not_hang_on_what_labels_are_called_nor_on_who_gave_them(
    units: list[list[str]], names: list[str]
) -> None:
    called = dict(zip("abc", names, strict=True))
    before, after = (
        krippendorff_alpha(units),
        krippendorff_alpha([[called[one] for one in reversed(unit)] for unit in units]),
    )
    assert [before.n, before.method] == [after.n, after.method]
    for one, other in ((before.value, after.value), (before.low, after.low), (before.high, after.high)):
        assert one == pytest.approx(other, abs=1e-8, nan_ok=True)


@given(units=st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=12))
def test_where_nothing_is_missing_it_is_alpha_of_complete_labels(units: list[tuple[str, ...]]) -> None:
    kappa = fleiss_kappa(list(zip(*units, strict=True))).value  # of which it is a function then (Krippendorff 2004)
    expected = 1 - (1 - kappa) * (1 - 1 / (3 * len(units)))
    assert krippendorff_alpha(units).value == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_units_of_one_group_count_as_one_draw() -> None:
    units = [["a", "a"], ["b", "b"], ["a", "b"], ["a", "a"], ["b", "b"], ["b", "a"]] * 4
    alone = krippendorff_alpha(units)
    together = krippendorff_alpha(
        [unit for unit in units for _ in range(3)], [place for place in range(24) for _ in range(3)]
    )
    assert together.n == 72
    assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.05)


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ([["a"], [], ["b"]], "no unit has two labels"),
        ([["a", "a"], ["a", "a"]], "only one label occurs"),
        ([["a", "a"], ["b", "b"]] * 5, "the same in all 10 units"),
        ([["a", "a"], ["b", "b"], ["a", "b"]], "too few units"),
    ],
)
def test_too_little_gives_a_reason_instead(units: list[list[str]], said: str) -> None:
    found = krippendorff_alpha(units)
    assert said in found.method
    assert isnan(found.low)


def test_a_cluster_for_each_unit_is_needed() -> None:
    with pytest.raises(ValueError, match="one cluster per unit"):
        krippendorff_alpha([["a", "b"]], [])
