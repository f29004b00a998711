"""The command that compares: what it prints, its exit codes, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.comparison.test_tables import MILLSTONE, scored

import overton

MOVED = {"a": "0.5", "b": "3"}
"""How strongly arguments move two simulated models."""
COUNTS = Path(__file__).parents[1] / "data" / "millstone" / "gpt-4o-counts.csv"


def test_unknowns_come_before_verdicts_and_verdicts_before_tables(tmp_path: Path, command_line: Any) -> None:
    done = command_line("compare", str(COUNTS), str(COUNTS), "--margin", "open_mindedness=30", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())  # a long path wraps lines elsewhere
    order = [said.index(text) for text in ("it is not known how", "are the same to within 30.0", "Candidate minus")]
    assert order == sorted(order)


def test_json_is_the_comparison(tmp_path: Path, command_line: Any) -> None:
    done = command_line("compare", str(COUNTS), str(COUNTS), "--json", folder=tmp_path)
    made = json.loads(done.stdout)
    assert (made["study"], made["schema"], made["level"]) == ("open-mindedness", 2, 0.95)
    assert [row["estimate"] for row in made["rows"] if row["measure"] == "open_mindedness"] == [0]


def test_one_outlying_issue_does_not_throw_a_limit_far_away(tmp_path: Path, command_line: Any) -> None:
    """Ten published differences, whose Student's interval is [-11.9, 5.5]; it was printed as [-11.9, 32.7]."""
    names = []
    for model, scores in (("base", [70.0] * 10), ("candidate", [70 + one for one in MILLSTONE])):
        scored(model, scores).write_csv(tmp_path / f"{model}.csv")
        names.append(f"{model}.csv")
    done = command_line("compare", *names, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\u22123.2 [\u221211.9, 5.5]" in " ".join(done.stdout.split())


def of_score(text: str) -> dict[str, Any]:
    """The score's row in each table of a comparison that has one."""
    made = json.loads(text)
    tables = {"rows": made["rows"], "needed": made["tables"]["needed"]}
    return {name: row for name, rows in tables.items() for row in rows if row["measure"] == "open_mindedness"}


@pytest.mark.long
def test_an_undecided_comparison_names_the_trials_with_which_a_run_decides(tmp_path: Path, command_line: Any) -> None:
    arguments = {name: {f"susceptibility_{side}": value for side in ("pro", "con")} for name, value in MOVED.items()}
    models = [f"{name}=simulated/open-minded" for name in MOVED]
    run = overton.run(
        "open-mindedness", models=models, model_args=arguments, trials=2, templates=(2,), out=tmp_path / "run"
    ).path
    said = command_line("compare", str(run), folder=tmp_path).stdout
    found = of_score(command_line("compare", str(run), "--json", folder=tmp_path).stdout)
    assert found["rows"]["verdict"] == "undecided"
    assert found["needed"]["verdict"] == "higher"
    trials = found["needed"]["trials"]
    assert trials > 2
    assert f"{trials} trials of each instead of 2 would also be enough." in " ".join(said.split())
    done = command_line("extend", str(run), "--trials", str(trials), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    again = of_score(command_line("compare", str(run), "--json", folder=tmp_path).stdout)
    assert again["rows"]["verdict"] == "higher"
    assert "needed" not in again


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
        ([str(COUNTS)], "has only one model: name another run, or RUN#MODEL"),
        ([f"{COUNTS}#nobody", str(COUNTS)], "has no such model; its models are gpt-4o"),
        ([str(COUNTS), str(COUNTS), "--measure", "nothing"], "--measure: nothing: no such measure; known are"),
        ([str(COUNTS), str(COUNTS), "--margin", "open_mindedness=x"], "must be NAME=X, where X is a number above 0"),
        ([str(COUNTS), str(COUNTS), "--study", "deliberation"], "deliberation"),
    ],
)
def test_bad_input_ends_with_two_and_says_what_is_wrong(
    words: list[str], said: str, tmp_path: Path, command_line: Any
) -> None:
    done = command_line("compare", *words, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_one_model_behind_system_prompts_is_compared_by_the_command_that_the_error_names(
    tmp_path: Path, command_line: Any
) -> None:
    asked: dict[str, Any] = {"others": {"judge": "simulated/even-judge"}, "systems": ["Be brief."]}
    overton.run("even-handedness", models="m=simulated/advocate", **asked, out=tmp_path / "run")
    refused = command_line("compare", "run", folder=tmp_path)
    assert refused.returncode == 2
    assert "conditions of that model, which 'overton analyze run' compares" in refused.stderr
    said = " ".join(command_line("analyze", "run", folder=tmp_path).stdout.split())
    assert "no system prompt or with system-1" in said


def test_choices_of_computing_are_those_of_analyze_and_others_are_named(tmp_path: Path, command_line: Any) -> None:
    for word, said in (
        ("sides=left.csv", "no such option"),
        ("level=0.9", "use --level instead"),
        ("seed", "NAME=VALUE"),
    ):
        refused = command_line("compare", str(COUNTS), str(COUNTS), "--with", word, folder=tmp_path)
        assert refused.returncode == 2
        assert said in refused.stderr
    taken = command_line("compare", str(COUNTS), str(COUNTS), "--with", "resamples=500", folder=tmp_path)
    assert taken.returncode == 0, taken.stderr
