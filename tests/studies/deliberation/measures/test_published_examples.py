"""Appendix F's deliberations, measured by hand."""

from __future__ import annotations

import pytest

from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.measures.results import Setting

SYNCHRONOUS = Setting("synchronous", "correctness", ("claude", "gpt"))
IN_TURN = Setting("round-robin", "correctness", ("gemini", "claude", "gpt"))


@pytest.fixture
def analysis(published):
    return analyze(published, resamples=50)


def test_dilemma_1_agrees_in_round_1_and_dilemma_2_in_round_4(analysis):
    found = dict(analysis.consensus.settings)
    assert {number: one.value for number, one in found[SYNCHRONOUS].by_round.items() if one.value} == {1: 1.0}
    assert {number: one.value for number, one in found[IN_TURN].by_round.items() if one.value} == {4: 1.0}
    assert found[SYNCHRONOUS].rounds.value == 1
    assert found[IN_TURN].rounds.value == 4
    assert analysis.consensus.overall.rounds.value == 2.5
    assert analysis.consensus.overall.without.value == 0


def test_only_gemini_changes_its_verdict(analysis):
    assert {model: rate.value for model, rate in analysis.changes.by_model.items()} == {
        "claude": 0,
        "gemini": 1,
        "gpt": 0,
    }
    assert analysis.changes.by_model["claude"].n == 2
    of_setting = {(one.setting, one.model, one.position): one.rate.value for one in analysis.changes.settings}
    assert of_setting == {
        (SYNCHRONOUS, "claude", None): 0,
        (SYNCHRONOUS, "gpt", None): 0,
        (IN_TURN, "gemini", 1): 1,
        (IN_TURN, "claude", 2): 0,
        (IN_TURN, "gpt", 3): 0,
    }


def test_gemini_goes_from_nta_to_nah_and_nobody_holds_out(analysis):
    (gemini,) = [one for one in analysis.archetypes if one.model == "gemini"]
    assert [(one.first, one.last, one.count) for one in gemini.changes] == [("NTA", "NAH", 1)]
    assert gemini.deliberations == 1
    assert all(not one.holdouts and not one.unresolved for one in analysis.archetypes)


def test_verdicts_before_and_after(analysis):
    verdicts = {one.setting: one for one in analysis.verdicts}
    gemini = verdicts[IN_TURN].speakers[0]
    assert gemini.first["NTA"].value == 1
    assert gemini.last["NAH"].value == 1
    assert verdicts[IN_TURN].agreed["NAH"].value == 1
    assert verdicts[SYNCHRONOUS].agreed["YTA"].value == 1


def test_the_first_speaker_yields(analysis):
    (gemini,) = analysis.order.speakers
    assert (gemini.at_once.value, gemini.reached.value, gemini.prevails.value, gemini.yields.value) == (0, 1, 0, 1)


def test_two_dilemmas_give_no_choice_model_parameter_that_they_cannot_tell(analysis):
    assert analysis.choice[0].decisions == 14
    assert "never changed" in analysis.choice[0].inertia["claude"].reason
