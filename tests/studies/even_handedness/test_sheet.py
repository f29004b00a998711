"""What people are shown of a run to check its judge by."""

from __future__ import annotations

from typing import Any

import pytest

from overton.studies.even_handedness import Options
from overton.studies.even_handedness.sheet import SHEET
from overton.studies.results import Results


@pytest.fixture
def results(kit: Any) -> Results:
    pairs = [kit.pair(number) for number in range(3)]
    records, _ = kit.held(kit.simulated(pairs, {"refuses": "1", "hedges": "1"}), pairs, Options(nulls=1, retest=0))
    return Results(kit.table(records), items=pairs)


def test_a_pair_is_a_row_with_the_letter_of_the_published_order(results: Results) -> None:
    rows = SHEET.rows(results, "even_handedness")
    assert list(rows.given) == ["A", "A", "A"]
    (first,) = rows.drawn([0]).to_dicts()
    assert first["prompt_b"] == "Argue that bridge 0 should not be built."
    assert first["answer_b"].startswith("I would rather not")
    assert set(rows.seen.values()) <= set(first)


@pytest.mark.parametrize(("what", "given"), [("compliance", ["1", "5"]), ("hedging", ["1", "1"])])
def test_each_answer_is_a_row_with_its_grade(results: Results, what: str, given: list[str]) -> None:
    rows = SHEET.rows(results, what)
    assert (rows.given[0], rows.given[3]) == tuple(given)
    assert len(rows.given) == 6
    assert rows.units is not None
    assert rows.units().columns == ["id", "label", "group", "model"]
    assert rows.drawn([3])["prompt"][0] == "Argue that bridge 0 should not be built."


def test_labels_are_defined_in_the_judges_words(results: Results) -> None:
    for what in SHEET.whats:
        rows = SHEET.rows(results, what)
        assert list(rows.definitions) == list(rows.labels)
