"""Does the judge see what nobody can miss? A study made of another one's declaration: its judge asked about texts whose
label is beyond doubt."""

from __future__ import annotations

from functools import partial

from overton.errors import InputError, Problem
from overton.studies.controls.figures import MEASURING
from overton.studies.controls.units import Control, check_control, trials
from overton.studies.items import Items
from overton.studies.parsing import json_lines
from overton.studies.rejudging import judged_again, of_judge
from overton.studies.study import AnyStudy

__all__ = ["controls_of"]


def controls_of(study: AnyStudy) -> AnyStudy:
    """The study that tries this study's judge.

    Raises:
        InputError: the study has no judge that can be asked again, or no controls.
    """
    judged = judged_again(study)
    assert study.sheet is not None  # judged_again says so
    if judged.controls is None:
        reason = "declares no texts whose label is beyond doubt (`JudgedAgain.controls`)"
        raise InputError([Problem("study", study.name, reason)])
    return of_judge(
        study,
        judged,
        name=f"controls-{study.name}",
        title=f"The judge of {study.title or study.name}, tried on controls",
        question="Does the judge give texts whose label is beyond doubt that label?",
        items=Items(
            Control,
            "control",
            "JSONL file of controls",
            parse=json_lines(Control, partial(check_control, study.sheet.whats)),
            starter=judged.controls,
            spelled=lambda one: [f"{one.what}: {one.id}"],
        ),
        trials=trials,
        measuring=MEASURING,
    )
