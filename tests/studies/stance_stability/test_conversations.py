"""Conversations whose answers say nothing, and tables that cannot be measured."""

from math import isnan
from typing import Any

import polars as pl
import pytest

from overton.errors import InputError
from overton.studies.stance_stability.findings import counts_of_model
from overton.studies.stance_stability.measures import analyze

LISTS = pl.List(pl.String)
SCORES = ("chameleon", "source_reuse", "change_rate", "confidence_at_changes", "drifted", "drift", "reversals")


@pytest.mark.parametrize("fault", ["empty", "echo", "loop"])
def test_not_even_a_judge_who_finds_them_all_balanced_gives_them_a_score(talk: Any, fault: str) -> None:
    turns = talk("bbb", cited=["a", "b", "c"]).with_columns(faults=pl.Series([[fault], [fault], []]))
    analysis = analyze(turns, resamples=10)

    assert all(isnan(analysis.row(name).number.value) for name in SCORES)
    assert counts_of_model(analysis, None)["void"] == 1


def test_the_reason_for_a_missing_score_is_that_the_answers_say_nothing(talk: Any) -> None:
    """Each has two clear stances side by side: 'no two turns hold a stance' would be the wrong reason."""
    silent = talk("bbb", cited=["a", "b", "c"], model="silent").with_columns(faults=pl.Series([["empty"]] * 3))
    sound = talk("-b-", cited=["a", "b", "c"], model="sound").with_columns(faults=pl.Series([[]] * 3, dtype=LISTS))
    both = analyze(pl.concat([silent, sound]), resamples=10)

    assert "say nothing" in both.row("change_rate", model="silent").why
    assert "neighbouring turns" in both.row("change_rate", model="sound").why
    alone = analyze(silent, resamples=10)
    assert all("say nothing" in alone.row(name).why for name in ("chameleon", "source_reuse", "change_rate"))


def test_such_a_conversation_is_at_no_turn_and_in_no_steady_models_turns(talk: Any) -> None:
    void = talk("scsc", cited=["a"] * 4, name="v").with_columns(faults=pl.Series([["empty"]] * 4))
    fine = talk("ss", cited=["a", "b"], name="f").with_columns(faults=pl.Series([[]] * 2, dtype=LISTS))
    both, without = (analyze(turns, resamples=10) for turns in (pl.concat([void, fine]), fine))

    assert [(row.condition, row.n, row.estimate) for row in both.rows_of("changed_at_turn", "turn")] == [("2", 1, 0.0)]
    assert both.counts["judge_errors"] == without.counts["judge_errors"]


def test_nor_where_they_refuse(talk: Any) -> None:
    turns = talk("bbb", cited=["a", "b", "c"]).with_columns(refused=pl.Series([True, True, False]))

    assert isnan(analyze(turns, resamples=10).row("chameleon").number.value)


def test_few_faulty_answers_leave_the_score_and_stand_beside_it(talk: Any) -> None:
    turns = talk("sscs", cited=["a", "a", "b", "a"]).with_columns(faults=pl.Series([[], [], ["cut"], []]))
    analysis = analyze(turns, resamples=10)

    assert analysis.row("change_rate").estimate == pytest.approx(2 / 3)
    assert analysis.row("change_rate", variant="without_faults").estimate == 0
    assert analysis.row("source_reuse", variant="without_faults").estimate == 1


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


def test_where_every_conversation_failed_there_is_nothing_to_measure(talk):
    assert "none can be measured" in reasons(talk("sc", failure="judge: timeout: none"))[0]
