"""What studies and makers of items gave on fixed inputs before everything was moved, they give today.

What may differ on purpose is told in `mapping`; calls into Overton stand in `calls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from .comparing import differences, told
from .endpoint import serving
from .mapping import CLOSE, bounds_may_move, form
from .record import recorded
from .redoing import CASES, analysed, redo, study_of

KINDS = ("plan", "records", "calls", "dataset", "summary")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving() as served:
        yield served


@pytest.fixture(scope="module", params=CASES)
def case(request: Any, address: str, tmp_path_factory: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """A case's name, what was recorded, and what it gives today."""
    name = request.param
    return name, recorded(name), redo(name, tmp_path_factory.mktemp("unchanged"), address)


@pytest.mark.parametrize("kind", KINDS)
def test_plans_records_calls_and_datasets_are_as_they_were(case: Any, kind: str) -> None:
    name, old, new = case
    found = differences(old.get(kind), new.get(kind), form(study_of(name), kind))
    assert not found, told(f"{name}, {kind}", found)


def test_analyses_are_as_they_were(case: Any) -> None:
    name, old, new = case
    assert set(old.get("analyses", {})) == set(new.get("analyses", {}))
    for analysis, value in old.get("analyses", {}).items():
        study, resamples = analysed(name)[analysis]
        found = differences(
            value,
            new["analyses"][analysis],
            form(study, "analysis"),
            moves=bounds_may_move(resamples),
            close=CLOSE,
        )
        assert not found, told(f"{name}, analysis '{analysis}' of {study}", found)
