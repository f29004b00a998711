"""Judges: have a judge label existing text, and check a judge with human labels. Each command `overton judge NAME` is a
function here. A study that labels existing text is a function, too, with the arguments of `overton.run`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from overton.judge.controls import controls, plan_controls
from overton.judge.correction import correct
from overton.judge.label_plan import labels_for
from overton.judge.label_use import use_of_labels
from overton.judge.pages import draw_labels, settling_page
from overton.judge.people_labels import agreement
from overton.judge.rejudging import again, plan_again
from overton.judge.sheets import draw_sheet as sample
from overton.runs.start import call_of
from overton.studies.registry import listed

__all__ = [
    "again",
    "agreement",
    "controls",
    "correct",
    "draw_labels",
    "labels_for",
    "plan_again",
    "plan_controls",
    "sample",
    "settling_page",
    "use_of_labels",
]


def __getattr__(name: str) -> Callable[..., Any]:
    """The function of a study that labels existing text."""
    labelling = {study.word.replace("-", "_"): study for study in listed() if study.kind == "labels"}
    if name not in labelling:
        raise AttributeError(f"module 'overton.judge' has no attribute {name!r}")
    return call_of(labelling[name])


def __dir__() -> list[str]:
    return sorted([*__all__, *(study.word.replace("-", "_") for study in listed() if study.kind == "labels")])
