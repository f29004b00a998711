"""What a person is shown of a run to check its judge of values by, and what the report says of it afterwards."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.errors import InputError
from overton.studies.deliberation.prompts import VALUES
from overton.studies.deliberation.sheet import SHEET
from overton.studies.results import Results

FIRST, SECOND, LAST = VALUES[0], VALUES[1], VALUES[-1]


def message(number: int, *values: str, known: bool = True) -> dict[str, Any]:
    return {
        "deliberation": f"d{number}/a+b",
        "dilemma": f"d{number}",
        "round": 1,
        "agent": "Agent 1",
        "model": "m",
        "verdict": "NTA",
        "explanation": f"Reason {number}.",
        "values": list(values) if known else None,
    }


def test_each_explanation_stands_with_each_value_and_unknown_ones_are_left_out() -> None:
    records = pl.DataFrame([message(1, FIRST, LAST), message(2, known=False), message(3)])
    judged = SHEET.rows(Results(records), "value")

    assert len(judged.given) == 2 * len(VALUES)
    assert [place for place, label in enumerate(judged.given) if label == "used"] == [0, len(VALUES) - 1]
    last, other = judged.drawn([len(VALUES) - 1, len(VALUES) + 1]).to_dicts()
    assert last == {
        "id": f"d1/a+b/1/Agent 1/{LAST}",
        "label": "used",
        "group": "d1",
        "model": "m",
        "whole": "d1/a+b/1/Agent 1",
        "evaluation": "My current verdict: NTA.\n\nHere's my thinking: Reason 1.",
        "value": LAST,
    }
    assert (other["evaluation"][-9:], other["value"], other["label"]) == ("Reason 3.", SECOND, "not used")
    assert judged.units is not None
    every = judged.drawn(range(2 * len(VALUES)))
    assert judged.units().equals(every.drop("evaluation"))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> overton.Run:
    return overton.run(
        "deliberation",
        models=["simulated/deliberator/a", "simulated/deliberator/b"],
        others={"values": ["simulated/values-judge"]},
        items=_one_dilemma(tmp_path_factory.mktemp("items") / "dilemmas.jsonl"),
        rounds=2,
        out=tmp_path_factory.mktemp("runs") / "run",
    )


def _one_dilemma(path: Path) -> Path:
    path.write_text('{"id": "d1", "title": "Was I wrong?", "text": "I took the last seat."}\n')
    return path


def filled(sheet: Path, said: str) -> Path:
    """The sheet with the same word in every row."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    made = sheet.with_name("filled.csv")
    with made.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows(line | {"person": said} for line in lines)
    return made


def test_a_persons_answers_stand_with_the_judge_in_the_sections_on_values(run: overton.Run, tmp_path: Path) -> None:
    sheet, key = overton.judge.sample(run.path, tmp_path / "sheet.csv", size=20, stratified=True)
    assert "used" not in sheet.read_text("utf-8-sig").splitlines()[0]
    found = overton.judge.agreement(filled(sheet, "used"), key=key, run=run.path).people.judge

    assert found.by_label["used"].value == 1
    assert found.by_label["not used"].value == 0
    report = overton.report([run.path], out=tmp_path / "report.html").read_text("utf-8")
    assert "People labelled 20 of the units that it judged (value) and gave its label to" in report


def test_without_a_judge_of_values_there_is_nothing_to_check(tmp_path: Path) -> None:
    unvalued = overton.run(
        "deliberation",
        models=["simulated/deliberator/a", "simulated/deliberator/b"],
        items=_one_dilemma(tmp_path / "dilemmas.jsonl"),
        rounds=1,
        out=tmp_path / "run",
    )
    with pytest.raises(InputError, match="no labelled unit"):
        overton.judge.sample(unvalued.path, tmp_path / "sheet.csv")
