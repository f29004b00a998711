"""The command that profiles: what it prints, its page, its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import overton


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("profiled") / "run"
    return overton.run("open-mindedness", models=["m=simulated/open-minded"], trials=1, templates=[2, 5], out=out).path


def test_a_profile_prints_sentences_and_the_studies_not_run(run: Path, tmp_path: Path, command_line: Any) -> None:
    done = command_line("profile", str(run), "--out", "profile.html", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    order = [
        said.index(text)
        for text in ("Where it stands", "m answers pro more often than con on", "What moves it", "What was not run")
    ]
    assert order == sorted(order)
    assert "No study that was run measures this. Pluralism would" in said
    assert "profile.html" in said
    assert "<title>Profile: m</title>" in (tmp_path / "profile.html").read_text()


def test_json_is_the_profile(run: Path, tmp_path: Path, command_line: Any) -> None:
    made = json.loads(command_line("profile", str(run), "--json", "--level", "0.9", folder=tmp_path).stdout)
    assert made["models"] == {"m": ["simulated/open-minded"]}
    assert (made["schema"], made["level"]) == (2, 0.9)
    assert made["rows"][0]["aspect"] == "stands"
    assert {one["study"] for one in made["tables"]["missing"]} >= {"pluralism", "deliberation"}


@pytest.mark.parametrize(
    ("words", "said"),
    [(["nowhere"], "nowhere"), (["{run}#nobody"], "has no such model"), (["{run}", "--subjects", "no.csv"], "no.csv")],
)
def test_bad_input_says_what_is_wrong(
    words: list[str], said: str, run: Path, tmp_path: Path, command_line: Any
) -> None:
    done = command_line("profile", *(word.replace("{run}", str(run)) for word in words), folder=tmp_path)
    assert done.returncode in {1, 2}
    assert said in done.stderr
