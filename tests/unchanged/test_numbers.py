"""Pins of numbers are by measure, and nothing in them can change without being found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from .comparing import differences
from .mapping import CLOSE, Form
from .numbers import ALL, compared, gated, numbers
from .record import PINS, difference, overlaid, recorded

_PAIR = "fair to partial [even-handedness-repeats]"
ROW = {
    "study": "some",
    "model": "m",
    "item": None,
    "condition": "a / b",
    "measure": "share",
    "variant": "plain",
    "estimate": 0.25,
    "low": None,
    "high": None,
    "n": 4,
    "method": "",
    "why": "no interval: too few",
}
AGAINST = {
    "model": "",
    "measure": "share",
    "null": "again",
    "difference": {"plain": {"estimate": 0.5}},
    "verdict": "clear",
}

JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "gone", "other"]), inner),
    max_leaves=12,
)


def test_a_number_stands_under_its_measure_model_item_condition_and_variant() -> None:
    found = numbers(pl.DataFrame([ROW]), {"against_null": [AGAINST]})
    values = {"estimate": 0.25, "low": None, "high": None, "n": 4, "method": "", "why": "no interval: too few"}
    assert found["estimates"] == {"share": {"m": {ALL: {"a / b": {"leads": "plain", "plain": values}}}}}
    told = {"difference": {"plain": {"estimate": 0.5}}, "verdict": "clear"}
    assert found["against nulls"] == {"share": {ALL: {"again": told}}}


def test_two_numbers_cannot_have_one_key() -> None:
    with pytest.raises(AssertionError, match="two rows have the key"):
        numbers(pl.DataFrame([ROW, ROW | {"estimate": 0.5}]), {})
    with pytest.raises(AssertionError, match="two members are"):
        numbers(pl.DataFrame([ROW]), {"against_null": [AGAINST, AGAINST]})


def test_a_comparison_and_a_gate_are_kept_by_measure() -> None:
    one = {"title": "Share", "margin": 0.1, "verdict": "lower"}
    document = {"pairs": [{"base": "a", "candidate": "b", "measures": {"share": one}}], "ranks": {}, "lost": {}}
    found = compared(document)
    assert found == {"pairs": {"a to b": {"share": {"margin": 0.1, "verdict": "lower"}}}, "ranks": {}, "lost": {}}
    check = {"measure": "share", "base": "a", "candidate": "b", "outcome": "beyond"}
    told = gated({"outcome": "beyond", "passes": False, "checks": [check], "comparison": document})
    assert told["checks"] == {"share": {"a": {"b": {"outcome": "beyond"}}}}
    assert told["comparison"] == found


def _seventh_digit(value: float) -> float:
    return value * (1 + 3e-7)


@pytest.mark.parametrize(
    ("case", "way", "change"),
    [
        (
            "stored-open-mindedness-defaults",
            ("numbers", "all", "estimates", "open_mindedness", "swayed", ALL, ALL, "cross_fitted", "estimate"),
            _seventh_digit,
        ),
        (
            "stored-open-mindedness-labels-single-side",
            ("numbers", "all", "estimates", "open_mindedness", "swayed", ALL, ALL, "leads"),
            lambda name: "plain" if name != "plain" else "corrected",
        ),
        (
            "stored-pluralism-null-conditions",
            ("numbers", "all", "against nulls", "suppression_toward", "blunt", "other-belief", "verdict"),
            lambda said: "clear" if said != "clear" else "not clear",
        ),
        (
            "stored-deliberation-labels-single-value",
            ("numbers", "all", "labels", "value", "labelled"),
            lambda labels: labels + 1,
        ),
        ("gate-stance-stability", ("gated", "checks", "change_rate", "steady", "drifting", "outcome"), str.upper),
        ("together-even-handedness", ("compared", "pairs", _PAIR, "even", "difference", "why"), lambda _: ""),
    ],
)
def test_a_changed_number_or_verdict_is_found(case: str, way: tuple[str, ...], change: Callable[[Any], Any]) -> None:
    old = recorded(case)
    new = copy.deepcopy(old)
    *above, last = way
    holder = new
    for key in above:
        holder = holder[key]
    holder[last] = change(holder[last])
    found = differences(old, new, Form(), close=CLOSE)
    assert len(found) == 1
    assert found[0].startswith(f"{' > '.join(way)}: was ")


@given(JSON, JSON)
def test_difference_and_overlaid_are_inverse(base: Any, made: Any) -> None:
    assert overlaid(base, difference(base, made)) == made


def test_pins_are_under_five_megabytes() -> None:
    assert sum(file.stat().st_size for file in Path(PINS.parent).rglob("*") if file.is_file()) < 5_000_000
