"""Label Studio's files, out and back in."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from overton.errors import InputError
from overton.judging.label_studio import LabelStudioExport, interface, said_by, tasks
from overton.judging.label_tasks import CANNOT_TELL, AnnotatorLabels, LabelRequest, LabelTask, task_of

ROWS = tuple(LabelRequest(f"hidden-{place}", "pro", "g", 0.5) for place in range(3))
LABELS = {"pro": 'says "yes" & <so>', "con": ""}
TASK = task_of(LabelTask("", "s", "stance", "j", "Is $it?", LABELS, 0, "plain", {"pro": 6}, 1, ROWS, ((0, 1), (1, 2))))
TEXTS = [{"Post": "<b>$1</b>", "Answer": "yes"}, {"Answer": "no"}, {"Answer": "?"}]


def export(place: int, *annotations: dict[str, Any], task: str = TASK.name) -> list[LabelStudioExport]:
    held = [{"id": 9, "data": {"overton_task": task, "overton_row": place, "text_1": "x"}, "annotations": annotations}]
    return msgspec.json.decode(json.dumps(held), type=list[LabelStudioExport])


def annotation(label: str | None, who: Any = 3, **more: Any) -> dict[str, Any]:
    value = {"value": {"choices": [label]}, "from_name": "label", "to_name": "text_1", "type": "choices", "id": "a"}
    remark = {"value": {"text": ["odd"]}, "from_name": "remark", "type": "textarea"}
    return {"result": [] if label is None else [value, remark], "completed_by": who, "lead_time": 4.5, **more}


def test_tasks_have_the_texts_without_the_judges_labels() -> None:
    made = json.loads(tasks(TASK, TEXTS))
    assert made[0]["data"] == {
        "overton_task": TASK.name,
        "overton_row": 0,
        "text_1": "<b>$1</b>",
        "text_2": "yes",
    }
    assert made[1]["data"]["text_1"] == ""
    assert "hidden" not in json.dumps(made)
    assert msgspec.json.decode(tasks(TASK, TEXTS), type=list[LabelStudioExport])[2].annotations == []


def test_the_interface_is_xml_with_every_text_and_label() -> None:
    made = ElementTree.fromstring(interface(TASK, TEXTS))
    assert [one.get("value") for one in made.iter("Text")] == ["$text_1", "$text_2"]
    assert [(one.get("value"), one.get("hint")) for one in made.iter("Choice")] == [
        ("pro", 'says "yes" & <so>'),
        ("con", ""),
        (CANNOT_TELL, "none of these can be said"),
    ]
    headers = [one.get("value") for one in made.iter("Header")]
    assert headers == ["Is $ it?", "Post", "Answer"]
    (choices,) = made.iter("Choices")
    assert (choices.get("name"), choices.get("toName")) == ("label", "text_1")


def test_each_persons_labels_are_counted_to_the_first_page_that_asks_for_the_row() -> None:
    named = {"id": 4, "email": "bo@example.org", "first_name": "Bo", "last_name": ""}
    rows = [
        *export(0, annotation("pro"), annotation("con", named)),
        *export(1, annotation("con"), annotation(None, named, was_cancelled=True)),
        *export(2, annotation(CANNOT_TELL)),
    ]
    assert said_by(TASK, rows, "f") == [
        AnnotatorLabels(TASK.name, 1, "Bo", {0: "con"}, {0: "odd"}, {0: 4.5}),
        AnnotatorLabels(TASK.name, 1, "user 3", {0: "pro", 1: "con"}, {0: "odd", 1: "odd"}, {0: 4.5, 1: 4.5}),
        AnnotatorLabels(TASK.name, 2, "user 3", {2: CANNOT_TELL}, {2: "odd"}, {2: 4.5}),
    ]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (export(0, annotation("pro"), task="t0"), "f: [0].data.overton_task: is 't0', but the key is for"),
        (export(7, annotation("pro")), "f: [0].annotations[0]: row 7 is on no page of this task"),
        (export(0, annotation(None)), "f: [0].annotations[0]: has no single choice"),
        (export(0, annotation("pro"), annotation("con")), "f: [0].annotations[1]: 'user 3' labelled row 0 twice"),
    ],
)
def test_rows_of_another_task_are_refused_with_their_location(rows: list[LabelStudioExport], told: str) -> None:
    with pytest.raises(InputError) as refused:
        said_by(TASK, rows, "f")
    assert str(refused.value).startswith(told)
