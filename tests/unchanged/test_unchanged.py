"""Tests that studies and makers of items give the same results on fixed inputs as before everything was moved.

`mapping` lists the differences on purpose, and `calls` has the calls into Overton.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .comparing import differences, told
from .endpoint import serving
from .mapping import CLOSE, bounds_may_move, form
from .record import FOLDER, PINS, recorded
from .redoing import CASES, analysed, redo, study_of
from .studies import CASES as ASKED
from .studies import QUICK

NUMBERS = ("compared", "gated", "baseline", "judged")
KINDS = ("plan", "records", "calls", "requests", "dataset", "summary", *NUMBERS)
SLOW = {"pluralism-two-models", "stance-stability-clear"}
SLOW_STORED = ("-labels-single-", "-labels-whole-", "-repeats", "-stopped", "-precision")
"""Analyses whose like is among the quick cases."""


def _is_long(case: str) -> bool:
    slow_stored = case.startswith("stored-") and any(part in case for part in SLOW_STORED)
    return case in SLOW or slow_stored or (case in ASKED and case not in QUICK)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as served:
        yield served


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.long if _is_long(case) else ()) for case in CASES],
)
def test_plans_calls_records_and_analyses_are_as_they_were(case: str, address: str, tmp_path: Path) -> None:
    old, new = recorded(case), redo(case, tmp_path, address)
    assert set(old) == set(new) <= {*KINDS, "analyses", "numbers"}
    found = {kind: kind_differs(case, kind, old.get(kind), new.get(kind)) for kind in KINDS}
    found |= dict(analyses_differ(case, old.get("analyses", {}), new.get("analyses", {})))
    found |= dict(numbers_differ(case, old.get("numbers", {}), new.get("numbers", {})))
    said = [told(f"{case}, {what}", lines) for what, lines in found.items() if lines]
    assert not said, "\n" + "\n".join(said)


def kind_differs(case: str, kind: str, old: Any, new: Any) -> list[str]:
    """The differences in one kind of JSON: numbers of comparisons are those of their analyses, all else is to
    be equal.
    """
    close = CLOSE if kind in NUMBERS else 0.0
    return differences(old, new, form(study_of(case), kind, case), close=close)


def numbers_differ(case: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Each analysis of a case with the differences in its numbers, which are by measure."""
    for name, value in old.items():
        study = analysed(case)[name][0].split()[-1]  # without what the forms of stored runs' documents are called by
        yield (
            f"numbers of '{name}' of {study}",
            differences(value, new.get(name), form(study, "numbers", case), close=CLOSE),
        )


def analyses_differ(case: str, old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Each analysis of a case with what differs in it."""
    for name, value in old.items():
        study, resamples = analysed(case)[name]
        moves = bounds_may_move(resamples)
        yield (
            f"analysis '{name}' of {study}",
            differences(value, new.get(name), form(study, "analysis", case), moves=moves, close=CLOSE),
        )


def test_every_case_is_recorded_and_every_recording_made_again() -> None:
    stored = {folder: {path.name.removesuffix(".json.xz") for path in folder.iterdir()} for folder in (FOLDER, PINS)}
    assert stored[FOLDER] | stored[PINS] == {*CASES}
