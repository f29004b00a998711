"""Appendix F's deliberations, measured by hand."""

from __future__ import annotations

import pytest

from overton.studies.deliberation.measures import analyze

from .conftest import by

SYNCHRONOUS = "synchronous / correctness / claude + gpt"
IN_TURN = "round-robin / correctness / gemini + claude + gpt"
POOLED = "round-robin / correctness / claude + gemini + gpt"


@pytest.fixture
def analysis(published):
    return analyze(published, resamples=50)


def test_dilemma_1_agrees_in_round_1_and_dilemma_2_in_round_4(analysis):
    for setting, round_ in ((SYNCHRONOUS, "1"), (IN_TURN, "4")):
        found = by(analysis, "consensus_in_round", "setting / round", setting)
        assert {number: one.value for number, one in found.items() if one.value} == {round_: 1.0}
        rounds = analysis.estimate("rounds_to_consensus", facet="setting", condition=setting)
        assert rounds.value == int(round_)
    assert analysis.estimate("rounds_to_consensus").value == 2.5
    assert analysis.estimate("no_consensus").value == 0


def test_only_gemini_changes_its_verdict(analysis):
    rates = {model: analysis.estimate("changed", model=model) for model in analysis.models}
    assert {model: rate.value for model, rate in rates.items()} == {"claude": 0, "gemini": 1, "gpt": 0}
    assert rates["claude"].n == 2
    both = {(row.model, row.condition): row.estimate for row in analysis.rows_of("changed", "setting", against=None)}
    assert (both["claude", SYNCHRONOUS], both["gpt", SYNCHRONOUS]) == (0, 0)
    in_turn = {(row.model, row.condition): row.estimate for row in analysis.rows_of("changed", "setting / place")}
    assert in_turn == {
        ("gemini", f"{IN_TURN} / 1"): 1,
        ("claude", f"{IN_TURN} / 2"): 0,
        ("gpt", f"{IN_TURN} / 3"): 0,
    }


def test_gemini_goes_from_nta_to_nah_without_holdouts(analysis):
    found = [(row["model"], row["measure"], row["archetype"], row["count"]) for row in analysis.counts["archetypes"]]
    assert found == [("gemini", "ended_elsewhere", "NTA → NAH", 1)]
    beyond = {(row["model"], row["condition"]): row["deliberations"] for row in analysis.counts["beyond_round_1"]}
    assert beyond["gemini", POOLED] == 1


def test_verdicts_before_and_after(analysis):
    facet = "setting / place / verdict"
    assert by(analysis, "first_verdict", facet, f"{IN_TURN} / 1", model="gemini")["NTA"].value == 1
    assert by(analysis, "last_verdict", facet, f"{IN_TURN} / 1", model="gemini")["NAH"].value == 1
    for setting, verdict in ((IN_TURN, "NAH"), (SYNCHRONOUS, "YTA")):
        assert by(analysis, "agreed_verdict", "setting / verdict", setting)[verdict].value == 1


def test_the_first_speaker_yields(analysis):
    measures = ("led_to_consensus_at_once", "led_to_consensus", "prevailed", "yielded")
    found = {measure: analysis.rows_of(measure, "pooled") for measure in measures}
    assert all([row.model for row in rows] == ["gemini"] for rows in found.values())
    assert tuple(rows[0].estimate for rows in found.values()) == (0, 1, 0, 1)


def test_two_dilemmas_give_no_choice_model_parameter_that_they_cannot_tell(analysis):
    assert [fit["decisions"] for fit in analysis.counts["fits"]] == [14]
    (claude,) = analysis.rows_of("inertia", "goal", model="claude")
    assert "never changed" in claude.why
