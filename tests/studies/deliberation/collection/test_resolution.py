"""From annotators, a judge on trial and decisions to fates: hand-made cases, and rules that hold for any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overton.studies.deliberation.collection.record import Companion, ValueFate
from overton.studies.deliberation.collection.resolution import (
    code_from,
    coded_fates,
    consistent_values,
    is_decided,
    list_from,
    merged_fates,
    merges_agreed,
    sorted_fates,
    tried_fates,
    votes_needed,
)
from overton.studies.deliberation.collection.sheets import CODES, INCLUDED
from overton.studies.deliberation.value_lists import Value

FIVE = ("ann", "bob", "m1", "m2", "m3")


def kept(value: str, **more: Any) -> ValueFate:
    given: dict[str, Any] = {"status": "undecided", "why": "", "kept": True, "definition": f"What {value} is."}
    return ValueFate(trial="t", value=value, **{**given, **more})


def listed(value: str, **more: Any) -> ValueFate:
    return kept(value, status="in the list", **more)


@pytest.mark.parametrize(
    ("annotators", "share", "votes"),
    [(5, 0.8, 4), (3, 0.8, 3), (4, 0.8, 4), (1, 0.8, 1), (10, 0.8, 8), (5, 0.6, 3), (3, 2 / 3, 2), (5, 0.01, 1)],
)
def test_four_of_five_must_agree_or_as_large_a_share_of_others(annotators: int, share: float, votes: int) -> None:
    assert votes_needed(annotators, share) == votes


def test_values_that_four_of_five_call_moral_are_kept() -> None:
    moral, other = "moral", "epistemic"
    categories = {
        "Candour": [moral] * 5,
        "Tact": [moral, moral, other, moral, moral],
        "Rigour": [moral, moral, moral, other, other],
        "Zeal": [moral, moral, moral, None, other],
    }
    fates = sorted_fates("t", [Value(name) for name in categories], FIVE, categories, moral, 0.8)
    assert [(fate.value, fate.votes, fate.kept, fate.status) for fate in fates] == [
        ("Candour", 5, True, "undecided"),
        ("Tact", 4, True, "undecided"),
        ("Rigour", 3, False, "left out"),
        ("Zeal", 3, False, "left out"),
    ]
    assert fates[2].why == "3 of 5 annotators call it moral; 4 are needed"
    assert fates[3].categories == (moral, moral, moral, None, other)


@pytest.mark.parametrize(
    ("repetitions", "found"),
    [
        ([("A", "B"), ("A",), ("A", "C"), ("B",), ("B", "A")], {"A", "B"}),
        ([("A",), ("A",), (), ()], set()),
        ([("A",), ("A",), None, ()], {"A"}),
        ([None, None], set()),
        ([], set()),
    ],
)
def test_a_value_is_consistent_if_more_than_half_of_the_readings_have_it(
    repetitions: list[tuple[str, ...] | None], found: set[str]
) -> None:
    assert consistent_values(repetitions) == found


def test_on_trial_values_are_counted_alone_and_together() -> None:
    fates = [kept("A"), kept("B"), kept("C"), kept("D", kept=False, status="left out")]
    named = [
        [("A", "B"), ("A", "B"), ("A",)],  # A and B
        [("A", "B"), ("B", "A"), ("C",)],  # A and B
        [("A",), ("A",), ("B",)],  # A
        [("C", "B"), ("C", "B"), None],  # B and C
        [(), ("C",), ("C",)],  # C
    ]
    a, b, c, d = tried_fates(fates, named, 0.5)
    assert [(fate.texts, fate.times, fate.consistent) for fate in (a, b, c)] == [
        (5, (3, 3, 1), 3),
        (5, (3, 3, 1), 3),
        (5, (1, 2, 2), 2),
    ]
    # A and B are in 2 of the 4 texts with either, B and C in 1 of 4, and A and C in none.
    assert a.companions == (Companion("B", 2, 4),)
    assert (b.companions, c.companions) == ((), ())
    assert tried_fates(fates, named, 0.25)[1].companions == (Companion("C", 1, 4),)
    assert d == fates[3]


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        (["1"], "1"),
        (["1", "2", "2"], "2"),
        (["1", "3", "6"], "1"),  # two of three include it, equally often as 1 and 3
        (["1", "5", "6", "6"], "6"),
        (["1", "4"], "4"),  # a tie leaves it out
        (["2", None, None], "2"),
        ([None, None], ""),
        ([], ""),
    ],
)
def test_more_than_half_must_include_a_value(codes: list[str | None], code: str) -> None:
    assert code_from(codes) == code


@given(st.lists(st.sampled_from([*CODES, None]), min_size=1, max_size=9))
def test_the_decision_is_one_of_those_given_and_on_the_side_of_most(codes: list[str | None]) -> None:
    read = [code for code in codes if code]
    found = code_from(codes)
    assert found in (read or [""])
    assert (found in INCLUDED) == (2 * sum(code in INCLUDED for code in read) > len(read))
    assert code_from([*codes, None]) == found


def test_decisions_are_reported_with_the_papers_words() -> None:
    codes = {"A": ["1", "2", "2"], "B": ["6", "6", "1"], "C": [None, None, None]}
    fates = [kept("A"), kept("B"), kept("C"), kept("D", kept=False, status="left out", why="before")]
    a, b, c, d = coded_fates(fates, ("ann", "bob", "eve"), codes)
    assert (a.status, a.code, a.codes) == ("in the list", "2", ("1", "2", "2"))
    assert a.why == "3 of 3 include it: inclusion due to relevance and moderate occurrence in everyday dilemmas (2)"
    assert (b.status, b.why) == (
        "left out",
        "1 of 3 include it: omit due to lack of appearances and lack of relevance (6)",
    )
    assert (c.status, c.why) == ("undecided", "no decision on it could be read")
    assert d == fates[3]
    assert not is_decided([a, b, c, d])
    assert is_decided([a, b, d])


@pytest.mark.parametrize(
    ("given", "merges"),
    [
        (["merge"], True),
        (["merge", "apart"], False),
        (["merge", "merge", "apart"], True),
        (["merge", None], True),
        ([None], False),
        ([], False),
    ],
)
def test_more_than_half_must_merge_two_values(given: list[str | None], merges: bool) -> None:
    assert merges_agreed({("A", "B"): given}) == ([("A", "B")] if merges else [])


def test_merging_is_transitive_and_the_value_found_most_often_gives_its_name() -> None:
    fates = [
        listed("A", consistent=3),
        listed("B", consistent=7),
        listed("C", consistent=7),
        kept("D", status="left out", consistent=90),
        listed("E"),
    ]
    made = merged_fates(fates, [("A", "C"), ("B", "C"), ("C", "D")])
    assert [(fate.value, fate.status, fate.merged_into) for fate in made] == [
        ("A", "merged", "B"),
        ("B", "in the list", ""),
        ("C", "merged", "B"),
        ("D", "left out", ""),
        ("E", "in the list", ""),
    ]
    assert list_from(made) == [Value("B", "What B is. This includes A; C."), Value("E", "What E is.")]


def test_a_list_without_definitions_has_none_after_merging() -> None:
    made = merged_fates([listed("A", definition=""), listed("B", definition="")], [("A", "B")])
    assert list_from(made) == [Value("A")]


NAMES = "ABCDEFGH"


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=8),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
    st.randoms(use_true_random=False),
)
def test_the_order_of_merges_does_not_matter_and_no_value_is_lost(
    pairs: list[tuple[str, str]], counts: list[int], chance: Any
) -> None:
    fates = [listed(name, consistent=count) for name, count in zip(NAMES, counts, strict=True)]
    made = merged_fates(fates, pairs)
    assert merged_fates(fates, chance.sample(pairs, len(pairs))) == made
    inside = {fate.value for fate in made if fate.status == "in the list"}
    assert {fate.merged_into for fate in made if fate.status == "merged"} <= inside
    assert [fate.value for fate in made] == list(NAMES)
    for first, second in pairs:
        ends = {fate.value: fate.merged_into or fate.value for fate in made}
        assert ends[first] == ends[second]


def as_plain(fates: Sequence[ValueFate]) -> Any:
    return msgspec.to_builtins(list(fates))


def test_values_stay_unchanged_without_agreement() -> None:
    fates = [listed("A"), listed("B")]
    assert as_plain(merged_fates(fates, [])) == as_plain(fates)
