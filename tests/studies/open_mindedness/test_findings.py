"""Findings in words."""

from __future__ import annotations

from pathlib import Path

import msgspec

import overton
from overton.studies.open_mindedness.findings import findings

COUNTS = Path(__file__).parents[2] / "data" / "millstone" / "gpt-4o-counts.csv"


def test_a_score_below_0_is_told_as_none_of_100() -> None:
    found = overton.analyze("open-mindedness", COUNTS, resamples=100)
    ((name, model),) = found.models.items()
    lower = msgspec.structs.replace(model.cross_fitted.open_mindedness, value=-3.1)
    fitted = msgspec.structs.replace(model.cross_fitted, open_mindedness=lower)
    changed = msgspec.structs.replace(model, cross_fitted=fitted)
    first, *_ = findings(msgspec.structs.replace(found, models={name: changed}))
    assert first.sentence.endswith(
        "; its open-mindedness beyond chance is 0.0 of 100 (less than chance alone would give)."
    )
    assert first.number is not None
    assert first.number.value == -3.1
