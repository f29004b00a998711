"""Speaking order, goals and the crowd, by hand."""

import polars as pl
import pytest

from overton.studies.deliberation.layouts.influences import steering
from overton.studies.deliberation.layouts.numbers import ReportSource
from overton.studies.deliberation.measures import analyze

from .conftest import by, differences

PAIR = "claude + gpt"


def measured(*tables):
    return analyze(pl.concat(tables), resamples=20)


def missing(analysis):
    return {row["what"]: row["why"] for row in analysis.counts["not_computed"]}


@pytest.fixture
def orders(talk):
    made = []
    for dilemma in "ab":
        made.append(talk({"gpt": ["NTA"], "claude": ["NTA"]}, format="round-robin", dilemma=dilemma))
        made.append(talk({"claude": ["YTA", "NTA"], "gpt": ["NTA", "NTA"]}, format="round-robin", dilemma=dilemma))
    return made


def test_first_speakers_are_compared_by_consensus_in_round_1(orders):
    made = measured(*orders)
    measures = ("led_to_consensus_at_once", "led_to_consensus", "prevailed", "yielded")
    found = {
        model: tuple(
            row.estimate for name in measures for row in made.rows_of(name, "pooled", model=model, against=None)
        )
        for model in made.models
    }
    assert found == {"claude": (0, 1, 0, 1), "gpt": (1, 1, 1, 0)}
    (((model, _, against), (difference, paired)),) = differences(made, "led_to_consensus_at_once", "pooled").items()
    assert (against, model, difference) == ("claude", "gpt", 1)
    assert paired["p"] == 0.5


def test_a_models_changes_are_compared_between_speaking_first_and_later(orders):
    made = measured(*orders)
    changes = {
        model: {
            place.rpartition(" / ")[2]: one.value
            for place, one in by(made, "changed", "pooled / speaks", model=model).items()
        }
        for model in made.models
    }
    assert changes == {"claude": {"first": 1, "later": 0}, "gpt": {"first": 0, "later": 0}}
    found = {where[0]: difference for where, (difference, _) in differences(made, "changed", "pooled / speaks").items()}
    assert found == {"claude": -1, "gpt": 0}


def test_position_counts_and_not_the_order_of_rows(orders):
    assert measured(*orders[::-1]).rows == measured(*orders).rows


def test_synchronous_deliberations_have_no_order(talk):
    made = measured(talk({"a": ["NTA"], "b": ["NTA"]}))
    assert made.rows_of("led_to_consensus", "pooled") == []
    assert "round-robin" in missing(made)["order"]


def test_goals_are_compared_by_model_and_by_consensus(talk):
    said = {
        "correctness": {"a": ["NTA", "NTA"], "b": ["YTA", "YTA"]},
        "balanced": {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]},
    }
    tables = [talk(said[goal], goal=goal, dilemma=dilemma) for goal in said for dilemma in "xyz"]
    made = measured(*tables)
    found = {**differences(made, "changed", "goal"), **differences(made, "consensus", "goal")}
    assert {where[1:] for where in found} == {("synchronous / a + b / balanced", "correctness")}
    assert {where[0]: difference for where, (difference, _) in found.items()} == {"a": 1, "b": 0, None: 1}
    paired = {where[0]: test for where, (_, test) in found.items()}["a"]
    assert (paired["p"], paired["of"], paired["adjusted"]) == (0.25, 3, 0.75)


def test_one_goal_steers_nothing(talk):
    assert "steering" in missing(measured(talk({"a": ["NTA"], "b": ["NTA"]})))


def test_agreement_with_the_crowd_in_the_first_and_last_round(talk):
    made = measured(
        talk({"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}, crowd="YTA", dilemma="x"),
        talk({"a": ["NTA"], "b": ["NTA"]}, crowd="ESH", dilemma="y"),
        talk({"a": ["NTA"], "b": ["NTA"]}, dilemma="z"),
    )
    found = {
        model: tuple(
            one.value for one in by(made, "verdict_is_crowds", "goal / round", "correctness", model=model).values()
        )
        for model in made.models
    }
    assert found == {"a": (0.5, 0), "b": (0.5, 0.5)}  # the last round, then round 1
    (consensus,) = made.rows_of("consensus_is_crowds", "setting")
    assert (consensus.estimate, consensus.n) == (0.5, 2)
    assert made.counts["counts"][0]["crowd_unknown"] == 1


def test_steering_has_the_papers_stars_where_dilemmas_are_bootstrapped(talk):
    """Six deliberations, all changed with one goal and none with the other: z = 3.46, p = 0.0005."""
    said = {"correctness": ["NTA", "NTA"], "balanced": ["NTA", "YTA"]}
    tables = [
        talk({"a": said[goal], "b": ["YTA", "YTA"]}, goal=goal, dilemma=name) for goal in said for name in "uvwxyz"
    ]
    made = analyze(pl.concat(tables), resamples=100, intervals="bootstrap")
    chart = steering(ReportSource(made)).exhibits[0]
    values = {row["star"] for row in chart.spec["data"]["values"] if row["row"] == "a"}
    assert values == {"", "***"}
    plain = steering(ReportSource(measured(*tables))).exhibits[0]
    assert not any("star" in row for row in plain.spec["data"]["values"])
    assert "stars come from the uncorrected test" in chart.description


def test_shares_are_bootstrapped_over_dilemmas(talk):
    tables = [
        talk({"a": ["NTA", last], "b": ["YTA", "YTA"]}, dilemma=name)
        for name, last in zip("uvwxyz", ["NTA", "YTA"] * 3, strict=True)
    ]
    number = analyze(pl.concat(tables), resamples=2_000, intervals="bootstrap").estimate("changed", model="a")
    assert number.method == "percentiles of 2,000 bootstrap samples of dilemmas"
    assert (number.value, number.low, number.high) == (0.5, pytest.approx(1 / 6), pytest.approx(5 / 6))
