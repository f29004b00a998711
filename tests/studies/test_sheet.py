"""How a judge's agreement with a person reads as tables."""

from __future__ import annotations

import pytest

from overton.judging.agreement import SheetAgreement, leniency
from overton.statistics import Estimate
from overton.studies.questions import agreement_tables

SAME, KAPPA, CONFIRMED = (Estimate(value, 0.1, 0.9, 20, "stratified") for value in (0.8, 0.6, 0.7))


@pytest.fixture
def found() -> SheetAgreement:
    confusion = {"match": {"match": 33, "no match": 17}, "no match": {"match": 3, "no match": 47}}
    return SheetAgreement("s", "pluralism", "match", "a/j", True, 104, 4, SAME, KAPPA, {"match": CONFIRMED}, confusion)


def test_what_is_agreed_on_and_what_each_label_is_worth(found: SheetAgreement) -> None:
    whole, labels = agreement_tables(found)
    assert whole.title == "a/j and a person"
    assert whole.rows == [["match", 100, 4, SAME, KAPPA, leniency(found, "match")]]
    assert labels.rows == [["match", 20, CONFIRMED]]


def test_leniency_is_reported_for_matches_only_and_an_empty_sheet_has_no_labels(found: SheetAgreement) -> None:
    stance = SheetAgreement("s", "stance-stability", "stance", "j", False, 6, 6, SAME, KAPPA, {}, {})
    (whole,) = agreement_tables(stance)
    assert [column.title for column in whole.columns] == [
        *("Label", "Rows", "Left empty", "Same label", "Cohen's kappa"),
    ]
    assert whole.rows[0][:3] == ["stance", 0, 6]
