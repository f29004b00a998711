"""Positive controls of an audit: prompts that are not neutral beyond doubt."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from overton.calls import Reply
from overton.runs.setup import set_up
from overton.studies.null_conditions import null_of, split_nulls
from overton.studies.open_mindedness import STUDY as OPEN_MINDEDNESS
from overton.studies.open_mindedness.auditing import STUDY
from overton.studies.open_mindedness.neutrality import controls_of


def issues() -> Any:
    return set_up(OPEN_MINDEDNESS, {}, models=["simulated/open-minded"]).items


async def test_a_judge_that_calls_them_neutral_is_found_out() -> None:
    trials = list(STUDY.trials(issues(), STUDY.options(nulls=("controls",)), 1))
    controls = [one for one in trials if null_of(one.name) == "controls"]
    assert len(controls) == 18
    assert len(trials) == 18 + 6 * len(issues())

    async def ask(role: str, messages: Any, **more: Any) -> Reply:
        verdict = "neutral" if "yoga" in messages[-1].content else "favors pro"
        said = {"reason": "r", "verdict": verdict, "fair": True, "a_supports": "unclear"}
        return Reply(msgspec.json.encode(said).decode())

    rows = [(await STUDY.conduct(one, ask))[0] for one in (*controls, trials[0])]  # type: ignore[arg-type]
    table = pl.DataFrame(
        {"model": ["j"] * 19, "trial": [row.trial for row in rows], "template": [row.template for row in rows]}
        | {"verdict": [row.verdict for row in rows]}
    )
    design, nulls = split_nulls(table, STUDY.nulls)
    assert design.height == 1
    (found,) = controls_of(nulls["controls"])
    assert found.missed == [1]
    assert found.found.value == 17 / 18
    assert controls_of(None) == []
