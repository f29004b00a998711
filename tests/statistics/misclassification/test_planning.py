"""How many labels a width takes: by hand, and as simulated."""

from __future__ import annotations

import numpy as np
import pytest

from overton.statistics.misclassification import Gaps, rows_for_width, units_for_width


def gaps(items: float, errors: float) -> Gaps:
    return Gaps(0.5, (-items, items), (-errors, errors), (items / 2, errors / 2))


def test_more_rows_shrink_only_the_uncertainty_about_errors() -> None:
    # 2 * hypot(0.03, 0.08 * sqrt(30 / n)) = 0.1 where sqrt(30 / n) = 0.5: four times as many.
    plan = rows_for_width(gaps(0.03, 0.08), 30, 600, 0.1)
    assert plan.labels == 120
    assert plan.width == pytest.approx(0.1)
    assert plan.least == pytest.approx(0.06)


def test_a_width_that_items_forbid_has_a_reason() -> None:
    plan = rows_for_width(gaps(0.06, 0.08), 30, 600, 0.1)
    assert plan.labels == 0
    assert "more items" in plan.why


def test_a_width_that_not_even_all_labels_give_has_a_reason() -> None:
    assert "labels for all 60 rows" in rows_for_width(gaps(0.03, 0.3), 30, 60, 0.1).why


def test_a_width_that_is_there_already_takes_the_fewest_that_correct() -> None:
    assert rows_for_width(gaps(0.01, 0.01), 100, 600, 0.5).labels == 50


def test_units_planned_from_a_pilot_give_the_width_when_they_are_labelled() -> None:
    from overton.statistics.label_draws import LabelDraw
    from overton.statistics.misclassification import whole_units

    random = np.random.default_rng(0)
    every = random.normal(0.5, 0.1, 300)
    people = every - 0.05 + random.normal(0, 0.06, 300)
    plan = units_for_width(people[:40], every[:40], every, 0.04, size=10)
    assert plan.labels == plan.units * 10
    drawn = LabelDraw(np.arange(300) < plan.units, np.full(300, plan.units / 300), np.arange(300))
    found = whole_units(drawn, people, every, (0, 1)).corrected
    assert found.high - found.low == pytest.approx(0.04, rel=0.15)


def test_units_of_an_uninformative_judge_are_planned_as_labels_alone() -> None:
    values = np.tile([0.0, 1.0], 50)
    plan = units_for_width(values, np.zeros(100), values, 0.2, size=10)
    assert plan.units == pytest.approx((2 * 1.985 / 0.2) ** 2 * 0.2525, rel=0.05)
    assert "more items" in units_for_width(values, np.zeros(100), values, 0.1, size=10).why
