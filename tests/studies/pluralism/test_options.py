from __future__ import annotations

from typing import Any

import pytest

from overton.errors import InputError
from overton.studies.pluralism import Options
from overton.studies.pluralism.conditions import Condition, split_condition
from overton.studies.pluralism.options import check_options


def test_the_defaults_are_fine() -> None:
    check_options(Options())


@pytest.mark.parametrize(
    ("options", "place", "words"),
    [
        ({"experiments": ("sycophancy", "rating")}, "--experiment: rating", "sycophancy, ranking, pairwise"),
        ({"experiments": ()}, "--experiment", "at least one"),
        ({"experiments": ("ranking", "ranking")}, "--experiment: ranking", "twice"),
        ({"arms": ("against",)}, "--arm: against", "must be one of"),
        ({"experiments": ("ranking",), "arms": ("toward",)}, "--arm", "names none that ranking has"),
        ({"efforts": ()}, "--effort", "at least one"),
        ({"efforts": ("very high",)}, "--effort", "a word of letters"),
        ({"responses": 0}, "--responses: 0", "between 1 and 50"),
        ({"ranked": 1}, "--ranked: 1", "between 2 and 50"),
        ({"gap": 0}, "--gap: 0", "between 1"),
        ({"pairs": 0}, "--pairs: 0", "between 1"),
        ({"candidates": 0}, "--candidates: 0", "between 1"),
        ({"matching": "fuzzy"}, "--matching: fuzzy", "together, pairs, lexical"),
        ({"pairings": ("best",)}, "--pairing: best", "most-popular, random-gap"),
    ],
)
def test_what_no_experiment_can_be_held_with_is_refused(options: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(InputError) as refused:
        check_options(Options(**options))
    assert any(str(problem).startswith(place) and words in str(problem) for problem in refused.value.problems)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as refused:
        check_options(Options(responses=0, ranked=0, matching="x"))  # type: ignore[arg-type]
    assert len(refused.value.problems) == 3


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
