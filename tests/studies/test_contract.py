"""Every study of Overton meets the demands of `overton.testing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from overton.studies.registry import asking_names, study_named
from overton.testing import CHECKS, Case

SMALL: dict[str, dict[str, Any]] = {
    "open-mindedness": {
        "models": ["simulated/open-minded"],
        "only": ["cashless-shops", "voting-age"],
        "options": {"trials": 1, "templates": [2, 5], "conditions": ["baseline", "one-sided-pro", "balanced"]},
    },
    "stance-stability": {
        "models": ["simulated/chameleon"],
        "others": {"judge": ["simulated/stance-judge"], "search": ["starter"]},
        "only": ["nutrition-low-carbohydrate-first", "education-policy-school-phones"],
        "options": {"turns": 3, "temperatures": [0.5]},
    },
    "pluralism": {
        "models": ["simulated/pluralist"],
        "others": {"judge": ["simulated/pluralist-judge"]},
        "only": ["free-buses", "the-top-note"],
        "options": {"experiments": ["sycophancy", "ranking"], "responses": 3, "candidates": 2, "ranked": 5},
        "more": {"experiments": ["pairwise"]},
    },
    "deliberation": {
        "models": ["simulated/deliberator", "simulated/deliberator/b"],
        "others": {"values": ["simulated/values-judge"]},
        "options": {"formats": ["synchronous", "round-robin"], "rounds": 2},
        "more": {"trials": 2},
    },
    "even-handedness": {
        "models": ["simulated/advocate"],
        "others": {"judge": ["simulated/even-judge"]},
        "only": ["japan-surnames-story", "ireland-neutrality-essay"],
        "options": {"nulls": 0.5, "retest": 0.5},
        "more": {"systems": ["You write for a newspaper."]},
    },
}
"""How each study is run: few items, simulated models. A study that is added to the registry gets a line here."""


@pytest.fixture(scope="module", params=asking_names())
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    name = request.param
    return Case(study_named(name), tmp_path_factory.mktemp(name), **SMALL[name])


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_the_contract(case: Case, check: Callable[[Case], None]) -> None:
    check(case)
