"""The comparison finds what differs, and lets pass what `mapping` tells, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from .comparing import differences
from .mapping import Form, bounds_may_move

OLD: dict[str, Any] = {
    "notes": ["one"],
    "models": {"a.b/c > d": {"share": {"value": 0.5, "low": 0.4, "high": 0.6}, "score": 2, "interval": [1.0, 3.0]}},
}
NEW: dict[str, Any] = {
    "models": {
        "a.b/c > d": {
            "share": {"leads": "plain", "plain": {"estimate": 0.5, "interval": [0.4, 0.6]}},
            "score": {"leads": "plain", "plain": {"estimate": 2, "interval": [1.0, 3.0]}},
        }
    },
}
MAPPED = Form(
    moved=(
        ("** > score", "** > score > plain > estimate"),
        ("** > d > interval > *", "** > d > score > plain > interval > *"),
        ("** > value", "** > plain > estimate"),
        ("** > low", "** > plain > interval > 0"),
        ("** > high", "** > plain > interval > 1"),
    ),
    gone=("notes > *",),
    added=("** > leads",),
    resampled=("** > low", "** > high", "** > interval > *"),
)


def test_equal_values_have_no_differences() -> None:
    assert differences(OLD, OLD, Form()) == []
    assert differences([float("nan"), [], {}, None], [float("nan"), [], {}, None], Form()) == []


@pytest.mark.parametrize(
    ("old", "new"), [(1, 2), (1, True), (1, None), (0.1, 0.1 + 1e-12), ([], {}), ([1], []), ([], [1]), ("1", 1)]
)
def test_differences_are_listed_by_their_path(old: Any, new: Any) -> None:
    found = differences({"a": {"b": old}}, {"a": {"b": new}}, Form())
    assert found
    assert all(line.startswith("a > b") for line in found)


def test_moved_values_are_compared_at_their_path_today() -> None:
    assert differences(OLD, NEW, MAPPED) == []
    assert differences(OLD, {"models": {}}, MAPPED)[0] == (
        "models > a.b/c > d > share > value (today models > a.b/c > d > share > plain > estimate): is gone; it was 0.5"
    )


def test_only_a_resampled_bound_may_move_and_by_its_share_of_the_width() -> None:
    def moved(path: str, by: float) -> list[str]:
        new = {"low": 0.0, "high": 2.0, "value": 1.0}
        return differences({"low": 0.0, "high": 2.0, "value": 1.0}, new | {path: new[path] + by}, form, moves=0.02)

    form = Form(resampled=("low", "high"))
    assert moved("high", 0.039) == []
    assert moved("low", -0.041) == ["low: was 0.0, is -0.041 (width 2)"]
    assert moved("value", 0.001)
    assert bounds_may_move(2000) == bounds_may_move(5000) == 0.02


def test_a_bound_that_another_method_gave_may_not_move() -> None:
    form = Form(resampled=("** > interval > *",))

    def found(method: str) -> list[str]:
        old = {"plain": {"interval": [0.0, 1.0], "method": method}}
        return differences(old, {"plain": {"interval": [0.0, 1.01], "method": method}}, form, moves=0.02)

    assert found("bootstrap over issues") == []
    assert found("Wilson") == ["plain > interval > 1: was 1.0, is 1.01"]


@pytest.mark.parametrize(
    ("limits", "estimate", "alike"),
    [
        ([0.5, 2.0], 1.0, True),
        ([0.0, 1.0], 1.0, True),
        ([-0.1, 2.0], 1.0, False),
        ([0.5, 3.1], 1.0, False),
        ([1.2, 2.0], 1.0, False),
        ([0.5, 2.0], 1.1, False),
    ],
)
def test_limits_may_only_be_nearer_to_the_same_number(limits: list[float], estimate: float, alike: bool) -> None:
    old = {"a": {"estimate": 1.0, "interval": [0.0, 3.0], "equivalence": {"interval": [0.0, 3.0]}}}
    new = {"a": {"estimate": estimate, "interval": limits, "equivalence": {"interval": limits}}}
    assert (differences(old, new, Form(nearer=("** > interval > *",))) == []) == alike
    assert differences(old, new, Form())


def test_a_corrected_number_may_lead_if_its_interval_was_too_wide_and_is_given() -> None:
    why = "no interval: the judge errs too often for so few labels and units"
    form = Form(narrow_enough=("** > leads", "** > corrected > **"))

    def told(reason: str, now: str | None) -> list[str]:
        old = {"a": {"leads": "plain", "corrected": {"interval": [None, None], "why": reason}}}
        new = {"a": {"leads": "corrected", "corrected": {"interval": [0.1, 0.9], "why": now}}}
        return differences(old, new, form)

    assert told(why, None) == []
    assert told(why, why)
    assert told("no interval: too few labels", None)


@pytest.mark.parametrize(
    ("verdict", "difference", "together", "follows"),
    [
        ("clear", [0.1, 0.9], [0.05, 0.95], True),
        ("clear", [0.1, 0.9], [-0.05, 1.05], False),
        ("cannot tell", [0.1, 0.9], [-0.05, 1.05], True),
        ("cannot tell", [0.1, 0.9], [0.05, 0.95], False),
        ("not clear", [0.1, 0.9], [-0.05, 1.05], False),  # half is more than the margin
    ],
)
def test_a_verdict_may_change_if_todays_limits_bear_it_out(
    verdict: str, difference: list[float], together: list[float], follows: bool
) -> None:
    new: dict[str, Any] = {
        name: {"plain": {"estimate": 0.5, "interval": limits}}
        for name, limits in (("difference", difference), ("together", together))
    }
    new |= {"margin": 0.1, "verdict": verdict}
    old = new | {"verdict": "another"}
    assert (differences({"a": old}, {"a": new}, Form(follows=("** > verdict",))) == []) == follows
    assert differences({"a": old}, {"a": new}, Form())


def test_only_listed_values_may_be_nearly_equal() -> None:
    form = Form(nearly=("b",))
    assert differences({"b": 1.0}, {"b": 1.0 + 5e-7}, form) == []
    assert differences({"b": 1.0}, {"b": 1.0 + 5e-6}, form)
    assert differences({"a": 1.0}, {"a": 1.0 + 5e-7}, form)


def test_numbers_of_fitted_choice_models_are_equal_to_four_digits() -> None:
    old, near, far = ({"a": {"choice_model.inertia": {"b": number}}} for number in (1.0, 1.0 + 5e-5, 1.0 + 5e-4))
    assert differences(old, near, Form()) == []
    assert differences(old, far, Form())


def test_a_word_that_changed_is_expected_in_its_new_form() -> None:
    form = Form(reworded=(("** > method", "old", "new"),))
    assert differences({"a": {"method": "old"}}, {"a": {"method": "new"}}, form) == []
    assert differences({"a": {"method": "old"}}, {"a": {"method": "old"}}, form)
    assert differences({"other": "old"}, {"other": "new"}, form)


def test_two_recorded_values_cannot_move_to_one_place() -> None:
    assert differences({"a": 1, "b": 1}, {"c": 1}, Form(moved=(("a", "c"), ("b", "c")))) == ["b: moves to c, as a does"]
