from __future__ import annotations

from typing import Any

import msgspec
import pytest

from overton.errors import InputError
from overton.studies.options import options_of
from overton.studies.stance_stability import STUDY, Options


def test_the_defaults_are_the_published_temperatures_and_twenty_pages() -> None:
    options = options_of(Options, {})
    assert options == Options()
    assert (options.temperatures, options.orderings, options.pages_per_turn) == ((0.0, 0.5, 1.0), ("fixed",), 20)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"temperatures": ()}, "option temperatures: name at least one"),
        ({"temperatures": (0.5, 2.5)}, "option temperatures: 2.5: must be between 0 and 2"),
        ({"temperatures": (0.0, None, 0.0)}, "option temperatures: 0: is given twice"),
        ({"temperatures": (float("nan"),)}, "option temperatures: nan"),
        ({"orderings": ("random",)}, "option orderings: random: must be one of fixed, shuffled, grouped"),
        ({"trials": 0}, "option trials: 0: must be 1 or more"),
        ({"turns": 0}, "option turns: 0: must be 1 or more"),
        ({"pages_per_turn": 0}, "option pages_per_turn: 0: must be between 1 and 100"),
        ({"page_characters": 10}, "option page_characters: 10: must be 200 or more"),
        ({"history_characters": 10}, "option history_characters: 10: must be 200 or more"),
        ({"queries": "mine"}, "option queries: mine: must be one of own, shared"),
        ({"judge_prompts": "none"}, "option judge_prompts: none: must be one of topic, published, both"),
    ],
)
def test_impossible_options_are_refused_by_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        options_of(Options, given)
    assert str(refused.value).startswith(said)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as refused:
        options_of(Options, {"temperatures": (3.0,), "trials": 0, "pages_per_turn": 0})
    assert len(refused.value.problems) == 3


def test_options_survive_a_manifest() -> None:
    options = Options(temperatures=(0.0, None), turns=3, judge_prompts="both")
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(options)), Options) == options


def test_whose_queries_follows_from_who_is_named_for_them() -> None:
    assert STUDY.options.complete({}, {"queries": ["a/b"]})["queries"] == "shared"
    assert STUDY.options.complete({}, {})["queries"] == "own"
    with pytest.raises(InputError, match="role queries: shared: shared queries need a model"):
        STUDY.options.complete({"queries": "shared"}, {})
    with pytest.raises(InputError, match="role queries: own: each measured model writes its own queries"):
        STUDY.options.complete({"queries": "own"}, {"queries": ["a/b"]})


def test_fewer_pages_of_the_starter_collection_unless_a_number_is_given() -> None:
    assert STUDY.options.complete({}, {"search": ["starter"]})["pages_per_turn"] == 3
    assert STUDY.options.complete({"pages_per_turn": 7}, {"search": ["starter"]})["pages_per_turn"] == 7
    assert "pages_per_turn" not in STUDY.options.complete({}, {"search": ["serper"]})
