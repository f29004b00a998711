"""Value occurrence, similarity and inheritance, by hand."""

import math

import polars as pl
import pytest

from overton.studies.deliberation.measures import analyze

A, B, C, D = "Accessibility", "Child welfare", "Personal growth", "Social etiquette"


def measured(*tables):
    return analyze(pl.concat(tables), resamples=20)


@pytest.fixture
def moving(talk):
    """claude takes over B and C from gpt with its change in round 2; D is new to both, A its own."""
    return talk(
        {"claude": ["NTA", "YTA", "YTA"], "gpt": ["YTA", "YTA", "YTA"]},
        values={"claude": [[A], [A, B, D], [C]], "gpt": [[B, C], [B], []]},
    )


def test_occurrence_is_the_share_of_messages_with_known_values(talk):
    made = measured(talk({"a": ["NTA", "NTA"], "b": ["YTA", "ESH"]}, values={"a": [[A, B], None], "b": [[B], []]}))
    (use,) = made.values.use
    assert {value: one.value for value, one in use.models["a"].items()} == {A: 1, B: 1}
    assert {value: (one.value, one.n) for value, one in use.models["b"].items()} == {A: (0, 2), B: (0.5, 2)}
    assert {value: one.difference.value for value, one in use.differences} == {A: -1, B: -0.5}
    assert all(one.unpaired.of == 2 for _, one in use.differences)


def test_inherited_are_an_opponents_first_values_used_with_or_after_the_change(moving):
    claude, gpt = measured(moving).values.inheritance
    assert {value: one.value for value, one in claude.values.items()} == {B: 1, C: 1}
    assert gpt.values == {}


def test_values_used_before_the_change_or_without_one_are_not_inherited(talk):
    values = {"a": [[A], [B], [C]], "b": [[B, C], [A], [A]]}
    late = talk({"a": ["NTA", "NTA", "YTA"], "b": ["YTA"] * 3}, values=values, dilemma="late")
    never = talk({"a": ["NTA"] * 3, "b": ["YTA"] * 3}, values=values, dilemma="never")
    a, b = measured(late, never).values.inheritance
    assert {value: (one.value, one.n) for value, one in a.values.items()} == {C: (0.5, 2)}
    assert b.values == {}


def test_as_published_inherited_is_what_is_new_in_the_last_message_where_verdicts_vary(talk):
    """B is used in between only, D is nobody's; of three deliberations two have a change."""
    values = {"a": [[A], [B], [C, D]], "b": [[B, C], [A], [A]]}
    varied = talk({"a": ["NTA", "YTA", "YTA"], "b": ["YTA"] * 3}, values=values, dilemma="varied")
    unread = talk({"a": ["NTA", None, "NTA"], "b": ["YTA"] * 3}, values=values, dilemma="unread")
    never = talk({"a": ["NTA"] * 3, "b": ["YTA"] * 3}, values=values, dilemma="never")
    a, b = measured(varied, unread, never).values.inheritance
    assert {value: (one.value, one.n) for value, one in a.as_published.items()} == {C: (1, 2)}
    assert {value: one.value for value, one in a.values.items()} == pytest.approx({B: 1 / 3, C: 1 / 3})
    assert b.as_published == {}


def test_as_published_unknown_values_are_none(talk):
    said = {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}
    first = talk(said, values={"a": [None, [B]], "b": [[B], [B]]}, dilemma="x")
    last = talk(said, values={"a": [[A], None], "b": [[B], [B]]}, dilemma="y")
    a, _ = measured(first, last).values.inheritance
    assert {value: (one.value, one.n) for value, one in a.as_published.items()} == {B: (0.5, 2)}


def test_a_value_in_the_agents_own_round_1_is_not_inherited(talk):
    made = measured(talk({"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}, values={"a": [[A], [A]], "b": [[A], [A]]}))
    assert made.values.inheritance[0].values == {}


def test_deliberations_whose_first_values_are_unknown_are_left_out_of_inheritance_and_counted(talk):
    known = {"a": [[A], [B]], "b": [[B], [B]]}
    unknown = {"a": [[A], [B]], "b": [None, [B]]}
    said = {"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}
    a, _ = measured(talk(said, values=known, dilemma="x"), talk(said, values=unknown, dilemma="y")).values.inheritance
    assert (a.values[B].value, a.values[B].n, a.unknown) == (1, 1, 1)


def test_similarity_is_the_jaccard_index_by_agreement_and_from_first_to_last_round(moving):
    (found,) = measured(moving).values.similarity
    assert found.agreement.first.value == 0  # round 1: {A} and {B, C}
    assert found.agreement.second.value == pytest.approx((1 / 3 + 0) / 2)  # {A, B, D} and {B}; {C} and {}
    assert [(one.round, one.disagreement.n, one.agreement.n) for one in found.by_round] == [
        (1, 1, 0),
        (2, 0, 1),
        (3, 0, 1),
    ]
    assert (found.consensus.first.value, found.consensus.second.value) == (0, 0)
    assert math.isnan(found.without.first.value)


def test_two_empty_sets_are_left_out_and_counted_and_so_are_unknown_ones(talk):
    made = measured(
        talk({"a": ["NTA"] * 3, "b": ["YTA"] * 3}, values={"a": [[], [A], [A]], "b": [[], None, [A]]}),
    )
    (found,) = made.values.similarity
    assert (found.empty, found.unknown) == (1, 1)
    assert (found.agreement.first.value, found.agreement.first.n) == (1, 1)
    assert (made.tally.values_known, made.tally.values_empty) == (5, 2)


def test_first_to_last_is_split_by_consensus(talk):
    values = {"a": [[A], [A, B]], "b": [[B], [B]]}
    made = measured(
        talk({"a": ["NTA", "YTA"], "b": ["YTA", "YTA"]}, values=values, dilemma="x"),
        talk({"a": ["NTA", "NTA"], "b": ["YTA", "YTA"]}, values=values, dilemma="y"),
    )
    (found,) = made.values.similarity
    for contrast in (found.consensus, found.without):
        assert (contrast.first.value, contrast.second.value, contrast.first.n) == (0, 0.5, 1)


def test_pairs_of_three_agents_are_all_compared(talk):
    values = {"a": [[A]], "b": [[A]], "c": [[B]]}
    (found,) = measured(talk({"a": ["NTA"], "b": ["NTA"], "c": ["YTA"]}, values=values)).values.similarity
    assert (found.agreement.second.value, found.agreement.second.n) == (1, 1)
    assert (found.agreement.first.value, found.agreement.first.n) == (0, 2)


def test_more_values_than_bits_in_a_word_are_distinguished(talk):
    many = [f"value {number:03}" for number in range(130)]
    made = measured(talk({"a": ["NTA"], "b": ["YTA"]}, values={"a": [many], "b": [many[64:]]}))
    (use,), (found,) = made.values.use, made.values.similarity
    assert found.agreement.first.value == pytest.approx(66 / 130)
    assert [one.value for one in use.models["b"].values()] == [0.0] * 64 + [1.0] * 66


def test_without_values_there_is_nothing_and_a_reason(talk):
    made = measured(talk({"a": ["NTA"], "b": ["NTA"]}))
    assert made.values is None
    assert "judge" in made.not_computed["values"]
