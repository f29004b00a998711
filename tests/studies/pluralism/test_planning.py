"""Replies for planning lead through every trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.studies.pluralism import Options, ReferenceThread
from overton.studies.pluralism.planning import CANNED
from overton.studies.pluralism.protocol import trials


@pytest.mark.parametrize("matching", ["together", "pairs"])
async def test_both_cases_ask_everything_and_the_second_asks_the_judge_three_times(
    kit: Any, thread: Callable[..., ReferenceThread], matching: Any
) -> None:
    counts = []
    for canned in CANNED:
        stage = kit.stage(
            {role: lambda one, say=canned: say(one.role, one.role, one.form) for role in ("subject", "judge")}
        )
        records = [await kit.conduct(one, stage) for one in trials([thread()], Options(matching=matching, retest=0), 1)]
        assert {record.status for record in records} == {"done"}
        counts.append(
            [len(stage.by(what)) for what in ("subject", "summaries", "belief", "stance", "entailed", "pair")]
        )
    entailed, pair = (40, 0) if matching == "together" else (0, 240)
    beliefs = counts[0][2]  # of the reference, its negation, the least popular, and perhaps two of the pairs
    assert 3 <= beliefs <= 5
    assert counts[0] == [4 + 3 + 12, 1, beliefs, 40, entailed, pair]
    assert counts[1] == [4 + 3 + 12, 1, beliefs, 120, 3 * entailed, 3 * pair]
