"""Rows for people to label are sampled as in version 0.2.0: single rows, whole units and strata."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.stored_runs import FIRST, LABELS, unpack

import overton

_QUICK = (
    "open-mindedness-labels-single-side",
    "stance-stability-labels-whole-stance",
    "pluralism-labels-whole-stance",
    "deliberation-labels-stratified-value",
    "even-handedness-labels-single-compliance",
)


def _param(name: str) -> Any:
    return pytest.param(name, marks=() if name in _QUICK else pytest.mark.long)


@pytest.mark.parametrize("name", [_param(name) for name in LABELS])
def test_rows_are_drawn_as_they_were(name: str, tmp_path: Path) -> None:
    case = LABELS[name]
    run = unpack(name, tmp_path, FIRST)
    how = dict(case.how) or {"whole": False}  # 0.2.0 drew single rows unless told otherwise
    overton.judge.draw_labels(run, tmp_path / "task", people=1, size=240, what=case.what, **how)
    (labels,) = (run / "labels").glob("*.json")
    stored = json.loads(labels.read_bytes())["task"]
    drawn = json.loads((tmp_path / "task" / "task.json").read_bytes())
    assert {name: drawn[name] for name in stored} == stored
