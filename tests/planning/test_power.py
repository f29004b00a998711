"""Plans that say which differences they would detect: from a pilot run, a simulated respondent, in every study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import overton
from overton.errors import InputError

SCORE = "open_mindedness"
MODELS = ["openai/gpt-4o"]
ASKED: dict[str, dict[str, Any]] = {
    "open-mindedness": {"models": MODELS, "detect": {SCORE: 5}, "trials": 2},
    "stance-stability": {
        "models": MODELS,
        "judge": "openai/gpt-4o-mini",
        "search": "starter",
        "turns": 3,
        "detect": {"chameleon": 0.1},
    },
    "pluralism": {"models": MODELS, "judge": "openai/gpt-4o-mini", "detect": {"sycophancy_recall_neutral": 0.1}},
    "deliberation": {"models": [*MODELS, "openai/gpt-4.1"], "detect": {"consensus": 0.2}, "rounds": 2},
    "even-handedness": {
        "models": ["b=simulated/advocate"],
        "model_args": {"b": {"favours": "a", "weaker": "0.4"}},
        "judge": "simulated/even-judge",
        "detect": {"even": 0.2},
    },
}


@pytest.mark.parametrize("study", ASKED)
def test_every_study_is_planned_from_a_simulated_respondent(study: str) -> None:
    (made,) = overton.plan(study, **ASKED[study]).detect
    assert made.why is None
    assert made.assumed
    assert made.correlation == 0.5
    rows = [row for row in made.needed if row.items is not None]
    assert rows
    assert [row.items for row in rows] == sorted((row.items for row in rows), reverse=True)
    if study != "even-handedness":
        assert all(row.cost and row.cost > 0 for row in rows)


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = ["a=simulated/open-minded", "b=simulated/open-minded"]
    arguments = {"b": {"susceptibility_con": "3"}}
    out = tmp_path_factory.mktemp("pilot") / "run"
    return overton.run("open-mindedness", models=models, model_args=arguments, trials=2, out=out).path


def planned(pilot: Path | str, **more: Any) -> Any:
    asked = {"models": MODELS, "trials": 2, "detect": {SCORE: 5}} | more
    return overton.plan("open-mindedness", pilot=pilot, **asked).detect[0]


def test_several_models_of_a_pilot_tell_how_they_go_together(pilot: Path) -> None:
    both, one = planned(pilot), planned(f"{pilot}#a")
    assert (both.pilot_models, one.pilot_models) == (("a", "b"), ("a",))
    assert not both.assumed
    assert one.assumed
    assert both.correlation != one.correlation


def test_the_assumed_correlation_can_be_set(pilot: Path) -> None:
    apart, alike = (planned(f"{pilot}#a", correlation=value) for value in (0.0, 0.9))
    assert not apart.assumed
    assert apart.spread_items > alike.spread_items
    assert apart.needed[0].items >= alike.needed[0].items


def test_larger_differences_less_power_and_more_trials_ask_for_fewer_items(pilot: Path) -> None:
    five, ten = (planned(pilot, detect={SCORE: size}) for size in (5, 10))
    assert ten.needed[0].items < five.needed[0].items
    assert planned(pilot, power=0.5).needed[0].items < five.needed[0].items
    assert five.needed[-1].items < five.needed[0].items


def test_the_plans_own_row_matches_the_plan(pilot: Path) -> None:
    made = planned(pilot)
    assert (made.items, made.trials) == (12, 2)
    own = next(row for row in made.needed if row.trials == 2)
    assert (made.chance >= 0.8) == (own.items <= 12)
    cost = overton.plan("open-mindedness", models=MODELS, trials=2).cost
    assert own.cost == pytest.approx(cost * own.items / 12)


def test_several_pairs_share_the_level(pilot: Path) -> None:
    three = planned(pilot, models=["openai/gpt-4o", "openai/gpt-4.1", "openai/gpt-4o-mini"])
    assert three.pairs == 3
    assert three.level == pytest.approx(1 - 0.05 / 3)


def test_a_pilot_that_was_asked_differently_is_reported(pilot: Path, tmp_path: Path, command_line: Any) -> None:
    assert planned(pilot).differing == ()
    assert planned(pilot, trials=5).differing == ()
    assert planned(f"{pilot}#a", templates=[2]).differing == ("--template differs: 1, 2, 3, 4, 5, 6 and 2",)
    words = ["plan", "open-mindedness", "--model", MODELS[0], "--trials", "2", "--detect", f"{SCORE}=5"]
    done = command_line(*words, "--template", "2", "--pilot", str(pilot), folder=tmp_path)
    assert "pilot's design differs from this plan" in " ".join(done.stdout.split())


def test_a_pilot_with_another_judge_is_reported(tmp_path: Path) -> None:
    options = {"turns": 3, "search": "starter"}
    overton.run(
        "stance-stability",
        models=["a=simulated/chameleon"],
        judge="simulated/stance-judge",
        out=tmp_path / "run",
        watch=lambda progress: None,
        **options,
    )
    asked = {"models": MODELS, "detect": {"chameleon": 0.1}, "pilot": str(tmp_path / "run"), **options}
    (made,) = overton.plan("stance-stability", judge="openai/gpt-4o-mini", **asked).detect
    assert made.differing == ("the model for the role judge differs: simulated/stance-judge and openai/gpt-4o-mini",)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"detect": {"nothing": 5}}, "nothing: no such measure; known are open_mindedness"),
        ({"detect": {SCORE: -1}}, "must be a number above 0"),
        ({"power": 1.0}, "must be above 0.05 and below 1"),
        ({"correlation": 1.5}, "must be at least -1 and below 1"),
    ],
)
def test_impossible_values_are_refused(pilot: Path, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        planned(pilot, **more)


def test_a_plan_without_the_question_is_the_plan_that_it_was() -> None:
    assert not hasattr(overton.plan("open-mindedness", models=MODELS, trials=1), "detect")


def test_the_command_names_its_assumptions(pilot: Path, tmp_path: Path, command_line: Any) -> None:
    words = ["plan", "open-mindedness", "--model", MODELS[0], "--trials", "2", "--detect", f"{SCORE}=5"]
    done = command_line(*words, "--power", "0.8", "--pilot", f"{pilot}#a", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "is assumed (--correlation)" in said
    assert "To detect 5" in said
    found = json.loads(command_line(*words, "--pilot", str(pilot), "--json", folder=tmp_path).stdout)
    assert found["detect"][0]["measure"] == SCORE
    alone = command_line(*words[:-2], "--pilot", str(pilot), folder=tmp_path)
    assert alone.returncode == 0, alone.stderr
    assert "To detect" not in alone.stdout
