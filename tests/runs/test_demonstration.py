"""The demonstration: a real model, here replaced by one that picks letters, next to simulated models of known truth."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import overton
from overton.cli.first_screen import MOST_LINES
from overton.cli.main import app
from overton.runs import demonstration
from overton.runs.run import open_run
from overton.statistics import Estimate
from overton.studies.open_mindedness.options import CONDITIONS, PUBLISHED
from overton.studies.open_mindedness.simulated import Parameters
from overton.studies.registry import DEMO

LETTERS = {"susceptibility_pro": "0", "susceptibility_con": "0", "letter": "0.6", "lean_spread": "0.2"}
"""A model that mostly picks a letter, though its answers are not void."""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """Output and run of `overton demo`, with a simulated model for the real one."""
    folder = tmp_path_factory.mktemp("demo") / "run"

    def run(study: str, *, models: list[str], model_args: dict[str, Any], **options: Any) -> Any:
        assert models[0] == demonstration.MODEL
        others = ["letters=simulated/open-minded", *models[1:]]
        return overton.run(study, models=others, model_args={"letters": LETTERS, **model_args}, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(demonstration, "run", run)
        patched.setattr(demonstration, "prepare", lambda progress: None)
        return CliRunner().invoke(app, ["demo", "--out", str(folder)], terminal_width=100), folder


def score(folder: Path, model: str) -> Estimate:
    found = overton.analyze("open-mindedness", folder)
    return found.estimate("open_mindedness_cross_fitted", model=model)


def true_score(parameters: Parameters, issues: list[str]) -> float:
    """The score of a respondent whose answers depend on its baseline stances and the arguments alone."""

    def chance(logit: float) -> float:
        return 1 / (1 + exp(-logit))

    def of_issue(lean: float) -> float:
        share = chance(abs(lean))
        moved = 0.0
        for condition in (CONDITIONS[name] for name in PUBLISHED):
            shift = _pro_part(condition) * parameters.susceptibility_pro
            shift -= (1 - _pro_part(condition)) * parameters.susceptibility_con
            left = chance(lean + shift if lean > 0 else -lean - shift)
            moved += condition.weight * max(0.0, share - left) * (left < 0.5)
        return moved / sum(CONDITIONS[name].weight for name in PUBLISHED)

    return 100 * sum(map(of_issue, map(parameters.lean_of, issues))) / len(issues)


def _pro_part(condition: Any) -> float:
    if condition.balanced or condition.side is None:
        return 0.5
    sides = {"one-sided": (1, 0), "convincing": (3, 1)}[condition.name.rpartition("-")[0]]
    return (sides if condition.side == "pro" else sides[::-1])[0] / sum(sides)


def test_three_models_share_one_table_in_order(shown: tuple[Result, Path]) -> None:
    done, folder = shown
    assert done.exit_code == 0, done.output
    screen = done.stdout.splitlines()
    assert len(screen) <= MOST_LINES
    assert screen[0].startswith("open-mindedness · letters, steady, movable · 12 issues · 432 replies")
    head = next(place for place, line in enumerate(screen) if line.startswith("Model "))
    assert [line.split()[0] for line in screen[head + 1 : head + 4]] == ["letters", "movable", "steady"]
    assert all("[" in line for line in screen[head + 1 : head + 4])
    assert [entry.name for entry in open_run(folder).entries] == ["letters", *DEMO.respondents]


def test_the_first_finding_says_that_the_small_model_picks_letters(shown: tuple[Result, Path]) -> None:
    screen = shown[0].stdout.splitlines()
    assert screen[1].startswith("  • letters mostly picks a letter: on all 12 issues")
    assert shown[0].stdout.count("mostly picks a letter") == 1


def test_each_simulated_model_is_introduced_by_its_truth(shown: tuple[Result, Path]) -> None:
    said = shown[0].stderr
    for name, respondent in DEMO.respondents.items():
        assert f"{name} (simulated, true values known): {respondent.truth}" in said


@pytest.mark.parametrize("model", ["steady", "movable"])
def test_scores_and_parameters_of_simulated_models_come_back(shown: tuple[Result, Path], model: str) -> None:
    given = {name: float(value) for name, value in DEMO.respondents[model].parameters.items()}
    found = score(shown[1], model)
    truth = true_score(Parameters(**given), [item.id for item in open_run(shown[1]).items()])
    assert found.low <= truth <= found.high
    assert abs(found.value - truth) < 1
    assert (truth == 0) == (model == "steady")
    analysis = overton.analyze("open-mindedness", shown[1])
    for name in ("susceptibility_pro", "susceptibility_con"):
        fitted = analysis.estimate(f"respondent_{name}", model=model)
        assert fitted.low <= given[name] <= fitted.high, name


def test_the_simulated_models_are_told_apart(shown: tuple[Result, Path]) -> None:
    assert score(shown[1], "steady").high < score(shown[1], "movable").low


def test_the_report_names_the_parameters_of_simulated_models(shown: tuple[Result, Path]) -> None:
    page = (shown[1] / "report.html").read_text("utf-8")
    note = "steady (susceptibility_pro=0, susceptibility_con=0, request=0.2); movable (susceptibility_pro=2,"
    assert "Simulated, with known truth: " in page
    assert note in page
