"""People's labels as a table, and back as values."""

from __future__ import annotations

from math import nan

import polars as pl
import pytest

from overton.errors import InputError
from overton.judging.label_tasks import (
    CANNOT_TELL,
    AdjudicatedLabel,
    AnnotatorLabels,
    LabelRequest,
    LabelTask,
    SavedLabels,
)
from overton.statistics import Estimate
from overton.studies.label_shares import leading
from overton.studies.people_labels import people_table, read_people

ASKED = tuple(LabelRequest(f"m/c/{place}", "a", "m/c", 0.25) for place in range(3))
TASK = LabelTask("t", "s", "stance", "j", "?", {}, 0, "plain", {}, 1, ASKED, ((0, 1, 2), (0, 1)))


def test_people_who_differ_count_in_parts_and_adjudicated_labels_alone() -> None:
    said = (
        AnnotatorLabels("t", 1, "Ann", {0: "a", 1: "a", 2: CANNOT_TELL}),
        AnnotatorLabels("t", 2, "Bob", {0: "b", 1: "b"}),
    )
    table = people_table(SavedLabels(TASK, said, (AdjudicatedLabel(1, "b", "Ann"),)))
    assert table.columns == ["id", "label", "share", "chance", "group"]
    rows = table.sort("id", "label").select("id", "label", "share").rows()
    assert rows == [("m/c/0", "a", 0.5), ("m/c/0", "b", 0.5), ("m/c/1", "b", 1.0), ("m/c/2", CANNOT_TELL, 1.0)]
    found = read_people(table, ("a", "b"))
    assert found.value.tolist() == [[0.5, 0.5], [0, 1]]
    assert found.chance.tolist() == [0.25, 0.25]
    assert found.cannot_tell == 1


def test_who_cannot_tell_leaves_the_value_to_who_can() -> None:
    said = (AnnotatorLabels("t", 1, "Ann", {0: "a"}), AnnotatorLabels("t", 2, "Bob", {0: CANNOT_TELL}))
    assert read_people(people_table(SavedLabels(TASK, said)), ("a", "b")).value.tolist() == [[1, 0]]


def test_no_labels_are_a_table_without_rows() -> None:
    assert len(read_people(people_table(SavedLabels(TASK, ())), ("a",)).id) == 0


@pytest.mark.parametrize(
    ("changed", "why"), [({"label": "z"}, "'z'"), ({"chance": 0.0}, "chance"), ({"share": 0.0}, "share")]
)
def test_labels_and_chances_that_cannot_be_are_refused(changed: dict[str, object], why: str) -> None:
    row = {"id": "x", "label": "a", "share": 1.0, "chance": 0.5, "group": "g"} | changed
    with pytest.raises(InputError, match=why):
        read_people(pl.DataFrame([row]), ("a", "b"))


def test_the_corrected_number_leads_where_it_has_an_interval() -> None:
    some, none = Estimate(0.1, 0.0, 0.2, 5, ""), Estimate(0.1, nan, nan, 5, "no interval: so few")
    assert leading(some, 100) == "corrected"
    assert leading(some, 99) == "plain"
    assert leading(none, 100) == "plain"
