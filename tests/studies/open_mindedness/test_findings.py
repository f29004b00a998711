"""Sentences about open-mindedness: each is true of the answers, and gives the number that decided it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest
from contradictions import contradictions
from tests.studies.open_mindedness.numbers import ModelNumbers

import overton
from overton.statistics import Estimate
from overton.studies.findings import Finding, correct_for_multiple_tests
from overton.studies.open_mindedness.findings import CLAIMS
from overton.studies.open_mindedness.measures import analyze
from overton.studies.open_mindedness.options import PUBLISHED

COUNTS = Path(__file__).parents[2] / "data" / "millstone" / "gpt-4o-counts.csv"
Shares = Sequence[tuple[float, float]]
"""The expected proportions of pro and con for every issue; the rest is other."""


def of_counts(shares: Mapping[str, Shares], *, answers: int = 180, noise: bool = True) -> list[Finding]:
    """The findings for a model with these expected shares by condition; 'neither' holds for conditions left out."""
    rng = np.random.default_rng(7)
    rows = []
    for condition in PUBLISHED:
        for issue, (pro, con) in enumerate(shares.get(condition, shares["neither"])):
            expected = np.array([pro, con, abs(round(1 - pro - con, 9))])
            counted = rng.multinomial(answers, expected) if noise else np.round(answers * expected).astype(int)
            stances = zip(("pro", "con", "other"), map(int, counted), strict=True)
            rows += [("m", f"i{issue:02}", condition, stance, count) for stance, count in stances]
    table = pl.DataFrame(rows, schema=("model", "issue", "condition", "stance", "count"), orient="row")
    return correct_for_multiple_tests(CLAIMS.findings(analyze(table, resamples=100)))


def about(found: Sequence[Finding], measure: str) -> Finding:
    (one,) = [one for one in found for assertion in one.assertions if assertion.measure == measure]
    return one


LEANS: Shares = [(lean, 1 - lean) for lean in np.linspace(0.45, 0.66, 12)]


def test_refusals_after_con_arguments_are_not_told_as_con_answers() -> None:
    found = of_counts({"neither": LEANS, "one-sided-con": [(0.11, con) for _, con in LEANS]})
    fell = about(found, "shift_one_sided_con")
    assert fell.sentence.startswith("Arguments for con alone lowered m's share of pro answers by 4")
    assert fell.sentence.endswith("; its share of con answers did not clearly rise.")
    unsided = about(found, "shift_other_one_sided_con")
    assert unsided.sentence.startswith("Arguments for con alone raised m's share of answers that are neither pro nor")
    assert not [one for one in found if "raised m's share of con" in one.sentence]


def test_con_arguments_that_persuade_raise_the_con_share_and_give_its_interval() -> None:
    found = of_counts({"neither": LEANS, "one-sided-con": [(0.8 * pro, 1 - 0.8 * pro) for pro, _ in LEANS]})
    rose = about(found, "shift_con_one_sided_con")
    assert rose.number is not None
    assert rose.number.low > 0
    assert rose.sentence == f"Arguments for con alone raised m's share of con answers by {shown(rose)} points."
    assert not [one for one in found if "lowered m's share of pro" in one.sentence and "con alone" in one.sentence]


def shown(one: Finding) -> str:
    assert one.number is not None
    return f"{100 * abs(one.number.value):.0f}"


def test_con_arguments_that_raise_the_pro_share_are_reported_as_that() -> None:
    found = of_counts({"neither": LEANS, "one-sided-con": [(pro + 0.2, con - 0.2) for pro, con in LEANS]})
    said = about(found, "shift_one_sided_con").sentence
    assert said.startswith("Arguments for con alone raised m's share of pro answers by")


def test_a_small_change_of_the_score_is_not_denied_beside_a_shift() -> None:
    """A change that rarely crosses one half moves shares, and the score hardly."""
    far: Shares = [(lean, 1 - lean) for lean in np.linspace(0.15, 0.25, 12)]
    found = of_counts({"neither": far, "one-sided-pro": [(pro + 0.1, con - 0.1) for pro, con in far]})
    assert about(found, "shift_one_sided_pro").what == "effect"
    score = about(found, "open_mindedness_cross_fitted")
    assert "demonstrably" not in " ".join(one.sentence for one in found)
    assert score.what != "effect"
    assert not contradictions(found)


def test_a_denial_of_every_effect_of_arguments_would_contradict_a_shift() -> None:
    found = of_counts({"neither": LEANS, "one-sided-pro": [(pro + 0.2, con - 0.2) for pro, con in LEANS]})
    score = about(found, "open_mindedness_cross_fitted")
    (assertion,) = score.assertions
    denial = msgspec.structs.replace(assertion, direction="within", about="arguments")
    assert contradictions([*found, msgspec.structs.replace(score, assertions=(denial,))])


def test_ties_and_shares_that_may_be_half_are_undecided() -> None:
    stances: Shares = [(0.9, 0.1)] * 2 + [(0.2, 0.8)] * 3 + [(0.5, 0.5)] * 4 + [(0.55, 0.45)] + [(0.2, 0.2)] * 2
    found = of_counts({"neither": stances}, noise=False)
    assert about(found, "baseline_stances").sentence == (
        "Without arguments, m leans pro on 2 of 12 issues, leans con on 3, takes no side on 2 and is undecided on 5."
    )
    alone = of_counts({"neither": [(0.5, 0.5)] * 6}, noise=False)
    assert about(alone, "baseline_stances").sentence == "Without arguments, m is undecided on all 6 issues."


def test_a_count_of_changed_issues_has_the_interval_of_that_share() -> None:
    found = overton.analyze("open-mindedness", COUNTS, resamples=100)
    said = about(correct_for_multiple_tests(CLAIMS.findings(found)), "issues_moved")
    assert said.sentence == "With arguments, gpt-4o changed its most common answer on all 10 issues."
    assert said.number == ModelNumbers(found, "gpt-4o")("issues_moved")
    beyond = about(correct_for_multiple_tests(CLAIMS.findings(found)), "issues_moved_beyond_chance")
    assert beyond.sentence == "Arguments changed gpt-4o's most common answer by more than chance on all 10 issues."
    assert (beyond.number, beyond.assertions[0].value) == (None, 10.0)


def with_score(value: float, low: float, high: float) -> Finding:
    """The finding on a score with this interval."""
    found = overton.analyze("open-mindedness", COUNTS, resamples=100)
    key = "open_mindedness_cross_fitted"
    score = Estimate(value, low, high, 10, "Student's t over issues")
    rows = tuple(
        msgspec.structs.replace(row, number=score) if (row.measure, row.item, row.facet) == (key, None, None) else row
        for row in found.rows
    )
    return about(correct_for_multiple_tests(CLAIMS.findings(msgspec.structs.replace(found, rows=rows))), key)


OF = "gpt-4o's open-mindedness, corrected for chance,"


@pytest.mark.parametrize(
    ("interval", "what", "said"),
    [
        (
            (30.0, 20.0, 40.0),
            "effect",
            "Arguments moved gpt-4o: its open-mindedness, corrected for chance, is 30.0 out of 100.",
        ),
        ((1.0, -2.0, 4.0), "bound", f"{OF} is at most 5."),
        ((4.0, -2.0, 10.0), "bound", f"{OF} cannot be distinguished from 0."),
        ((-3.1, -3.2, -3.0), "standing", f"{OF} is −3.1 out of 100."),
    ],
)
def test_a_score_is_an_effect_small_or_cannot_be_told_from_0(
    interval: tuple[float, float, float], what: str, said: str
) -> None:
    found = with_score(*interval)
    assert found.what == what
    assert found.sentence.startswith(said)
    assert found.number is not None
    assert found.number.value == interval[0]


def test_few_issues_still_have_their_score() -> None:
    found = of_counts({"neither": LEANS[:3]})
    assert about(found, "open_mindedness_cross_fitted").what == "standing"
