"""Tables and options that cannot be measured are refused with every reason."""

import polars as pl
import pytest

from overton.errors import InputError
from overton.studies.stance_stability.measures import analyze


def reasons(turns, **how):
    with pytest.raises(InputError) as raised:
        analyze(turns, resamples=10, **how)
    return [str(problem) for problem in raised.value.problems]


def test_missing_columns_are_all_named(talk):
    assert reasons(talk("sc").drop("stance", "turn")) == [
        "turns: turn: this column is missing",
        "turns: stance: this column is missing",
    ]


def test_a_table_without_rows(talk):
    assert "no rows" in reasons(talk("s").clear())[0]


def test_unknown_stances_and_confidence_out_of_range(talk):
    turns = talk("sc", confidence=1.5).with_columns(stance=pl.lit("pro"))
    assert reasons(turns) == [
        "turns: stance: 'pro' is none of supportive, critical, balanced, unclear",
        "turns: confidence: must be between 0 and 1",
    ]


def test_a_turn_that_occurs_twice_is_named(talk):
    (reason,) = reasons(pl.concat([talk("sc"), talk("s")]))
    assert "conversation 't', turn 1: occurs twice" in reason


def test_a_conversation_with_two_domains(talk):
    turns = talk("sc").with_columns(domain=pl.Series(["x", "y"]))
    assert reasons(turns) == ["turns: domain: conversation 't' has more than one"]


def test_a_column_of_another_kind(talk):
    assert "another kind" in reasons(talk("sc").with_columns(turn=pl.Series(["one", "two"])))[0]


def test_options_that_do_not_exist(talk):
    assert reasons(talk("sc"), no_change="none", target="pro") == [
        "no_change: none: must be one of zero, mean",
        "target: pro: must be one of supportive, critical, balanced, first",
    ]
    assert "must be one of proposition, premise" in reasons(talk("sc"), labels="both")[0]


def test_premise_labels_and_topics_that_are_not_there(talk):
    assert "premise_stance" in reasons(talk("sc"), labels="premise")[0]
    assert "topic" in reasons(talk("sc"), over="topics")[0]


def test_where_every_conversation_failed_there_is_nothing_to_measure(talk):
    assert "none can be measured" in reasons(talk("sc", failure="judge: timeout: none"))[0]
