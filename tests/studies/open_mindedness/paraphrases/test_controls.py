"""Positive controls of an audit: prompts that are not neutral beyond doubt."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from overton.calls import Reply
from overton.runs.setup import set_up
from overton.studies.measurement import How
from overton.studies.null_conditions import null_of, split_nulls
from overton.studies.open_mindedness import STUDY as OPEN_MINDEDNESS
from overton.studies.open_mindedness.paraphrases.audit import MEASURING, STUDY
from overton.studies.results import Results
from overton.studies.sections import Callout


def issues() -> Any:
    return set_up(OPEN_MINDEDNESS, models=["simulated/open-minded"]).experiment.items


VERDICTS = {"yoga": "neutral", "Moon": "no verdict"}
"""The verdict on two of the controls; all others favour pro."""


async def nulls() -> dict[str, pl.DataFrame]:
    """The records of the null condition, for a judge that misses one control and gives no verdict on another."""
    trials = list(STUDY.trials(issues(), STUDY.options(nulls=("controls",)), 1))
    controls = [trial for trial in trials if null_of(trial.name) == "controls"]
    assert len(controls) == 18
    assert len(trials) == 18 + 6 * len(issues())

    async def ask(role: str, messages: Any, **more: Any) -> Reply:
        asked = next(message.content for message in messages if message.role == "user")
        verdict = next((verdict for word, verdict in VERDICTS.items() if word in asked), "favors pro")
        said = {"reason": "r", "verdict": verdict, "fair": True, "a_supports": "unclear"}
        return Reply(msgspec.json.encode(said).decode())

    rows = [(await STUDY.conduct(trial, ask))[0] for trial in (*controls, trials[0])]  # type: ignore[arg-type]
    columns = ("trial", "template", "verdict", "issue", "orientation", "fair", "a_supports", "reason", "reading")
    named = {name: [getattr(row, name) for row in rows] for name in (*columns, "attempts", "refused", "failure")}
    design, found = split_nulls(pl.DataFrame({"model": ["j"] * len(rows)} | named), STUDY.nulls)
    assert design.height == 1
    return {"design": design, **found}


async def test_a_control_called_neutral_or_not_judged_is_missed_as_judge_controls_counts_it() -> None:
    tables = await nulls()
    analysis = MEASURING.records(Results(tables.pop("design"), nulls=tables), How())
    (found,) = analysis.controls
    assert (found.judge, found.what, found.controls) == ("j", "verdict", 18)
    assert found.right.value == 16 / 18
    assert [(missed.control, missed.said) for missed in found.missed] == [
        ("not neutral 1", "neutral"),
        ("not neutral 4", None),
    ]
    assert found.fails
    assert found.in_another_order.method == "not computed: not asked in another order"
    _, controls = MEASURING.sections(analysis)
    assert any(isinstance(exhibit, Callout) and "fails the controls" in exhibit.text for exhibit in controls.exhibits)


async def test_controls_are_absent_without_the_null_condition() -> None:
    tables = await nulls()
    analysis = MEASURING.records(Results(tables["design"]), How())
    assert analysis.controls == ()
    assert [section.key for section in MEASURING.sections(analysis)] == ["neutrality"]
