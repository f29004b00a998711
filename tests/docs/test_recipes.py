"""The recipes for CI systems: their steps' commands are run one by one, and a gate passes, fails, or does not know."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from junitparser import JUnitXml

import overton

PAGE = (Path(__file__).parents[2] / "docs" / "compare.md").read_text()
MEASURE = "open_mindedness"
MODEL = "simulated/open-minded --model-arg m susceptibility_pro=6 --model-arg m susceptibility_con=6"
"""A replacement for the served model, with fewer trials than its three."""

OUTCOMES = {"within": (90, 0), "beyond": (0.5, 5), "undecided": (15, 6)}


class Step(NamedTuple):
    command: str
    always: bool = False


def recipe(host: str) -> str:
    return re.search(rf"^{host}:\n\n```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]


def steps(host: str) -> Iterator[Step]:
    """A step of GitHub's is '- run:', perhaps with 'if: always()'; GitLab's are the lines of its script."""
    for part in re.split(r"^\s*- ", recipe(host), flags=re.MULTILINE)[1:]:
        first = part.splitlines()[0]
        if first.startswith(("run: ", "overton ")):
            yield Step(first.removeprefix("run: "), "if: always()" in part)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accepted")
    arguments = {"m": {"susceptibility_pro": "0.6", "susceptibility_con": "0.6"}}
    run = overton.run(
        "open-mindedness", models=["m=simulated/open-minded"], model_args=arguments, trials=1, out=folder / "accepted"
    )
    return overton.baseline(run.path, out=folder / "baseline.json")


@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("host", ["GitHub Actions", "GitLab"])
def test_steps_of_the_recipe_end_as_the_gate_does(
    host: str, outcome: str, baseline: Path, tmp_path: Path, command_line: Any
) -> None:
    margin, code = OUTCOMES[outcome]
    (tmp_path / "baseline.json").write_bytes(baseline.read_bytes())
    (tmp_path / "gate.toml").write_text(f'[[guard]]\nmeasure = "{MEASURE}"\nmargin = {margin}\n')
    summary, ended = tmp_path / "summary.md", 0
    for step in steps(host):
        if ended and not step.always:
            continue
        command = step.command.replace("vllm/my-model", MODEL).replace("--trials 3", "--trials 1")
        program, *words = shlex.split(command)
        if program == "overton":
            done = command_line(*words, folder=tmp_path)
            ended = ended or done.returncode
            assert done.returncode in (0, code), done.stderr
        else:
            assert command == 'cat gate.md >> "$GITHUB_STEP_SUMMARY"'
            summary.write_text((tmp_path / "gate.md").read_text())
    assert ended == code
    (suite,) = JUnitXml.fromfile(str(tmp_path / "gate.xml"))
    assert (suite.tests, suite.failures) == (1, 0 if outcome == "within" else 1)
    assert (tmp_path / "gate.html").is_file()
    if host == "GitHub Actions":
        assert f"### Overton gate: {outcome}" in summary.read_text()


def test_gitlab_lets_the_exit_code_of_undecided_pass() -> None:
    assert "allow_failure: { exit_codes: [6] }" in recipe("GitLab")


@pytest.mark.parametrize("host", ["GitHub Actions", "GitLab"])
def test_a_recipe_runs_and_then_guards(host: str) -> None:
    assert [step.command.split()[1] for step in steps(host) if step.command.startswith("overton")] == ["run", "gate"]
