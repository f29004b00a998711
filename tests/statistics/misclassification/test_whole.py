"""Units labelled whole: the value of each, corrected."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest

from overton.statistics.label_draws import LabelDraw
from overton.statistics.misclassification import WHOLE, whole_units


def draw(many: int, labelled: int) -> LabelDraw:
    return LabelDraw(np.arange(many) < labelled, np.full(many, labelled / many), np.arange(many))


def test_the_judges_surplus_in_labelled_units_is_taken_off_all() -> None:
    random = np.random.default_rng(0)
    people = random.random(400)
    three = whole_units(draw(400, 40), people, people + 0.2, (0, 1))
    assert three.judge == pytest.approx(people.mean() + 0.2)
    assert three.corrected.value == pytest.approx(people.mean(), abs=1e-9)
    assert three.labelled.value == pytest.approx(people[:40].mean())
    assert three.corrected.high - three.corrected.low < three.labelled.high - three.labelled.low


def test_units_without_a_value_are_left_out() -> None:
    people, judged = np.tile([0.2, 0.4], 20), np.tile([0.3, 0.5], 20)
    people[0] = judged[0] = np.nan
    assert whole_units(draw(40, 20), people, judged, (0, 1)).labelled.value == pytest.approx(5.8 / 19)


def test_fewer_units_than_needed_correct_nothing() -> None:
    random = np.random.default_rng(0)
    people = random.random(40)
    found = whole_units(draw(40, WHOLE - 1), people, people, (0, 1))
    assert isnan(found.corrected.value)
    assert "too few labels (9; 10" in found.corrected.method


def test_units_that_are_all_alike_have_an_interval() -> None:
    found = whole_units(draw(60, 10), np.zeros(60), np.random.default_rng(0).random(60), (0, 1))
    assert (found.corrected.value, found.corrected.low) == (0, 0)
    assert found.corrected.high == pytest.approx(0.2775, abs=1e-3)  # Wilson's limit for none of ten
