"""Consensus, changes of verdict, verdict distributions and archetypes, by hand."""

import polars as pl
import pytest

from overton.studies.deliberation.measures import analyze
from overton.studies.deliberation.measures.results import Setting

PAIR = Setting("synchronous", "correctness", ("claude", "gpt"))


def measured(*tables, **how):
    return analyze(pl.concat(tables), resamples=20, **how)


@pytest.fixture
def four(talk):
    """One agrees at once, one in round 2, two never; claude changes in two, gpt in none."""
    return [
        talk({"claude": ["NTA"], "gpt": ["NTA"]}, dilemma="a"),
        talk({"claude": ["ESH", "NTA"], "gpt": ["NTA", "NTA"]}, dilemma="b"),
        talk({"claude": ["YTA", "YTA", "YTA"], "gpt": ["NTA", "NTA", "NTA"]}, dilemma="c"),
        talk({"claude": ["YTA", "ESH", "YTA"], "gpt": ["NTA", "NTA", "NTA"]}, dilemma="d"),
    ]


def test_rounds_to_consensus_and_the_share_without(four):
    overall = measured(*four).consensus.overall
    assert {number: one.value for number, one in overall.by_round.items()} == {1: 0.25, 2: 0.25, 3: 0}
    assert overall.without.value == 0.5
    assert overall.reached.value == 0.5
    assert overall.rounds.value == 1.5
    assert overall.rounds.n == 2


def test_consensus_of_a_majority_is_that_of_the_last_rounds_valid_verdicts(talk):
    """By the authors' code: two of three agree, one of two could not be read; two against two is none."""
    said = {
        "two of three": {"a": ["NTA", "NTA"], "b": ["YTA", "NTA"], "c": ["ESH", "ESH"]},
        "one unread": {"a": ["NTA", "NTA"], "b": ["YTA", None]},
        "two of four": {"a": ["NTA"], "b": ["NTA"], "c": ["YTA"], "d": ["ESH"]},
        "one each": {"a": ["NTA"], "b": ["YTA"]},
        "none read": {"a": [None], "b": [None]},
        "all": {"a": ["NTA"], "b": ["NTA"]},
    }
    overall = measured(*(talk(verdicts, dilemma=name) for name, verdicts in said.items())).consensus.overall
    assert overall.majority.value == pytest.approx(3 / 6)
    assert overall.reached.value == pytest.approx(1 / 6)


def test_change_of_verdict_counts_any_later_verdict_that_differs_from_the_first(four):
    changes = measured(*four).changes
    assert changes.by_model["claude"].value == 0.5
    assert changes.by_model["gpt"].value == 0
    ((setting, contrast),) = changes.contrasts
    assert setting == PAIR
    assert (contrast.first_name, contrast.second_name) == ("claude", "gpt")
    assert contrast.difference.value == -0.5
    assert contrast.paired.p == pytest.approx(0.5)  # two dilemmas differ, both the same way


def test_archetypes_are_counted_over_deliberations_beyond_round_1(four):
    claude, gpt = measured(*four).archetypes
    assert claude.deliberations == 3
    assert [(one.first, one.last, one.share.value) for one in claude.changes] == [("ESH", "NTA", pytest.approx(1 / 3))]
    assert claude.returned.value == pytest.approx(1 / 3)
    assert [(one.first, one.last, one.count) for one in claude.holdouts] == [("YTA", None, 1)]
    assert [(one.first, one.count) for one in claude.unresolved] == [("YTA", 2)]
    assert [(one.first, one.count) for one in gpt.holdouts] == [("NTA", 2)]


def test_verdict_distributions_before_and_after(four):
    (found,) = measured(*four).verdicts
    claude, gpt = found.speakers
    assert {name: one.value for name, one in claude.first.items() if one.value} == {
        "YTA": 0.5,
        "NTA": 0.25,
        "ESH": 0.25,
    }
    assert {name: one.value for name, one in claude.last.items() if one.value} == {"YTA": 0.5, "NTA": 0.5}
    assert gpt.last["NTA"].value == 1
    assert found.agreed["NTA"].value == 0.5
    assert found.without.value == 0.5


