"""Value occurrence, similarity and inheritance, by hand."""

import math

import polars as pl
import pytest

from overton.studies.deliberation.measures import analyze

from .conftest import by, differences

A, B, C, D = "Accessibility", "Child welfare", "Personal growth", "Social etiquette"


def measured(*tables):
    return analyze(pl.concat(tables), resamples=20)


def by_value(analysis, measure, model):
    """The numbers of a measure by value."""
    found = by(analysis, measure, "pooled / value", model=model)
    return {condition.rpartition(" / ")[2]: one for condition, one in found.items()}


def sides(analysis, measure):
    """Both numbers of a similarity that is compared."""
    facet = "verdicts" if measure == "similarity_by_agreement" else "round"
    found = by(analysis, measure, f"pooled / {facet}")
    return {condition.rpartition(" / ")[2]: one for condition, one in found.items()}


@pytest.fixture
def moving(talk):
    """claude takes over B and C from gpt with its change in round 2; D is new to both, A its own."""
    return talk(
        {"claude": ["NTA", "YTA", "YTA"], "gpt": ["YTA", "YTA", "YTA"]},
        values={"claude": [[A], [A, B, D], [C]], "gpt": [[B, C], [B], []]},
    )


def test_occurrence_is_the_share_of_messages_with_known_values(talk):
    made = measured(talk({"a": ["NTA", "NTA"], "b": ["YTA", "ESH"]}, values={"a": [[A, B], None], "b": [[B], []]}))
    assert {value: one.value for value, one in by_value(made, "value_used", "a").items()} == {A: 1, B: 1}
    found = {value: (one.value, one.n) for value, one in by_value(made, "value_used", "b").items()}
    assert found == {A: (0, 2), B: (0.5, 2)}
    compared = differences(made, "value_used", "pooled / value")
    assert {where[1].rpartition(" / ")[2]: one for where, (one, _) in compared.items()} == {A: -1, B: -0.5}
    assert all((where[0], where[2]) == ("b", "a") for where in compared)
    assert all(test["of"] == 2 for test in made.counts["tests"] if test["measure"] == "value_used")


def test_inherited_are_an_opponents_first_values_used_with_or_after_the_change(moving):
    made = measured(moving)
    assert {value: one.value for value, one in by_value(made, "inherited_value", "claude").items()} == {B: 1, C: 1}
    assert by_value(made, "inherited_value", "gpt") == {}


def test_values_used_before_the_change_or_without_one_are_not_inherited(talk):
    values = {"a": [[A], [B], [C]], "b": [[B, C], [A], [A]]}
    late = talk({"a": ["NTA", "NTA", "YTA"], "b": ["YTA"] * 3}, values=values, dilemma="late")
    never = talk({"a": ["NTA"] * 3, "b": ["YTA"] * 3}, values=values, dilemma="never")
    made = measured(late, never)
    found = {value: (one.value, one.n) for value, one in by_value(made, "inherited_value", "a").items()}
    assert found == {C: (0.5, 2)}
    assert by_value(made, "inherited_value", "b") == {}


def test_as_published_inherited_values_are_new_in_the_last_message_where_verdicts_vary(talk):
    """B is used in between only, D is nobody's; of three deliberations two have a change."""
    values = {"a": [[A], [B], [C, D]], "b": [[B, C], [A], [A]]}
    varied = talk({"a": ["NTA", "YTA", "YTA"], "b": ["YTA"] * 3}, values=values, dilemma="varied")
    unread = talk({"a": ["NTA", None, "NTA"], "b": ["YTA"] * 3}, values=values, dilemma="unread")
    never = talk({"a": ["NTA"] * 3, "b": ["YTA"] * 3}, values=values, dilemma="never")
    made = measured(varied, unread, never)
    found = {value: (one.value, one.n) for value, one in by_value(made, "inherited_as_published", "a").items()}
    assert found == {C: (1, 2)}
    shares = {value: one.value for value, one in by_value(made, "inherited_value", "a").items()}
    assert shares == pytest.approx({B: 1 / 3, C: 1 / 3})
    assert by_value(made, "inherited_as_published", "b") == {}


def test_as_published_unknown_values_count_as_absent(talk):
    said = {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}
    first = talk(said, values={"a": [None, [B]], "b": [[B], [B]]}, dilemma="x")
    last = talk(said, values={"a": [[A], None], "b": [[B], [B]]}, dilemma="y")
    made = measured(first, last)
    found = {value: (one.value, one.n) for value, one in by_value(made, "inherited_as_published", "a").items()}
    assert found == {B: (0.5, 2)}


