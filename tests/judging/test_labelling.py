"""Tasks and human labels as values."""

from __future__ import annotations

import msgspec

from overton.judging.label_tasks import (
    CANNOT_TELL,
    AdjudicatedLabel,
    AnnotatorLabels,
    LabelRequest,
    LabelTask,
    SavedLabels,
    has_changed,
    task_of,
)

ROWS = tuple(LabelRequest(f"u{place}", "pro", "g", 0.5) for place in range(4))
TASK = task_of(
    LabelTask(
        "", "s", "stance", "j", "Which?", {"pro": "for", "con": ""}, 0, "plain", {"pro": 8}, 2, ROWS, ((0, 1), (1, 2))
    )
)


def test_a_task_is_named_by_all_its_contents() -> None:
    assert TASK.name.startswith("t")
    assert not has_changed(TASK)
    assert has_changed(msgspec.structs.replace(TASK, seed=1))


def test_a_task_comes_back_from_json_as_it_was() -> None:
    assert msgspec.json.decode(msgspec.json.encode(TASK), type=LabelTask) == TASK


def test_labels_count_in_equal_parts_until_they_are_adjudicated() -> None:
    said = (
        AnnotatorLabels(TASK.name, 1, "ada", {0: "pro", 1: "pro"}),
        AnnotatorLabels(TASK.name, 2, "bo", {1: "con", 2: CANNOT_TELL}),
    )
    assert SavedLabels(TASK, said).shares() == {0: {"pro": 1}, 1: {"pro": 0.5, "con": 0.5}, 2: {CANNOT_TELL: 1}}
    assert SavedLabels(TASK, said, (AdjudicatedLabel(1, "con", "ada"),)).shares()[1] == {"con": 1}
