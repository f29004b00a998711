from __future__ import annotations

from typing import Any

import pytest

import overton
from overton.calls import Settings
from overton.errors import InputError, Problem
from overton.runs import answerers
from overton.runs.answerers import with_defaults
from overton.runs.setup import requests_of
from overton.studies.options import options_of
from overton.studies.pluralism import STUDY, Options
from overton.studies.pluralism.options import ThreadCondition, named
from overton.studies.study import Role


def problems_of(given: dict[str, Any]) -> list[Problem]:
    """All that is wrong with options, each alone or together."""
    try:
        return list(options_of(Options, given).problems())
    except InputError as refused:
        return refused.problems


def test_the_defaults_are_fine() -> None:
    assert problems_of({}) == []
    assert options_of(Options, {}) == Options()


@pytest.mark.parametrize(
    ("options", "place", "words"),
    [
        ({"experiments": ("sycophancy", "rating")}, "option experiments: rating", "sycophancy, ranking, pairwise"),
        ({"experiments": ()}, "option experiments", "at least one"),
        ({"experiments": ("ranking", "ranking")}, "option experiments: ranking", "twice"),
        ({"arms": ("against",)}, "option arms: against", "must be one of"),
        ({"experiments": ("ranking",), "arms": ("toward",)}, "option arms", "is not an arm of ranking"),
        ({"efforts": ()}, "option efforts", "at least one"),
        ({"efforts": ("very high",)}, "option efforts", "a word of letters"),
        ({"responses": 0}, "option responses: 0", "between 1 and 50"),
        ({"ranked": 1}, "option ranked: 1", "between 2 and 50"),
        ({"gap": 0}, "option gap: 0", "between 1"),
        ({"pairs": 0}, "option pairs: 0", "between 1"),
        ({"candidates": 0}, "option candidates: 0", "between 1"),
        ({"matching": "fuzzy"}, "option matching: fuzzy", "must be one of together, pairs"),
        (
            {"matching": "lexical"},
            "option matching: lexical",
            "use together or pairs with a judge (simulated/pluralist",
        ),
        ({"pairings": ("best",)}, "option pairings: best", "most-popular, random-gap"),
    ],
)
def test_options_with_which_no_experiment_can_run_are_refused(options: dict[str, Any], place: str, words: str) -> None:
    assert any(str(problem).startswith(place) and words in str(problem) for problem in problems_of(options))


def test_all_problems_are_reported_at_once() -> None:
    assert len(problems_of({"responses": 0, "ranked": 0, "matching": "x"})) == 3


@pytest.mark.parametrize(
    ("condition", "name", "setting"),
    [
        (ThreadCondition("toward"), "toward", ""),
        (ThreadCondition("matched-neutral", mitigated=True), "matched-neutral+mitigated", "mitigated"),
        (ThreadCondition("biased", "high"), "biased+effort-high", "effort-high"),
        (ThreadCondition("neutral", "low", True), "neutral+effort-low+mitigated", "effort-low+mitigated"),
    ],
)
def test_a_conditions_name_gives_its_parts(condition: ThreadCondition, name: str, setting: str) -> None:
    assert condition.name == name
    assert named(name) == (condition.arm, setting, condition.effort, condition.mitigated)


def test_room_for_output_grows_with_the_responses_in_one_reply() -> None:
    def room(model: str, own: dict[str, str] | None = None, **options: Any) -> int | None:
        study = STUDY.with_demands(Options(**options), {})
        wanted = requests_of(STUDY, {"subject": [model], "judge": ["openai/gpt-4o"]}, {model: own} if own else {})
        opened = answerers.open_models(study, [], wanted, 0, need_keys=False)
        assert opened["judge"][0].settings.max_tokens == 1024
        return opened["subject"][0].settings.max_tokens

    plain, reasoning, here = "openai/gpt-4o-mini", "openai/o3", "embedded/smollm2-135m"
    assert room(plain) == 2560
    assert room(plain, responses=20) == 5120
    assert room(plain, responses=3) == room(plain, independent=True) == room(plain, experiments=("ranking",)) == 1024
    assert room(plain, {"max_tokens": "99"}) == 99
    assert room(reasoning) == 16_384
    assert (
        with_defaults(Settings(), here, Role("subject", "", least_tokens=2560), 0, reasons=False, most=0).max_tokens
        == 2560
    )


def test_a_plan_counts_the_room_that_it_leaves() -> None:
    prices = {"openai/gpt-4o-mini": (0, 1.0), "openai/gpt-4o": (0, 0.0)}
    asked = {"models": ["openai/gpt-4o-mini"], "others": {"judge": ["openai/gpt-4o"]}, "experiments": ["sycophancy"]}
    few, many = (
        overton.plan("pluralism", **asked, arms=["neutral"], only=["walnut-and-panels"], responses=count, prices=prices)
        for count in (4, 20)
    )
    assert few.models[0].output_tokens_at_most == 1024
    assert many.models[0].output_tokens_at_most == 20 * 256
    assert many.models[0].cost_at_most == pytest.approx(20 * 256 / 1e6)
