"""People and judge on one task, counted by hand."""

from __future__ import annotations

from math import isnan

import pytest

from overton.judging.agreement import cohen_kappa
from overton.judging.annotators import annotator_agreement
from overton.judging.label_tasks import (
    CANNOT_TELL,
    AdjudicatedLabel,
    AnnotatorLabels,
    LabelRequest,
    LabelTask,
    SavedLabels,
    task_of,
)

NAMES = {"pro": "for", "con": "against"}


def task(judged: list[str], chance: list[float] | None = None) -> LabelTask:
    rows = tuple(
        LabelRequest(f"u{place}", label, f"g{place}", (chance or [0.5] * len(judged))[place])
        for place, label in enumerate(judged)
    )
    every = tuple(range(len(judged)))
    population = {name: 2 * judged.count(name) for name in NAMES}
    made = LabelTask("", "s", "stance", "j", "?", NAMES, 0, "plain", population, len(rows), rows, (every, every))
    return task_of(made)


def labelled(of: LabelTask, *people: dict[int, str], settled: tuple[AdjudicatedLabel, ...] = ()) -> SavedLabels:
    said = tuple(
        AnnotatorLabels(of.name, min(number, 2), name, one)
        for number, (name, one) in enumerate(zip(["ada", "bo", "cy"], people, strict=False), 1)
    )
    return SavedLabels(of, said, settled)


def test_people_count_in_equal_parts_until_a_row_is_adjudicated() -> None:
    of = task(["pro", "pro", "con", "con"])
    people = ({0: "pro", 1: "pro", 2: "pro"}, {1: "con", 2: "pro", 3: CANNOT_TELL})
    found = annotator_agreement(labelled(of, *people))
    assert (found.asked, found.labelled, found.shared, found.open, found.settled) == (4, 4, 2, 1, 0)
    assert [(one.name, one.labelled, one.cannot_tell) for one in found.people] == [("ada", 3, 0), ("bo", 3, 1)]
    assert found.judge.confusion == {
        "pro": {"pro": 1.5, "con": 0.5, CANNOT_TELL: 0.0},
        "con": {"pro": 1.0, "con": 0.0, CANNOT_TELL: 1.0},
    }
    assert found.judge.same.value == pytest.approx(1.5 / 4)
    assert found.judge.by_label["pro"].value == pytest.approx(0.75)
    after = annotator_agreement(labelled(of, *people, settled=(AdjudicatedLabel(1, "con", "ada"),)))
    assert (after.open, after.settled) == (0, 1)
    assert after.judge.same.value == pytest.approx(1 / 4)
    assert after.alpha == found.alpha  # of what each said alone


def test_rows_weigh_as_many_as_they_represent() -> None:
    of = task(["pro", "con"] * 3, [0.1, 0.5] * 3)
    found = annotator_agreement(labelled(of, dict.fromkeys(range(6), "pro")))
    assert found.judge.same.value == pytest.approx(10 / 12)
    assert found.judge.confusion["con"]["pro"] == 3  # as they were labelled


def test_kappa_of_two_people_is_over_rows_that_both_labelled() -> None:
    of = task(["pro"] * 12)
    first = dict(enumerate(["pro", "pro", "con", "con", "pro", "con", "pro", "con", "pro", "con"]))
    second = dict(enumerate(["pro", "con", "con", "con", "pro", "pro", "pro", "con", "pro", "con"])) | {11: "pro"}
    (pair,) = annotator_agreement(labelled(of, first, second)).pairs
    both = [[one[place] for place in range(10)] for one in (first, second)]
    assert (pair.a, pair.b, pair.n, pair.same.value) == ("ada", "bo", 10, 0.8)
    assert pair.kappa.value == pytest.approx(cohen_kappa(*both).value)
    assert pair.kappa.low < pair.kappa.value < pair.kappa.high


def test_with_one_label_a_row_the_judges_kappa_is_cohens() -> None:
    judged = ["pro", "pro", "con", "con", "pro", "con", "pro", "con"]
    said = ["pro", "con", "con", "con", "pro", "pro", "pro", "con"]
    found = annotator_agreement(labelled(task(judged), dict(enumerate(said))))
    assert found.judge.kappa.value == pytest.approx(cohen_kappa(judged, said).value)
    assert isnan(found.alpha.value)
    assert found.pairs == ()


def test_a_persons_pages_are_joined_unless_they_say_two_things() -> None:
    of = task(["pro"] * 4)
    first = AnnotatorLabels(of.name, 1, "ada", {0: "pro"})
    (pair,) = annotator_agreement(SavedLabels(of, (first, AnnotatorLabels(of.name, 2, "ada", {0: "con"})))).pairs
    assert (pair.a, pair.b) == ("ada (page 1)", "ada (page 2)")
    alike = annotator_agreement(SavedLabels(of, (first, AnnotatorLabels(of.name, 2, "ada", {0: "pro", 1: "con"}))))
    assert (alike.pairs, alike.shared, alike.labelled) == ((), 0, 2)


def test_people_without_shared_rows_have_a_reason_instead_of_kappa() -> None:
    (pair,) = annotator_agreement(labelled(task(["pro"] * 4), {0: "pro"}, {1: "pro"})).pairs
    assert pair.n == 0
    assert "no row in common" in pair.kappa.method
