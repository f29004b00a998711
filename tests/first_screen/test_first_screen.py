"""The first screen contradicts neither its numbers nor the truth about the respondent."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from .checks import charts_that_leave_their_axes, false_claims, faults, seen
from .respondents import EVERYONE, STUDIES, UNEQUAL, Respondent
from .screens import Screen, only_what_is_shown_first, screen

SIZES = (12, 5, 3, 8, 12, 30, 60, 3, 12, 5, 8, 5, 12, 12, 5, 8, 12, 3, 30, 5)
"""Items of 20 runs, so that each of seven respondents by turns has few and many."""
FEW = 7
"""Runs in which each respondent has its turn."""
RUNS, MOST = 400, 30
"""A claim of change where there is none occurs in at most 5% of runs: in more than 30 of 400 not by chance."""


def screens(study: str, runs: int) -> Iterator[Screen]:
    """By turns, every respondent of the study; every fourth run is of two models."""
    some = STUDIES[study]
    for seed, items in enumerate(SIZES[:runs]):
        both = some[seed % len(some)], some[(seed + 1 + seed // len(some)) % len(some)]
        yield screen(seed, items, *both[: 1 if study == "deliberation" or seed % 4 else 2])


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("runs", "most"), [(FEW, 1), pytest.param(len(SIZES), 2, marks=pytest.mark.long)])
@pytest.mark.parametrize("study", STUDIES)
def test_sentences_give_their_own_numbers_and_none_denies_another(study: str, runs: int, most: int) -> None:
    found, untrue = list[str](), list[str]()
    with only_what_is_shown_first():
        for one in screens(study, runs):
            found += faults(one)
            untrue += list(false_claims(one))[:1]
    assert not found, f"{len(found)} faults:\n" + "\n".join(dict.fromkeys(found))
    assert len(untrue) <= most, "\n".join(untrue)


@pytest.mark.parametrize("study", STUDIES)
def test_screens_of_many_runs_lack_no_sentence_and_no_estimate(study: str) -> None:
    moved = next(one for one in STUDIES[study] if one.name == "moved")
    whole = screen(0, 12, moved)
    with only_what_is_shown_first():
        some = screen(0, 12, moved)
        assert str(some) == str(whole)
        assert [one.estimate for one in seen(some)] == [one.estimate for one in seen(whole)]


@pytest.mark.parametrize("respondent", EVERYONE, ids=str)
def test_charts_draw_every_number_within_their_axes(respondent: Respondent) -> None:
    found = list(charts_that_leave_their_axes(screen(1, 2 if respondent.still else 6, respondent)))
    assert not found, "\n".join(found)


def test_a_coin_that_lands_on_either_side_leans_to_none() -> None:
    """Of six answers an issue, ties and small majorities among them."""
    coin = next(one for one in STUDIES["open-mindedness"] if one.name == "coin")
    said = [one.sentence for seed in range(3) for one in screen(seed, 12, coin).findings if "Without" in one.sentence]
    leaning = [int(count) for one in said for count in re.findall(r"(?:leans|answers) (?:pro|con) on (\d+)", one)]
    assert len(said) == 3
    assert sum(leaning) <= 6, said


@pytest.mark.long
def test_tastes_of_unequal_strength_are_not_told_as_inertia() -> None:
    untrue = [list(false_claims(screen(seed, 200, UNEQUAL))) for seed in range(3)]
    assert sum(map(bool, untrue)) <= 1, untrue


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("respondent", [one for one in EVERYONE if one.name in {"coin", "unmoved"}], ids=str)
def test_no_change_is_claimed_of_a_model_that_nothing_moves(respondent: Respondent) -> None:
    with only_what_is_shown_first():
        runs = (screen(seed, (12, 5, 30)[seed % 3], respondent) for seed in range(RUNS))
        untrue = [told for one in runs if (told := list(false_claims(one)))]
    print(f"{respondent}: {len(untrue)} of {RUNS} runs have a false claim")
    assert len(untrue) <= MOST, f"{len(untrue)} of {RUNS} runs, such as\n" + "\n".join(untrue[0])