def test_two_invalid_verdicts_do_not_agree_and_are_counted(talk):
    made = measured(talk({"claude": [None, "NTA"], "gpt": [None, "NTA"]}))
    assert made.consensus.overall.by_round[1].value == 0
    assert made.consensus.overall.by_round[2].value == 1
    assert made.tally.invalid == {"claude": 1, "gpt": 1}
    assert made.verdicts[0].speakers[0].first["invalid"].value == 1
    assert any("could not be read" in note for note in made.notes)


def test_an_invalid_verdict_is_no_change_and_the_first_valid_one_is_the_first(talk):
    made = measured(
        talk({"claude": ["NTA", None, "NTA"], "gpt": [None, "YTA", "ESH"]}, dilemma="a"),
        talk({"claude": ["NTA", None], "gpt": [None, "YTA"]}, dilemma="b"),
    )
    assert made.changes.by_model["claude"].value == 0
    assert made.changes.by_model["gpt"].value == 0.5


def test_agents_that_share_a_model_are_pooled_and_agree_only_with_each_other(talk):
    made = measured(talk({"gpt#1": ["NTA", "NTA"], "gpt#2": ["YTA", "NTA"]}))
    assert made.changes.by_model["gpt"].value == 0.5
    assert made.changes.by_model["gpt"].n == 2
    assert [(one.model, one.position, one.rate.n) for one in made.changes.settings] == [("gpt", None, 2)]
    assert not made.changes.contrasts


def test_agents_that_share_a_model_are_distinguished_by_position_where_they_take_turns(talk):
    made = measured(talk({"gpt#1": ["NTA", "NTA"], "gpt#2": ["YTA", "NTA"]}, format="round-robin"))
    assert [(one.position, one.rate.value) for one in made.changes.settings] == [(1, 0), (2, 1)]
    assert made.order.speakers[0].prevails.value == 1


def test_a_deliberation_with_a_failed_call_is_left_out_entirely_and_counted(talk):
    failed = talk({"claude": ["YTA"], "gpt": ["NTA"]}, dilemma="x").with_columns(
        failure=pl.when(pl.col("agent") == "gpt").then(pl.lit("timeout: no reply"))
    )
    made = measured(talk({"claude": ["NTA"], "gpt": ["NTA"]}), failed)
    assert made.consensus.overall.deliberations == 1
    assert made.tally.failed == 1
    assert made.tally.dilemmas == 1
    assert any("left out entirely" in note for note in made.notes)


def test_a_round_in_which_somebody_did_not_speak_is_no_agreement(talk):
    made = measured(talk({"a": ["NTA", "NTA"], "b": ["YTA", "NTA"], "c": ["NTA", "-"]}, format="round-robin"))
    assert made.consensus.overall.without.value == 1


def test_deliberations_cut_short_and_continued_ones_are_noted(talk):
    made = measured(
        talk({"a": ["NTA"], "b": ["YTA"]}, dilemma="x"),
        talk({"a": ["NTA", "ESH"], "b": ["NTA", "NTA"]}, dilemma="y"),
    )
    assert (made.tally.unfinished, made.tally.continued) == (1, 1)
    assert made.consensus.overall.by_round[1].value == 0.5


def test_round_robin_is_compared_with_synchronous_where_the_same_models_had_both(talk):
    made = measured(
        talk({"claude": ["NTA", "NTA"], "gpt": ["YTA", "YTA"]}),
        talk({"gpt": ["YTA"], "claude": ["YTA"]}, format="round-robin"),
    )
    ((setting, contrast),) = made.consensus.formats
    assert setting.agents == ("claude", "gpt")
    assert (contrast.first.value, contrast.second.value, contrast.difference.value) == (0, 1, 1)


def test_every_pair_and_the_three_of_them_are_settings_of_their_own(talk):
    """Codes of absent seats once made (a, c) and (a, b, c) one."""
    groups = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tables = [talk({model: ["NTA"] for model in group}, dilemma=f"d{number}") for number, group in enumerate(groups)]
    found = {setting.agents: one.deliberations for setting, one in measured(*tables).consensus.settings}
    assert found == dict.fromkeys(groups, 1)
