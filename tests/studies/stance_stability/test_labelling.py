"""Transcripts labelled in a run."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import overton
from overton.errors import InputError
from overton.runs.items import read_items
from overton.studies.stance_stability.transcripts import JUDGING

ANSWERS = ("My stance: supportive, clearly.", "My stance: critical, likely.", "I do not say.")


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """Two conversations of three turns each."""
    file = tmp_path / "turns.csv"
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["conversation", "turn", "question", "answer", "model", "cited"])
        for name in ("a", "b"):
            for turn, answer in enumerate(ANSWERS, 1):
                writer.writerow([name, turn, f"Why {turn}?", answer, "some/model", "https://a.example/"])
    return file


def test_every_turn_of_every_conversation_is_labelled_in_a_table_that_can_be_analysed(
    turns: Path, tmp_path: Path
) -> None:
    run = overton.judge.stance_stability(items=turns, judge="simulated/stance-judge", out=tmp_path / "judged")
    assert run.finished
    records = run.records()
    assert records["conversation"].to_list() == ["a"] * 3 + ["b"] * 3
    assert records["stance"].to_list() == ["supportive", "critical", "unclear"] * 2
    assert records["confidence"].to_list() == [1.0, 0.67, 0.33] * 2
    assert set(records["model"]) == {"some/model"}  # of the conversation, not the judge's
    assert records["cited"].to_list()[0] == ["https://a.example/"]
    assert [entry.spec for entry in run.manifest.models["judge"]] == ["simulated/stance-judge"]


def test_a_run_can_be_judged_again_by_another_judge(turns: Path, tmp_path: Path) -> None:
    run = overton.judge.stance_stability(items=turns, judge="simulated/stance-judge", out=tmp_path / "judged")
    again = overton.judge.stance_stability(
        items=run.path, judge="simulated/stance-judge", out=tmp_path / "again", judge_prompts="both"
    )
    assert again.records()["premise_stance"].to_list() == run.records()["stance"].to_list()


def test_wrong_options_are_refused_before_anything_is_made(turns: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="option judge_prompts: none: must be one of topic, published, both"):
        overton.judge.stance_stability(
            items=turns, judge="simulated/stance-judge", out=tmp_path / "judged", judge_prompts="none"
        )
    assert not (tmp_path / "judged").exists()


def test_transcripts_of_a_table_are_as_they_are(turns: Path) -> None:
    assert [one.id for one in read_items(JUDGING, turns)] == ["a", "b"]
