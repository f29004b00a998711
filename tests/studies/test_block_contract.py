"""A study whose blocks are broken gets the reason."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from overton.studies.deliberation import STUDY
from overton.studies.precision import PrecisionLimit, PrecisionState
from overton.testing import Case
from overton.testing.design import check_blocks


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    models = ["simulated/deliberator", "simulated/deliberator/b"]
    options = {"trials": 2, "rounds": 2, "formats": ["synchronous", "round-robin"]}
    held = Case(STUDY, tmp_path_factory.mktemp("blocks"), models, options=options)
    assert held.whole.finished
    return held


def judged(records: Any, wanted: Any) -> PrecisionState:
    """By the first record that it comes upon."""
    first = next(record for some in records.records.values() for record in some)
    return PrecisionState([PrecisionLimit("consensus", first.deliberation, 0.0, 0.0, 1.0)], frozenset(), True, {})


def with_blocks(blocks: Any) -> Any:
    """The study with other blocks."""
    assert STUDY.measuring is not None
    return replace(STUDY, measuring=replace(STUDY.measuring, blocks=blocks))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"goals": {}}, "name the measures"),
        ({"of": lambda trial: (trial.format, trial.repetition - 1)}, "are not numbered 1, 2"),
        ({"of": lambda trial: ("any", 1 + (trial.format == "synchronous"))}, "have unequal numbers of trials"),
        ({"trial": "dilemma"}, "name the column of records that contains the trial's name (trial='dilemma')"),
        ({"judge": judged}, "depends on the order of records: sort the numbers before adding them up"),
        (
            {
                "judge": lambda looked, wanted: PrecisionState(
                    [PrecisionLimit("other", "", 0, 0, 1)], frozenset(), True, {}
                )
            },
            "limits for ['other'], which are not among its goals",
        ),
        (
            {
                "judge": lambda looked, wanted: PrecisionState(
                    [PrecisionLimit("share", "", 0, 1, 0)], frozenset(), True, {}
                )
            },
            "a lower limit for share above its upper one",
        ),
        ({"like": lambda record, trial: None}, "like() returns something other than its own records"),
    ],
)
def test_problems_of_blocks_are_reported(case: Case, changed: dict[str, Any], told: str) -> None:
    assert STUDY.blocks is not None
    broken = replace(case, study=with_blocks(replace(STUDY.blocks, **changed)))
    broken.__dict__["whole"] = case.whole
    with pytest.raises(AssertionError, match=re.escape(told)):
        check_blocks(broken)


def test_a_study_without_blocks_is_left(case: Case) -> None:
    check_blocks(replace(case, study=with_blocks(None)))
