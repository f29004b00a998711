"""Reports on a judge: its temperature, and how far it agrees with itself, given known mistakes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server, said

import overton
from overton.analysis.analyze import measure_run
from overton.studies.self_agreement import of_questions
from overton.studies.stance_stability.questions import QUESTIONS

LABELS = {
    "rationale": "So.",
    "stance": "supportive",
    "key_claims": [],
    "contradictions_acknowledged": True,
    "certainty": "likely",
}
JUDGE = "simulated/stance-judge"


def turns(folder: Path, conversations: int = 90, each: int = 2) -> Path:
    path = folder / "turns.csv"
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["conversation", "turn", "question", "answer"])
        for number in range(conversations):
            stance = ("supportive", "critical", "balanced")[number % 3]
            writer.writerows([number, turn, "Why?", f"My stance: {stance}, clearly."] for turn in range(1, each + 1))
    return path


@pytest.mark.parametrize("wrong", [0.0, 0.3])
def test_agreement_with_itself_follows_from_a_judges_known_mistakes(wrong: float, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = {JUDGE: {"wrong": str(wrong)}}
    overton.judge.stance_stability(items=turns(tmp_path), models=[JUDGE], model_args=arguments, retest=1, out=out)
    records = overton.open_run(out).records()
    stance = of_questions(QUESTIONS, records, "conversation", 0.95)["stance"]
    assert (stance.repeated, stance.unread) == (180, 0)
    same = (1 - wrong) ** 2 + wrong**2 / 3  # right twice, or wrong in the same of three ways
    assert stance.same.low <= same <= stance.same.high
    assert stance.same.value == pytest.approx(same, abs=0.1)


def test_a_greater_retest_share_makes_only_the_new_calls(tmp_path: Path) -> None:
    out = tmp_path / "run"
    overton.judge.stance_stability(items=turns(tmp_path), models=[JUDGE], retest=0.05, out=out)
    before = overton.open_run(out)
    first = before.records().filter("judged_again")
    assert before.manifest.spent.requests == 180 + first.height
    after = overton.extend(out, retest=0.2)
    more = after.records().filter("judged_again")
    assert after.manifest.spent.requests == 180 + more.height
    assert 0 < first.height < more.height
    key = ["conversation", "turn"]
    assert first.join(more, on=key, how="anti").is_empty()


def labelled(asked: dict[str, Any]) -> tuple[int, object]:
    """A judge that takes no temperature."""
    if "temperature" in asked:
        complaint = "Unsupported parameter: 'temperature' is not supported with this model."
        return 400, {"error": {"message": complaint, "param": "temperature"}}
    return said(json.dumps(LABELS))


@pytest.fixture
def address() -> Iterator[str]:
    with chat_server(labelled) as url:
        yield url


def test_a_report_says_that_a_judge_takes_no_temperature_and_how_it_agrees_with_itself(
    address: str, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    run = overton.judge.stance_stability(items=turns(tmp_path, 4), models=[f"strict={address}#o"], retest=1, out=out)
    assert run.manifest.models["judge"][0].not_sent == ("temperature",)
    told = measure_run("stance-stability", out).document()
    (counts,) = told["tables"]["self_agreement"]
    assert (counts["label"], counts["repeated"]) == ("stance", 8)
    (same,) = [row for row in told["rows"] if row["measure"] == "self_agreement_same"]
    assert same["estimate"] == 1.0
    text = overton.report([out]).read_text("utf-8")
    assert "strict as judge refuses a temperature" in text
    assert "Judge: strict (no temperature sent, since the model does not accept one)." in text
    assert "Second labels of 8 units, with label options or materials in another order: the same stance in 100%" in text
