"""Proportions of a run's judge, corrected by human labels of some units."""

from __future__ import annotations

from collections import Counter
from math import isnan
from typing import Any

import msgspec
import pytest

from overton.errors import InputError
from overton.judging.label_tasks import (
    CANNOT_TELL,
    AnnotatorLabels,
    LabelDesign,
    LabelRequest,
    LabelTask,
    SavedLabels,
    task_of,
)
from overton.studies.document import plain
from overton.studies.judged_rows import JudgedUnitTable
from overton.studies.label_parts import labelled_section
from overton.studies.label_shares import ENOUGH, LabelledShares, shares_by_people
from overton.studies.sections import Callout, Table

NAMES = {"pro": "for", "con": "against"}
JUDGED = ["pro", "con", "con", "con"] * 100
MODELS = ["a", "b"] * 200
UNITS = JudgedUnitTable([f"u{n}" for n in range(400)], JUDGED, [f"g{n}" for n in range(400)], MODELS)


def task(places: range, design: LabelDesign = "plain", units: JudgedUnitTable = UNITS) -> LabelTask:
    chance = len(places) / len(units.id)
    rows = tuple(LabelRequest(units.id[n], units.label[n], units.group[n], chance) for n in places)
    population = {name: Counter(units.label)[name] for name in NAMES}
    bare = LabelTask("", "s", "stance", "j", "?", NAMES, 0, design, population, 9, rows, (tuple(range(len(rows))),) * 2)
    return task_of(bare)


def found(of: LabelTask, *people: dict[int, str], units: JudgedUnitTable = UNITS) -> LabelledShares:
    said = tuple(AnnotatorLabels(of.name, page, f"p{page}", one) for page, one in enumerate(people, 1))
    return shares_by_people(SavedLabels(of, said), units, "run", "f")


def as_judged(of: LabelTask, *, but: dict[int, str] | None = None) -> dict[int, str]:
    return {place: row.judged for place, row in enumerate(of.rows)} | (but or {})


def test_a_judge_that_people_confirm_keeps_its_numbers() -> None:
    of = task(range(0, 400, 3))
    one = found(of, as_judged(of)).shares["pro"]
    assert one.leads == "corrected"
    assert one.plain.value == 0.25
    assert one.corrected.value == pytest.approx(0.25)
    assert one.labelled.value == pytest.approx(34 / 134)
    assert one.corrected.high - one.corrected.low < one.labelled.high - one.labelled.low


def test_people_who_differ_count_in_equal_parts() -> None:
    of = task(range(120))
    first, second = as_judged(of), as_judged(of, but=dict.fromkeys(range(0, 120, 4), "con"))
    half = found(of, first, second)
    assert half.open == 30
    assert half.shares["pro"].labelled.value == pytest.approx(0.125)
    assert half.shares["pro"].corrected.value == pytest.approx(0.125)  # the judge's share is that of the labelled rows
    assert 0 < half.shares["pro"].corrected.low < 0.125 < half.shares["pro"].corrected.high


def test_who_cannot_tell_bounds_the_share_from_both_sides() -> None:
    of = task(range(120))
    made = found(of, as_judged(of, but=dict.fromkeys(range(12), CANNOT_TELL)))
    assert made.cannot_tell == 12
    pro = made.shares["pro"]
    assert pro.labelled.value == pytest.approx(27 / 120)
    assert pro.corrected_at_most is not None
    assert pro.corrected_at_most.value > pro.corrected.value
    assert made.shares[CANNOT_TELL].corrected.value == pytest.approx(0.1)
    assert isnan(made.shares[CANNOT_TELL].plain.value)
    gap = made.differences[0].shares["pro"]
    assert gap.corrected_at_least is not None
    assert gap.corrected_at_most is not None
    assert gap.corrected_at_least.value < gap.corrected.value < gap.corrected_at_most.value


