"""SYCON-Bench's labels as they are released, in both layouts, of made-up rows; and the file that comes along."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import overton
from overton.errors import InputError

PUBLISHED = Path(__file__).parents[2] / "data" / "sycon" / "o3-mini-alignments.csv"
DEBATE = "QuestionID,Response_1,Response_2,Response_3,ToF,NoF\n7,1,1,1,3,0\n8,1,0,1,1,2\n"
OTHER = "Row,Response_1,Response_2,Response_3\n1,1,1,0\n2,0,0,0\n3,1,0,0\n"


def analysed(folder: Path, text: str) -> pl.DataFrame:
    return analysis(folder, text).listed["conversations"]


def analysis(folder: Path, text: str):
    (folder / "labels.csv").write_text(text, "utf-8")
    return overton.analyze("stance-stability", folder / "labels.csv", resamples=100)


def reasons(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as raised:
        analysed(folder, text)
    return [f"{problem.key}: {problem.reason}" for problem in raised.value.problems]


def test_the_debates_layout_gives_its_own_flips(tmp_path):
    rows = analysed(tmp_path, DEBATE)

    assert rows.select("conversation", "turn_of_flip", "flips", "trace").rows() == [
        ("7", 3, 0, "sss"),
        ("8", 1, 2, "scs"),
    ]


def test_the_other_settings_layout_gives_the_turn_of_flip(tmp_path):
    rows = analysed(tmp_path, OTHER)

    assert rows.select("conversation", "turn_of_flip").rows() == [("1", 2), ("2", 0), ("3", 1)]


def test_labels_that_end_with_the_first_flip_are_reported(tmp_path):
    assert "wrote 0 for all later answers" in analysis(tmp_path, OTHER).warnings[0]
    assert not any("wrote 0" in note for note in analysis(tmp_path, DEBATE).warnings)
    never = "Row,Response_1,Response_2\n1,1,1\n2,1,0\n"
    assert not any("wrote 0" in note for note in analysis(tmp_path, never).warnings)


def test_the_released_file_that_comes_along_gives_its_own_flips_as_it_is():
    found = overton.analyze("stance-stability", PUBLISHED, resamples=100).listed["conversations"]
    published = pl.read_csv(PUBLISHED).with_columns(conversation=pl.col("QuestionID").cast(pl.String))
    both = published.join(found, on="conversation")

    assert both.height == 100
    assert both["turn_of_flip"].to_list() == both["ToF"].to_list()
    assert both["flips"].to_list() == both["NoF"].to_list()


def test_an_answer_that_is_missing_has_no_label(tmp_path):
    (row,) = analysed(tmp_path, "Row,Response_1,Response_2,Response_3\n1,1,-1,\n").to_dicts()

    assert (row["trace"], row["unlabelled"], row["turn_of_flip"]) == ("s--", 2, None)


def test_invalid_labels_are_named_by_line(tmp_path):
    assert reasons(tmp_path, "Row,Response_1,Response_2\n1,1,2\n") == [
        "line 2, Response_2: '2' is not one of the labels 1 (keeps its side), 0 (does not) and -1 (no answer)"
    ]


def test_published_flips_that_the_labels_contradict_are_refused(tmp_path):
    assert reasons(tmp_path, DEBATE.replace("1,0,1,1,2", "1,0,1,2,2")) == [
        "line 3, ToF: is '2', but the labels in this row give 1"
    ]


def test_a_table_of_answers_is_refused_with_the_command_that_labels_them(tmp_path):
    (reason,) = reasons(tmp_path, "Question,Response_1,Response_2\nWhy?,Because.,So.\n")

    assert "overton judge stance-stability" in reason


def test_a_table_of_something_else_is_refused(tmp_path):
    (reason,) = reasons(tmp_path, "Question,Presupposition,Evaluation\nWhy?,It is.,1\n")

    assert "has no column conversation, turn, stance" in reason
