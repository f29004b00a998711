"""Speaking order, goals and the crowd, by hand."""

import polars as pl
import pytest

from overton.studies.deliberation.measures import analyze


def measured(*tables):
    return analyze(pl.concat(tables), resamples=20)


@pytest.fixture
def orders(talk):
    made = []
    for dilemma in "ab":
        made.append(talk({"gpt": ["NTA"], "claude": ["NTA"]}, format="round-robin", dilemma=dilemma))
        made.append(talk({"claude": ["YTA", "NTA"], "gpt": ["NTA", "NTA"]}, format="round-robin", dilemma=dilemma))
    return made


def test_first_speakers_are_compared_by_consensus_in_round_1(orders):
    order = measured(*orders).order
    found = {
        one.model: (one.at_once.value, one.reached.value, one.prevails.value, one.yields.value)
        for one in order.speakers
    }
    assert found == {"claude": (0, 1, 0, 1), "gpt": (1, 1, 1, 0)}
    ((_, contrast),) = order.at_once
    assert (contrast.first_name, contrast.second_name, contrast.difference.value) == ("claude", "gpt", 1)
    assert contrast.paired.p == 0.5


def test_a_models_changes_are_compared_between_speaking_first_and_later(orders):
    changes = {model: contrast for _, model, contrast in measured(*orders).order.changes}
    assert (changes["claude"].first.value, changes["claude"].second.value) == (1, 0)
    assert (changes["gpt"].first.value, changes["gpt"].second.value) == (0, 0)


def test_position_counts_and_not_the_order_of_rows(orders):
    assert measured(*orders[::-1]).order == measured(*orders).order


def test_synchronous_deliberations_have_no_order(talk):
    made = measured(talk({"a": ["NTA"], "b": ["NTA"]}))
    assert made.order is None
    assert "round-robin" in made.not_computed["order"]


def test_goals_are_compared_by_model_and_by_consensus(talk):
    said = {
        "correctness": {"a": ["NTA", "NTA"], "b": ["YTA", "YTA"]},
        "balanced": {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]},
    }
    tables = [talk(said[goal], goal=goal, dilemma=dilemma) for goal in said for dilemma in "xyz"]
    found = {one.model: one.contrast for one in measured(*tables).steering}
    assert (found["a"].first_name, found["a"].second_name) == ("correctness", "balanced")
    assert {model: one.difference.value for model, one in found.items()} == {"a": 1, "b": 0, None: 1}
    assert found["a"].paired.p == 0.25
    assert found["a"].paired.of == 3
    assert found["a"].paired.adjusted == 0.75


def test_one_goal_steers_nothing(talk):
    assert "steering" in measured(talk({"a": ["NTA"], "b": ["NTA"]})).not_computed


def test_agreement_with_the_crowd_in_the_first_and_last_round(talk):
    made = measured(
        talk({"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}, crowd="YTA", dilemma="x"),
        talk({"a": ["NTA"], "b": ["NTA"]}, crowd="ESH", dilemma="y"),
        talk({"a": ["NTA"], "b": ["NTA"]}, dilemma="z"),
    )
    found = {one.model: (one.contrast.first.value, one.contrast.second.value) for one in made.crowd.models}
    assert found == {"a": (0, 0.5), "b": (0.5, 0.5)}
    ((_, consensus),) = made.crowd.settings
    assert (consensus.value, consensus.n) == (0.5, 2)
    assert made.crowd.unknown == 1
