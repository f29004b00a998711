"""Consensus, changes of verdict, verdict distributions and archetypes, by hand."""

import polars as pl
import pytest

from overton.studies.deliberation.measures import analyze

from .conftest import by, differences

PAIR = "synchronous / correctness / claude + gpt"


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
    made = measured(*four)
    found = {number: one.value for number, one in by(made, "consensus_in_round", "round").items()}
    assert found == {"1": 0.25, "2": 0.25, "3": 0}
    assert made.estimate("no_consensus").value == 0.5
    assert made.estimate("consensus").value == 0.5
    rounds = made.estimate("rounds_to_consensus")
    assert (rounds.value, rounds.n) == (1.5, 2)


def test_consensus_of_a_majority_is_that_of_the_last_rounds_valid_verdicts(talk):
    """By the authors' code: two of three agree, one of two could not be read. Two against two is not a consensus."""
    said = {
        "two of three": {"a": ["NTA", "NTA"], "b": ["YTA", "NTA"], "c": ["ESH", "ESH"]},
        "one unread": {"a": ["NTA", "NTA"], "b": ["YTA", None]},
        "two of four": {"a": ["NTA"], "b": ["NTA"], "c": ["YTA"], "d": ["ESH"]},
        "one each": {"a": ["NTA"], "b": ["YTA"]},
        "none read": {"a": [None], "b": [None]},
        "all": {"a": ["NTA"], "b": ["NTA"]},
    }
    made = measured(*(talk(verdicts, dilemma=name) for name, verdicts in said.items()))
    assert made.estimate("consensus_by_majority").value == pytest.approx(3 / 6)
    assert made.estimate("consensus").value == pytest.approx(1 / 6)


def test_consensus_on_a_new_verdict_is_on_one_that_no_agent_gave_in_round_1(talk):
    """One of four; where a verdict of round 1 could not be read, it may have been the one agreed on."""
    said = {
        "new": {"a": ["NTA", "ESH"], "b": ["YTA", "ESH"]},
        "a's": {"a": ["NTA", "NTA"], "b": ["YTA", "NTA"]},
        "at once": {"a": ["NTA"], "b": ["NTA"]},
        "never": {"a": ["NTA", "ESH"], "b": ["YTA", "NAH"]},
        "unread": {"a": ["NTA", "ESH"], "b": [None, "ESH"]},
    }
    made = measured(*(talk(verdicts, dilemma=name) for name, verdicts in said.items()))
    share = made.estimate("consensus_on_new")
    assert (share.value, share.n) == (0.25, 4)
    assert made.estimate("consensus").value == pytest.approx(4 / 5)


def test_change_of_verdict_counts_any_later_verdict_that_differs_from_the_first(four):
    made = measured(*four)
    assert made.estimate("changed", model="claude").value == 0.5
    assert made.estimate("changed", model="gpt").value == 0
    ((where, (difference, paired)),) = differences(made, "changed", "setting").items()
    assert where == ("gpt", PAIR, "claude")
    assert difference == -0.5
    assert paired["p"] == pytest.approx(0.5)  # two dilemmas differ, both the same way


def test_archetypes_are_counted_over_deliberations_beyond_round_1(four):
    made = measured(*four)
    assert [row["deliberations"] for row in made.counts["beyond_round_1"]] == [3, 3]
    found = {
        (row["model"], row["measure"], row["first"], row["last"]): row["count"] for row in made.counts["archetypes"]
    }
    assert found == {
        ("claude", "ended_elsewhere", "ESH", "NTA"): 1,
        ("claude", "held_out", "YTA", None): 1,
        ("claude", "unresolved", "YTA", None): 2,
        ("gpt", "held_out", "NTA", None): 2,
        ("gpt", "unresolved", "NTA", None): 2,
    }
    changes = by(made, "ended_elsewhere", "pooled / archetype", PAIR)
    assert {path: one.value for path, one in changes.items()} == {"ESH → NTA": pytest.approx(1 / 3)}
    returned = made.estimate("returned", model="claude", facet="pooled", condition=PAIR)
    assert returned.value == pytest.approx(1 / 3)


def test_verdict_distributions_before_and_after(four):
    made = measured(*four)
    first, last = (
        by(made, measure, "setting / verdict", PAIR, model="claude") for measure in ("first_verdict", "last_verdict")
    )
    assert {name: one.value for name, one in first.items() if one.value} == {"YTA": 0.5, "NTA": 0.25, "ESH": 0.25}
    assert {name: one.value for name, one in last.items() if one.value} == {"YTA": 0.5, "NTA": 0.5}
    assert by(made, "last_verdict", "setting / verdict", PAIR, model="gpt")["NTA"].value == 1
    agreed = by(made, "agreed_verdict", "setting / verdict", PAIR)
    assert {name: one.value for name, one in agreed.items() if one.value} == {"NTA": 0.5, "none": 0.5}


