"""Control texts, whose correct labels are known. A judge must label the first control before a run begins.

Plans import this module, so it loads no statistics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from overton.studies.parsing import Notes
from overton.studies.questions import Questions
from overton.studies.study import AnyStudy
from overton.untrusted import decode_json


class ControlText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text for the judge, and its correct labels.

    `what` is the kind of label, as in the study's sheet. `labels` maps each row that one request labels to its correct
    labels. If there is only one row, its key is ''. Several labels may be correct, such as neighbouring grades.
    `material` is the input of the question's `prompts`.
    """

    id: str
    what: str
    labels: dict[str, tuple[str, ...]]
    material: dict[str, Any]


def check_control(whats: Sequence[str], control: ControlText, notes: Notes) -> None:
    """Note an error if the kind of label is unknown, or if a row has no correct label."""
    if control.what not in whats:
        notes.error("what", f"must be one of {', '.join(whats)}")
    if not control.labels or not all(control.labels.values()):
        notes.error("labels", "must name at least one right label for each row")


_decode_control = msgspec.json.Decoder(ControlText).decode


def first_control(study: AnyStudy) -> tuple[Questions, ControlText] | None:
    """The questions of a study, and the control that its judge labels before a run begins.

    None if the study has no controls. Also None if the judge is the measured model itself, because its replies are
    checked in another way.
    """
    questions = study.questions
    judges = [role.name for role in study.roles[1:] if role.judges]
    if questions is None or questions.role not in judges or (control := _first_in(questions)) is None:
        return None
    return questions if questions.of_material is None else questions.of_material(control.material), control


def _first_in(questions: Questions) -> ControlText | None:
    if questions.controls is None:
        return None
    found = questions.controls()
    if isinstance(found, Sequence):
        return next(iter(found), None)
    with found.open(encoding="utf-8") as lines:
        return next((decode_json(line, _decode_control) for line in lines if line.strip()), None)
