"""Similarity and inheritance of values, corrected by human labels, on deliberations whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks.value_labels import NAMES, deliberated, misread, people_of, table

from overton.statistics import PreferredEstimate
from overton.studies.correction import placed
from overton.studies.deliberation.errors import ValueCase, _similarity
from overton.studies.deliberation.measures import STUDY_MEASURES
from overton.studies.frame import place_in_rows

Array = np.ndarray[Any, Any]
SETTING = "synchronous / balanced / a + b"
SAME = ("similarity_by_agreement", None, f"{SETTING} / same verdict", "pooled / verdicts", None)


def case_of(used: Array, verdict: Array, said: Array, labels: int) -> ValueCase:
    people = people_of(np.random.default_rng(2), used, said, labels)
    return ValueCase(table(verdict, said), people, NAMES, (0.95, 20, 0))


@pytest.fixture(scope="module")
def talks() -> tuple[Array, Array]:
    return deliberated(np.random.default_rng(1), 60)


def test_the_weight_of_similarity_is_equation_1_where_labels_are_known() -> None:
    random = np.random.default_rng(3)
    first, second = (random.random((50, 48)) < 0.1 for _ in range(2))
    above, below = _similarity((~first).astype(float), (~second).astype(float))
    either = (first | second).sum(1)
    wanted = np.where(either > 0, (first & second).sum(1) / np.maximum(either, 1), 0)
    assert above == pytest.approx(wanted)
    assert below == pytest.approx((either > 0).astype(float))


def test_a_judge_without_errors_keeps_its_numbers(talks: tuple[Array, Array]) -> None:
    verdict, used = talks
    case = case_of(used, verdict, used, 400)
    for one, found in zip(case.listed, case.found, strict=True):
        assert found.corrected.value == pytest.approx(found.plain.value, abs=1e-6), one.name
        assert found.corrected.n == found.plain.n


def test_values_that_the_judge_passed_over_come_back(talks: tuple[Array, Array]) -> None:
    verdict, used = talks
    said = misread(np.random.default_rng(4), used, 0.3, together=False)
    case = case_of(used, verdict, said, 800)
    truth = case_of(used, verdict, used, 400)._plain[SAME].value
    found = next(case.corrected(one) for one in case.listed if one.place == SAME)
    assert found.leads == "corrected"
    assert found.plain.value < truth - 0.05
    assert abs(found.corrected.value - truth) < abs(found.plain.value - truth)
    assert found.corrected.low <= truth <= found.corrected.high
    assert "no deliberation is completely labelled" in found.labelled.method


def test_corrected_numbers_have_their_places_in_the_analysis(talks: tuple[Array, Array]) -> None:
    verdict, used = talks
    said = misread(np.random.default_rng(4), used, 0.2, together=False)
    analysis = STUDY_MEASURES.analyze_records(table(verdict, said), resamples=100)
    numbers = case_of(used, verdict, said, 400).placed()
    places = {place_in_rows(analysis, place): found for place, found in numbers.items()}
    assert None not in places
    made = placed(analysis, places)
    before = {row.key: row.number for row in analysis.rows}
    corrected = [row for row in made.rows if isinstance(row.number, PreferredEstimate)]
    assert {row.measure for row in corrected} >= {"similarity_in_round", "inherited_value"}
    assert len(corrected) == len(numbers)
    assert all(row.number.beside["plain"] == before[row.key] for row in corrected)
