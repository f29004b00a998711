"""`--precision` and `--at-most-calls` as users meet them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from overton.runs.items import read_items, write_items
from overton.studies.open_mindedness import STUDY

SIMULATED = ("open-mindedness", "--model", "simulated/open-minded", "--issues", "two.jsonl")


@pytest.fixture
def overton(command_line: Any, tmp_path: Path) -> Any:
    write_items(STUDY, read_items(STUDY)[:2], tmp_path / "two.jsonl")
    return lambda *words: command_line(*words, folder=tmp_path)


def test_a_run_says_what_it_reached_and_why_it_stopped(overton: Any, tmp_path: Path) -> None:
    done = overton("run", *SIMULATED, "--trials", "4", "--precision", "share=0.35", "--out", "run")
    assert done.returncode == 0
    assert "stopped once precise" in " ".join(done.stdout.split())
    analyzed = overton("analyze", "run").stdout
    assert "share, the widest" in analyzed
    assert "enough for the target precision" in analyzed
    report = (tmp_path / "run" / "report.html").read_text()
    for said in (
        "Trials of each, and why it stopped",
        "precise enough",
        "Shares, with limits that are valid",
        "target half-widths: share 0.35",
    ):
        assert said in report
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["precision"] == {"measures": {"share": 0.35}, "rule": "repeated"}
    assert manifest["trials"] < 2 * 66 * 4
    assert overton("resume", "run").returncode == 0


def test_precision_runs_stay_within_at_most_calls(overton: Any, tmp_path: Path) -> None:
    assert overton("run", *SIMULATED, "--trials", "3", "--at-most-calls", "180", "--out", "run").returncode == 0
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert 160 < manifest["trials"] == manifest["spent"]["requests"] <= 180


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--precision", "share"), "NAME=X"),
        (("--precision", "openness=3"), "no such measure; known are open_mindedness, share"),
        (("--precision", "share=0.1", "--null", "all"), "null conditions cannot stop early"),
        (("--at-most-calls", "20"), "the first round alone takes 144"),
    ],
)
def test_invalid_values_are_refused_in_the_words_of_the_command(
    overton: Any, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    done = overton("run", *SIMULATED, "--out", "run", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "run").exists()


CONVERSATIONS = {
    "deliberation": (
        *("--agent", "simulated/deliberator/a", "--agent", "simulated/deliberator/b", "--dilemmas", "dilemmas.jsonl"),
        *("--trials", "6", "--precision", "consensus=0.3"),
    ),
    "stance-stability": (
        *("--model", "simulated/chameleon", "--judge", "simulated/stance-judge", "--topics", "topics.jsonl"),
        *("--trials", "6", "--turns", "3", "--precision", "change_rate=0.25"),
    ),
}


@pytest.fixture
def of_items(overton: Any, tmp_path: Path) -> Any:
    """The command-line words for a study about three of its items."""
    from overton.studies.registry import study_named

    def made(name: str) -> tuple[str, ...]:
        study = study_named(name)
        write_items(study, read_items(study)[:3], tmp_path / f"{study.items.plural}.jsonl", replace=True)
        return name, *CONVERSATIONS[name]

    return made


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deliberation", "share of deliberations on these dilemmas that end in"),
        ("stance-stability", "change rate of conversations on these topics"),
    ],
)
def test_conversations_stop_by_item_and_say_so(
    overton: Any, of_items: Any, tmp_path: Path, name: str, said: str
) -> None:
    done = overton("run", *of_items(name), "--out", "run")
    assert done.returncode == 0
    assert "stopped once precise" in " ".join(done.stdout.split())
    assert "enough for the target precision" in overton("analyze", "run").stdout
    report = (tmp_path / "run" / "report.html").read_text()
    for words in ("Trials of each, and why it stopped", "precise enough", said):
        assert words in report
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    (reached,) = manifest["precise"].values()
    assert len({stop["item"] for stop in reached["last"]["stops"]}) == 3
    planned = overton("plan", *of_items(name), "--pilot", "run", "--json")
    expected = _find(json.loads(planned.stdout), "precision")
    assert 0 < expected["calls_least"] <= expected["calls"] <= expected["calls_most"]
    shown = overton("plan", *of_items(name), "--pilot", "run")
    assert "or more, " in (shown.stdout + shown.stderr).replace("\n", " ")


@pytest.mark.parametrize("name", [*CONVERSATIONS])
def test_conversations_that_share_their_decision_are_refused(overton: Any, of_items: Any, name: str) -> None:
    role = {"deliberation": "--values-judge", "stance-stability": "--judge"}[name]
    several = overton("run", *of_items(name), role, "simulated/degenerate/x", role, "simulated/degenerate/y")
    assert several.returncode == 2
    assert "judges, each would stop at a different point" in several.stderr
    shards = overton("split", *of_items(name), "--into", "2", "--out", "shards")
    assert shards.returncode == 2
    assert "a shard has only some" in shards.stderr


@pytest.mark.parametrize("name", ["pluralism", "even-handedness"])
def test_a_study_without_blocks_refuses_in_a_sentence(overton: Any, name: str) -> None:
    words = {
        "pluralism": ("--model", "simulated/degenerate", "--judge", "simulated/degenerate"),
        "even-handedness": ("--model", "simulated/degenerate", "--judge", "simulated/degenerate"),
    }[name]
    done = overton("run", name, *words, "--precision", "share=0.1", "--out", "run")
    assert done.returncode == 2
    assert f"{name} does not declare its blocks" in done.stderr


def test_a_plan_gives_expected_precision_and_calls(overton: Any) -> None:
    assert overton("run", *SIMULATED, "--trials", "2", "--out", "pilot").returncode == 0
    words = ("open-mindedness", "--model", "openai/gpt-4o-mini", "--issues", "two.jsonl", "--trials", "4")
    asked = ("plan", *words, "--precision", "share=0.35", "--pilot", "pilot")
    done = overton(*asked)
    assert done.returncode == 0
    assert "With a stop at the target precision, expect about " in done.stderr + done.stdout
    told = json.loads(overton(*asked, "--json").stdout)
    told = told.get("analysis", told)
    expected = _find(told, "precision")
    assert 144 <= expected["calls_least"] <= expected["calls"] <= expected["calls_most"] <= 2 * 66 * 4
    assert 0 < expected["cost"] < _find(told, "cost")
    assert expected["halves"]["share"] <= 0.35


def _find(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        if name in value:
            return value[name]
        return next((found for one in value.values() if (found := _find(one, name)) is not None), None)
    return None


def test_a_pilot_without_a_condition_of_the_plan_is_refused(overton: Any) -> None:
    assert overton("run", *SIMULATED, "--trials", "1", "--condition", "baseline", "--out", "pilot").returncode == 0
    done = overton("plan", *SIMULATED, "--precision", "share=0.35", "--pilot", "pilot")
    assert done.returncode == 2
    assert "has no answers in the condition" in done.stderr
