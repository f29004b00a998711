"""Labels of several tasks about one label."""

from __future__ import annotations

import pytest
from msgspec import structs

from overton.judging.joined_tasks import join_tasks, joined_with
from overton.judging.label_tasks import (
    AdjudicatedLabel,
    AnnotatorLabels,
    LabelDesign,
    LabelRequest,
    LabelTask,
    SavedLabels,
    task_of,
)

POPULATION = {"pro": 60, "con": 40}


def labels_of(
    rows: str, person: str, said: dict[int, str], *, design: LabelDesign = "plain", seed: int = 0, groups: int = 10
) -> SavedLabels:
    """One person's labels of units named by letters, of which the capital ones are judged pro."""
    asked = tuple(LabelRequest(row, "pro" if row.isupper() else "con", row.lower(), 0.1) for row in rows)
    page = tuple(range(len(rows)))
    labels = dict.fromkeys(POPULATION, "")
    task = task_of(LabelTask("", "s", "stance", "judge", "?", labels, seed, design, POPULATION, groups, asked, (page,)))
    return SavedLabels(task, (AnnotatorLabels(task.name, 1, person, said),))


def test_rows_of_two_tasks_count_together_and_shared_rows_once() -> None:
    ada, bo = labels_of("ABc", "ada", {0: "pro", 1: "pro", 2: "con"}), labels_of("Bd", "bo", {0: "con", 1: "con"})
    (found,) = join_tasks([ada, bo])
    named = {found.task.rows[place].id: dict(shares) for place, shares in found.shares().items()}
    assert named == {"A": {"pro": 1.0}, "B": {"pro": 0.5, "con": 0.5}, "c": {"con": 1.0}, "d": {"con": 1.0}}
    assert {row.chance for row in found.task.rows} == {0.04}
    assert sorted(page for page in (said.page for said in found.said)) == [1, 2]
    assert len(found.task.people) == 2
    assert set(found.task.name.split("+")) == {ada.task.name, bo.task.name}


def test_chances_follow_the_judged_label_when_a_task_is_stratified() -> None:
    plain = labels_of("ABc", "ada", {0: "pro", 1: "pro", 2: "con"})
    stratified = labels_of("Cd", "bo", {0: "con"}, design="stratified")
    (found,) = join_tasks([plain, stratified])
    assert found.task.design == "stratified"
    assert {row.id: row.chance for row in found.task.rows} == pytest.approx(
        {"A": 3 / 60, "B": 3 / 60, "C": 3 / 60, "c": 1 / 40, "d": 1 / 40}
    )


def test_whole_groups_are_joined_among_themselves() -> None:
    first = labels_of("Aa", "ada", {0: "pro", 1: "con"}, design="whole")
    second = labels_of("Bb", "bo", {0: "pro", 1: "con"}, design="whole")
    plain = labels_of("C", "cy", {0: "pro"})
    whole, single = join_tasks([first, second, plain])
    assert (whole.task.design, {row.chance for row in whole.task.rows}) == ("whole", {0.2})
    assert single == plain


def test_tasks_of_other_rows_stay_apart() -> None:
    ada, bo = labels_of("AB", "ada", {0: "pro"}), labels_of("C", "bo", {0: "pro"})
    grown = structs.replace(bo, task=structs.replace(bo.task, population={"pro": 61, "con": 40}))
    assert join_tasks([ada, grown]) == [ada, grown]
    judged = structs.replace(ada.task, rows=(LabelRequest("A", "con", "a", 0.1),))
    assert join_tasks([ada, structs.replace(ada, task=judged)]) == [ada, structs.replace(ada, task=judged)]


def test_adjudicated_labels_keep_their_rows() -> None:
    ada, bo = labels_of("AB", "ada", {0: "pro", 1: "pro"}), labels_of("B", "bo", {0: "con"})
    settled = structs.replace(bo, settled=(AdjudicatedLabel(0, "con", "both"),))
    (found,) = join_tasks([ada, settled])
    (adjudicated,) = found.settled
    assert (found.task.rows[adjudicated.place].id, adjudicated.label) == ("B", "con")


def test_labels_of_the_same_task_are_replaced() -> None:
    before, now = labels_of("AB", "ada", {0: "pro"}), labels_of("AB", "ada", {0: "con", 1: "con"})
    assert joined_with(now, [before, labels_of("C", "bo", {0: "pro"}, seed=2)]).task.rows[-1].id in {"B", "C"}
    assert joined_with(now, [before]) == now