def test_two_invalid_verdicts_do_not_agree_and_are_counted(talk):
    made = measured(talk({"claude": [None, "NTA"], "gpt": [None, "NTA"]}))
    found = by(made, "consensus_in_round", "round")
    assert (found["1"].value, found["2"].value) == (0, 1)
    assert [row["invalid"] for row in made.counts["counts"][:3]] == [2, 1, 1]
    assert by(made, "first_verdict", "setting / verdict", PAIR, model="claude")["invalid"].value == 1
    assert any("could not be read" in row["note"] for row in made.counts["notes"])


def test_an_invalid_verdict_does_not_count_as_a_change_or_as_the_first_verdict(talk):
    made = measured(
        talk({"claude": ["NTA", None, "NTA"], "gpt": [None, "YTA", "ESH"]}, dilemma="a"),
        talk({"claude": ["NTA", None], "gpt": [None, "YTA"]}, dilemma="b"),
    )
    assert made.estimate("changed", model="claude").value == 0
    assert made.estimate("changed", model="gpt").value == 0.5


def test_agents_that_share_a_model_are_pooled_and_agree_only_with_each_other(talk):
    made = measured(talk({"gpt#1": ["NTA", "NTA"], "gpt#2": ["YTA", "NTA"]}))
    assert made.estimate("changed", model="gpt").value == 0.5
    assert made.estimate("changed", model="gpt").n == 2
    assert [(row.model, row.against, row.n) for row in made.rows_of("changed", "setting")] == [("gpt", None, 2)]
    assert not made.rows_of("changed", "setting / place")


def test_agents_that_share_a_model_are_distinguished_by_position_where_they_take_turns(talk):
    made = measured(talk({"gpt#1": ["NTA", "NTA"], "gpt#2": ["YTA", "NTA"]}, format="round-robin"))
    found = by(made, "changed", "setting / place", "round-robin / correctness / gpt + gpt")
    assert {place: one.value for place, one in found.items()} == {"1": 0, "2": 1}
    assert [row.estimate for row in made.rows_of("prevailed", "pooled")] == [1]


def test_a_deliberation_with_a_failed_call_is_left_out_entirely_and_counted(talk):
    failed = talk({"claude": ["YTA"], "gpt": ["NTA"]}, dilemma="x").with_columns(
        failure=pl.when(pl.col("agent") == "gpt").then(pl.lit("timeout: no reply"))
    )
    made = measured(talk({"claude": ["NTA"], "gpt": ["NTA"]}), failed)
    total = made.counts["counts"][0]
    assert (total["deliberations"], total["heard"], total["failed"], total["dilemmas"]) == (1, 1, 1, 1)
    assert any("because a call failed permanently" in row["note"] for row in made.counts["notes"])


def test_a_round_with_a_silent_agent_does_not_count_as_agreement(talk):
    made = measured(talk({"a": ["NTA", "NTA"], "b": ["YTA", "NTA"], "c": ["NTA", "-"]}, format="round-robin"))
    assert made.estimate("no_consensus").value == 1


def test_deliberations_cut_short_and_continued_ones_are_noted(talk):
    made = measured(
        talk({"a": ["NTA"], "b": ["YTA"]}, dilemma="x"),
        talk({"a": ["NTA", "ESH"], "b": ["NTA", "NTA"]}, dilemma="y"),
    )
    total = made.counts["counts"][0]
    assert (total["unfinished"], total["continued"]) == (1, 1)
    assert by(made, "consensus_in_round", "round")["1"].value == 0.5


def test_round_robin_is_compared_with_synchronous_where_the_same_models_had_both(talk):
    made = measured(
        talk({"claude": ["NTA", "NTA"], "gpt": ["YTA", "YTA"]}),
        talk({"gpt": ["YTA"], "claude": ["YTA"]}, format="round-robin"),
    )
    where = {"condition": "both / correctness / claude + gpt / round-robin", "against": "synchronous"}
    assert made.estimate("consensus", facet="format", **where).value == 1
    found = by(made, "consensus", "pooled")
    assert {name.partition(" / ")[0]: one.value for name, one in found.items()} == {"synchronous": 0, "round-robin": 1}


def test_every_pair_and_the_three_of_them_are_settings_of_their_own(talk):
    """Codes of absent seats once made (a, c) and (a, b, c) one."""
    groups = [("a", "b"), ("a", "c"), ("b", "c"), ("a", "b", "c")]
    tables = [talk({model: ["NTA"] for model in group}, dilemma=f"d{number}") for number, group in enumerate(groups)]
    counts = [row for row in measured(*tables).counts["counts"] if row["facet"] == "setting"]
    found = {str(row["condition"]).rpartition(" / ")[2]: row["deliberations"] for row in counts}
    assert found == {" + ".join(group): 1 for group in groups}
