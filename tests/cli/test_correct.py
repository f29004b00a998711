"""`overton judge correct` and its Python twin: a table of any origin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.errors import InputError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = 200
    people = ["1", "2", "5", "5", "refusal"]
    judged = ["1", "1", "5", "", "5"]
    frame = pl.DataFrame(
        {
            "people": [people[row % 5] if row % 4 == 0 else None for row in range(rows)],
            "judge": [judged[row % 5] for row in range(rows)],
            "writer": ["x" if row < 100 else "y" for row in range(rows)],
            "chance": [0.25] * rows,
        }
    )
    path = tmp_path / "judged.csv"
    frame.write_csv(path)
    return path


WORDS = ["--label", "people", "--judge", "judge"]


def test_shares_means_groups_and_differences_come_as_json(table: Path, command_line: Any) -> None:
    more = ["--by", "writer", "--group", "pro=1,2", "--value", "1=1", "--value", "2=2", "--value", "5=5", "--json"]
    done = command_line("judge", "correct", str(table), *WORDS, *more, "--population", "these", folder=table.parent)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["schema"], found["level"], found["population"]) == (2, 0.95, "these rows")
    assert (found["units"], found["labelled"], found["warnings"]) == (200, 50, [])
    rows = {
        tuple(row[name] for name in ("measure", "label", "group", "against", "variant")): row for row in found["rows"]
    }
    assert len(rows) == len(found["rows"])
    shares = [
        label for measure, label, group, _, variant in rows if (measure, group, variant) == ("share", None, "plain")
    ]
    assert shares == ["1", "2", "5", "refusal", "unread", "pro"]
    assert rows["share", "pro", None, None, "plain"]["estimate"] == pytest.approx(0.4)
    share = rows["share", "pro", None, None, "corrected"]
    assert share["low"] < 0.4 < share["high"]
    assert rows["mean", None, None, None, "labelled"]["estimate"] == pytest.approx((1 + 2 + 5 + 5) / 4)
    assert {(group, against) for _, _, group, against, _ in rows} == {
        (None, None),
        ("x", None),
        ("y", None),
        ("x", "y"),
    }
    assert [measure for measure, *_ in rows if measure not in {"share", "mean"}] == ["alpha", "kappa", "same"]
    python = overton.judge.correct(table, label="people", judge="judge", group={"pro": ["1", "2"]}, population="these")
    assert python.number("pro").corrected.value == pytest.approx(share["estimate"])


def test_the_terminal_shows_the_three_numbers_side_by_side(table: Path, command_line: Any) -> None:
    done = command_line("judge", "correct", str(table), *WORDS, folder=table.parent)
    assert done.returncode == 0, done.stderr
    for word in (
        "Judge alone",
        "Corrected",
        "Labelled alone",
        "50 of 200 rows have human labels",
        "Krippendorff's alpha",
    ):
        assert word in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--label", "person", "--judge", "judge"], "person: is not a column; there are people, judge, writer, chance"),
        ([*WORDS, "--value", "1=one"], "--value: 1: is 'one'; must be a number"),
        ([*WORDS, "--group", "pro"], "--group: pro: must be NAME=LABEL,LABEL"),
        ([*WORDS, "--group", "pro=9"], "--group: pro: '9' is not a label of this table"),
        ([*WORDS, "--population", "all"], "--population: all: must be like-these or these"),
        ([*WORDS, "--chance", "writer"], "row 1, writer: is 'x'; must be at least 1e-12 and at most 1"),
    ],
)
def test_errors_name_the_problem_and_its_place(table: Path, command_line: Any, words: list[str], said: str) -> None:
    done = command_line("judge", "correct", str(table), *words, folder=table.parent)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_a_frame_is_taken_as_it_is(table: Path) -> None:
    frame = pl.read_csv(table)
    assert overton.judge.correct(frame, label="people", judge="judge").labelled == 50
    with pytest.raises(InputError, match="table: people: is not a column"):
        overton.judge.correct(frame.drop("people"), label="people", judge="judge")


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([f"l{number}" for number in range(501)], "there are 501 different labels"),
        (["x" * 1_001, "y"], "the longest of 1,001 characters"),
    ],
)
def test_a_column_of_texts_instead_of_labels_is_refused(labels: list[str], said: str) -> None:
    frame = pl.DataFrame({"people": labels, "judge": labels})
    with pytest.raises(InputError, match=said):
        overton.judge.correct(frame, label="people", judge="judge")


@pytest.mark.parametrize("chance", ["5e-324", "1e-308", "0", "-1", "nan", "inf", "1e308", "=1"])
def test_a_chance_that_no_draw_has_is_refused(chance: str) -> None:
    frame = pl.DataFrame({"people": ["a", "b"], "judge": ["a", "b"], "chance": [chance, "0.5"]})
    with pytest.raises(InputError, match=r"row 1, chance: is .*; must be at least 1e-12 and at most 1"):
        overton.judge.correct(frame, label="people", judge="judge", chance="chance")