def test_models_have_shares_of_their_own_and_a_difference() -> None:
    of = task(range(0, 400, 2 + 1))
    made = found(of, as_judged(of))
    assert made.models["a"]["pro"].plain.value == 0.5
    assert made.models["b"]["pro"].plain.value == 0
    (between,) = made.differences
    assert (between.a, between.b, between.shares["pro"].plain.value) == ("a", "b", 0.5)
    assert between.shares["pro"].corrected.value == pytest.approx(0.5, abs=0.02)


def test_with_few_labels_the_judge_leads_and_the_report_tells_so() -> None:
    of = task(range(ENOUGH))
    few = found(of, dict.fromkeys(range(ENOUGH - 1), "pro"))
    assert few.shares["pro"].leads == "plain"
    (told, *_) = labelled_section([few]).exhibits
    assert isinstance(told, Callout)
    assert told.summary
    assert f"From {ENOUGH} units on, results use the corrected number" in told.text


def test_a_table_begins_with_the_number_that_leads() -> None:
    of = task(range(ENOUGH))
    heads = []
    for some in (as_judged(of), {0: "pro", 1: "con"}):
        tables = [one for one in labelled_section([found(of, some)]).exhibits if isinstance(one, Table)]
        heads.append(tables[0].columns[1].title)
        assert tables[0].summary
    assert heads == ["Corrected", "Judge alone"]


def test_json_has_one_measure_a_share_with_the_number_that_leads() -> None:
    of = task(range(ENOUGH))
    told = plain(found(of, as_judged(of)))["shares"]["pro"]
    assert set(told) == {"leads", "plain", "corrected", "labelled"}
    assert told["leads"] == "corrected"
    assert told["plain"]["interval"] == [None, None]


def test_a_run_that_grew_after_the_draw_is_not_corrected_and_says_why() -> None:
    of = task(range(120))
    grown = JudgedUnitTable([*UNITS.id, "new"], [*JUDGED, "pro"], [*UNITS.group, "g"], [*MODELS, "a"])
    made = found(of, as_judged(of), units=grown)
    assert made.shares == {}
    assert "sampled from 400 units, but the run now has 401" in made.why
    (told, *_) = labelled_section([made]).exhibits
    assert isinstance(told, Callout)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "elsewhere"}, "is not a unit of this run"),
        ({"judged": "con"}, "the run's judge labels 'u0' 'pro', not 'con'"),
    ],
)
def test_labels_of_another_run_are_refused(change: dict[str, Any], said: str) -> None:
    of = task(range(4))
    other = task_of(msgspec.structs.replace(of, rows=(msgspec.structs.replace(of.rows[0], **change), *of.rows[1:])))
    with pytest.raises(InputError, match="f: rows") as refused:
        found(other, {})
    assert said in str(refused.value)


def test_of_whole_groups_only_those_labelled_to_their_end_count() -> None:
    units = JudgedUnitTable(UNITS.id, JUDGED, [f"g{n // 4}" for n in range(400)], MODELS)
    of = task(range(120), "whole", units)
    made = found(of, {place: of.rows[place].judged for place in range(118)}, units=units)
    assert (made.labelled, made.set_aside) == (116, 2)
    assert made.shares["pro"].corrected.value == pytest.approx(0.25)


def test_intervals_cluster_by_alike_rows_however_rows_were_sampled() -> None:
    alike = JudgedUnitTable(UNITS.id, JUDGED, UNITS.group, MODELS, alike=["one", "two", "three", "four"] * 100)
    of = task(range(120))
    made = found(of, as_judged(of), units=alike).shares["pro"]
    assert isnan(made.corrected.low)
    assert "too few" in made.corrected.method
    assert made.leads == "plain"


def test_no_labels_at_all_is_a_warning() -> None:
    (told,) = labelled_section([]).exhibits
    assert isinstance(told, Callout)
    assert (told.kind, told.summary) == ("warning", True)
