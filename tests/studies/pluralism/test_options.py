from __future__ import annotations

from typing import Any

import pytest

from overton.errors import InputError, Problem
from overton.studies.options import options_of
from overton.studies.pluralism import Options
from overton.studies.pluralism.options import Condition, split_condition, wrong


def problems_of(given: dict[str, Any]) -> list[Problem]:
    """All that is wrong with options, each alone or together."""
    try:
        return list(wrong(options_of(Options, given)))
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
        ({"experiments": ("ranking",), "arms": ("toward",)}, "option arms", "names none that ranking has"),
        ({"efforts": ()}, "option efforts", "at least one"),
        ({"efforts": ("very high",)}, "option efforts", "a word of letters"),
        ({"responses": 0}, "option responses: 0", "between 1 and 50"),
        ({"ranked": 1}, "option ranked: 1", "between 2 and 50"),
        ({"gap": 0}, "option gap: 0", "between 1"),
        ({"pairs": 0}, "option pairs: 0", "between 1"),
        ({"candidates": 0}, "option candidates: 0", "between 1"),
        ({"matching": "fuzzy"}, "option matching: fuzzy", "together, pairs, lexical"),
        ({"pairings": ("best",)}, "option pairings: best", "most-popular, random-gap"),
    ],
)
def test_what_no_experiment_can_be_held_with_is_refused(options: dict[str, Any], place: str, words: str) -> None:
    assert any(str(problem).startswith(place) and words in str(problem) for problem in problems_of(options))


def test_all_problems_are_told_at_once() -> None:
    assert len(problems_of({"responses": 0, "ranked": 0, "matching": "x"})) == 3


@pytest.mark.parametrize(
    ("condition", "name", "setting"),
    [
        (Condition("toward"), "toward", ""),
        (Condition("matched-neutral", mitigated=True), "matched-neutral+mitigated", "mitigated"),
        (Condition("biased", "high"), "biased+effort-high", "effort-high"),
        (Condition("neutral", "low", True), "neutral+effort-low+mitigated", "effort-low+mitigated"),
    ],
)
def test_a_conditions_name_tells_its_parts(condition: Condition, name: str, setting: str) -> None:
    assert condition.name == name
    assert split_condition(name) == (condition.arm, setting, condition.effort, condition.mitigated)