def test_a_value_in_the_agents_own_round_1_is_not_inherited(talk):
    made = measured(talk({"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}, values={"a": [[A], [A]], "b": [[A], [A]]}))
    assert by_value(made, "inherited_value", "a") == {}


def test_deliberations_whose_first_values_are_unknown_are_left_out_of_inheritance_and_counted(talk):
    known = {"a": [[A], [B]], "b": [[B], [B]]}
    unknown = {"a": [[A], [B]], "b": [None, [B]]}
    said = {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}
    made = measured(talk(said, values=known, dilemma="x"), talk(said, values=unknown, dilemma="y"))
    found = by_value(made, "inherited_value", "a")[B]
    assert (found.value, found.n) == (1, 1)
    assert [(row["model"], row["unknown"]) for row in made.counts["agents_left_out"]] == [("a", 1), ("b", 1)]


def test_similarity_is_the_jaccard_index_by_agreement_and_from_first_to_last_round(moving):
    made = measured(moving)
    found = sides(made, "similarity_by_agreement")
    assert found["different verdicts"].value == 0  # round 1: {A} and {B, C}
    assert found["same verdict"].value == pytest.approx((1 / 3 + 0) / 2)  # {A, B, D} and {B}; {C} and {}
    rows = made.rows_of("similarity_in_round", "pooled / round / verdicts")
    assert [(*row.condition.split(" / ")[-2:], row.n) for row in rows] == [
        ("1", "different verdicts", 1),
        ("1", "same verdict", 0),
        ("2", "different verdicts", 0),
        ("2", "same verdict", 1),
        ("3", "different verdicts", 0),
        ("3", "same verdict", 1),
    ]
    assert [one.value for one in sides(made, "similarity_with_consensus").values()] == [0, 0]
    assert all(math.isnan(one.value) for one in sides(made, "similarity_without_consensus").values())


def test_two_empty_sets_are_left_out_and_counted_and_so_are_unknown_ones(talk):
    made = measured(
        talk({"a": ["NTA"] * 3, "b": ["YTA"] * 3}, values={"a": [[], [A], [A]], "b": [[], None, [A]]}),
    )
    assert [(row["empty"], row["unknown"]) for row in made.counts["pairs_left_out"]] == [(1, 1)]
    different = sides(made, "similarity_by_agreement")["different verdicts"]
    assert (different.value, different.n) == (1, 1)
    total = made.counts["counts"][0]
    assert (total["values_known"], total["values_empty"]) == (5, 2)


def test_first_to_last_is_split_by_consensus(talk):
    values = {"a": [[A], [A, B]], "b": [[B], [B]]}
    made = measured(
        talk({"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}, values=values, dilemma="x"),
        talk({"a": ["NTA", "NTA"], "b": ["YTA", "YTA"]}, values=values, dilemma="y"),
    )
    tests = {test["test"] for test in made.counts["tests"] if test["measure"].startswith("similarity")}
    assert tests == {"Mann-Whitney U", "Wilcoxon signed-rank, over dilemmas"}
    for measure in ("similarity_with_consensus", "similarity_without_consensus"):
        found = sides(made, measure)
        assert {name: (one.value, one.n) for name, one in found.items()} == {"round 1": (0, 1), "last round": (0.5, 1)}


def test_pairs_of_three_agents_are_all_compared(talk):
    values = {"a": [[A]], "b": [[A]], "c": [[B]]}
    made = measured(talk({"a": ["NTA"], "b": ["NTA"], "c": ["YTA"]}, values=values))
    found = {name: (one.value, one.n) for name, one in sides(made, "similarity_by_agreement").items()}
    assert found == {"same verdict": (1, 1), "different verdicts": (0, 2)}


def test_more_values_than_bits_in_a_word_are_distinguished(talk):
    many = [f"value {number:03}" for number in range(130)]
    made = measured(talk({"a": ["NTA"], "b": ["YTA"]}, values={"a": [many], "b": [many[64:]]}))
    assert sides(made, "similarity_by_agreement")["different verdicts"].value == pytest.approx(66 / 130)
    assert [one.value for one in by_value(made, "value_used", "b").values()] == [0.0] * 64 + [1.0] * 66


def test_missing_values_give_a_reason_in_place_of_numbers(talk):
    made = measured(talk({"a": ["NTA"], "b": ["NTA"]}))
    assert made.rows_of("value_used", "pooled / value") == []
    (why,) = [row["why"] for row in made.counts["not_computed"] if row["what"] == "values"]
    assert "judge" in why
