"""The command that compares: what it prints, its exit codes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

COUNTS = Path(__file__).parents[1] / "data" / "millstone" / "gpt-4o-counts.csv"


def test_verdicts_stand_before_tables_and_what_is_not_known_before_both(tmp_path: Path, command_line: Any) -> None:
    done = command_line("compare", str(COUNTS), str(COUNTS), "--margin", "open_mindedness=30", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())  # a long path wraps lines elsewhere
    order = [said.index(text) for text in ("came about is not known", "are the same to within 30.0", "Candidate minus")]
    assert order == sorted(order)


def test_json_is_the_comparison(tmp_path: Path, command_line: Any) -> None:
    done = command_line("compare", str(COUNTS), str(COUNTS), "--json", folder=tmp_path)
    made = json.loads(done.stdout)
    assert [pair["study"] for pair in made["pairs"]] == ["open-mindedness"]
    difference = made["pairs"][0]["measures"]["open_mindedness"]["difference"]
    assert difference["estimate"] == 0
    assert difference["level"] == 0.95


def test_the_page_says_what_it_is(tmp_path: Path, command_line: Any) -> None:
    done = command_line("compare", str(COUNTS), str(COUNTS), "--out", "page.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Overton comparison" in page
    assert "Overton report" not in page


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "nowhere: does not exist"),
        ([str(COUNTS)], "has one model only: name another run, or RUN#MODEL"),
        ([f"{COUNTS}#nobody", str(COUNTS)], "has no such model; its models are gpt-4o"),
        ([str(COUNTS), str(COUNTS), "--measure", "nothing"], "--measure: nothing: no such measure; known are"),
        ([str(COUNTS), str(COUNTS), "--margin", "open_mindedness=x"], "must be NAME=X, X a number above 0"),
        ([str(COUNTS), str(COUNTS), "--study", "deliberation"], "deliberation"),
    ],
)
def test_bad_input_ends_with_two_and_says_what_is_wrong(
    words: list[str], said: str, tmp_path: Path, command_line: Any
) -> None:
    done = command_line("compare", *words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
