"""Samples of rows to label, their probabilities, and how rows are dealt to people."""

from __future__ import annotations

from collections import Counter

import pytest

from overton.errors import InputError
from overton.judging.label_tasks import choose_units, deal_units

GIVEN = [None if place % 10 == 9 else "rare" if place % 50 == 0 else "common" for place in range(1000)]
GROUPS = [f"talk-{place // 20}" for place in range(1000)]


def test_a_plain_draw_has_one_chance_for_all_labelled_rows() -> None:
    taken = choose_units(GIVEN, GROUPS, size=90, seed=2)
    assert len(taken) == 90
    assert {chance for _, chance in taken} == {90 / 900}
    assert all(GIVEN[place] for place, _ in taken)
    assert taken == choose_units(GIVEN, GROUPS, size=90, seed=2) != choose_units(GIVEN, GROUPS, size=90, seed=3)


def test_a_stratified_draw_has_a_chance_for_each_label() -> None:
    taken = choose_units(GIVEN, GROUPS, size=100, design="stratified")
    assert Counter(GIVEN[place] for place, _ in taken) == {"rare": 20, "common": 80}
    assert {(GIVEN[place], chance) for place, chance in taken} == {("rare", 1.0), ("common", 80 / 880)}


def test_whole_groups_are_drawn_with_every_labelled_row_in_order() -> None:
    taken = choose_units(GIVEN, GROUPS, size=50, seed=1, design="whole")
    names = list(dict.fromkeys(GROUPS[place] for place, _ in taken))
    assert len(names) == 3  # 18 labelled rows each
    for name in names:
        rows = [place for place, _ in taken if GROUPS[place] == name]
        assert rows == [place for place, group in enumerate(GROUPS) if group == name and GIVEN[place]]
    assert {chance for _, chance in taken} == {3 / 50}


def test_whole_groups_are_sampled_with_the_stated_probability_at_any_length() -> None:
    groups = ["long"] * 40 + [f"short-{number}" for number in range(10)]
    draws = [choose_units(["x"] * 50, groups, size=15, seed=seed, design="whole") for seed in range(400)]
    (chance,) = {chance for taken in draws for _, chance in taken}
    held = sum(any(groups[place] == "long" for place, _ in taken) for taken in draws) / len(draws)
    assert chance == 4 / 11
    assert held == pytest.approx(chance, abs=0.07)  # three standard errors


def test_impossible_samples_are_refused_in_every_design() -> None:
    for design in ("plain", "stratified", "whole"):
        with pytest.raises(InputError, match="must be 1 or more"):
            choose_units(GIVEN, GROUPS, size=0, design=design)
        with pytest.raises(InputError, match="no labelled unit"):
            choose_units([None], ["a"], design=design)


def test_shared_rows_go_to_everybody_and_the_others_to_one_person_each() -> None:
    pages = deal_units(["g"] * 100, people=3, shared=31, seed=5)
    assert [len(page) for page in pages] == [54, 54, 54]
    everybody = set(pages[0]) & set(pages[1]) & set(pages[2])
    assert everybody == set(range(31))
    assert Counter(place for page in pages for place in page) == {place: 3 if place < 31 else 1 for place in range(100)}


def test_each_order_is_a_persons_own() -> None:
    first, second = deal_units(["g"] * 40, people=2, shared=40)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(40))
    assert list(first) != sorted(first)


def test_whole_groups_stay_together_in_the_runs_order_and_are_shared_whole() -> None:
    groups = [name for name, length in zip("abcdefg", (5, 8, 8, 2, 9, 4, 6), strict=True) for _ in range(length)]
    pages = deal_units(groups, people=2, shared=10, seed=3, whole=True)
    for page in pages:
        runs = [groups[place] for place in page]
        assert len(dict.fromkeys(runs)) == sum(one != before for one, before in zip(runs, [None, *runs], strict=False))
        for name in set(runs):
            mine = [place for place in page if groups[place] == name]
            assert mine == sorted(mine) == [place for place, group in enumerate(groups) if group == name]
    shared = set(pages[0]) & set(pages[1])
    assert {groups[place] for place in shared} == {"a", "b"}
    assert abs(len(pages[0]) - len(pages[1])) <= 9


def test_one_person_gets_every_row_and_none_is_too_few() -> None:
    (page,) = deal_units(["g"] * 12, people=1)
    assert sorted(page) == list(range(12))
    with pytest.raises(InputError, match="--people"):
        deal_units(["g"], people=0)
    with pytest.raises(InputError, match="--shared"):
        deal_units(["g"], shared=-1)
