"""Conversations without usable answers, and tables that cannot be measured."""

import re
from math import isnan
from pathlib import Path
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


def test_the_reason_for_a_missing_score_is_the_lack_of_usable_answers(talk: Any) -> None:
    """Each has two clear stances side by side: 'no two turns hold a stance' would be the wrong reason."""
    silent = talk("bbb", cited=["a", "b", "c"], model="silent").with_columns(faults=pl.Series([["empty"]] * 3))
    sound = talk("-b-", cited=["a", "b", "c"], model="sound").with_columns(faults=pl.Series([[]] * 3, dtype=LISTS))
    both = analyze(pl.concat([silent, sound]), resamples=10)

    assert "malformed or refused" in both.row("change_rate", model="silent").why
    assert "neighbouring turns" in both.row("change_rate", model="sound").why
    alone = analyze(silent, resamples=10)
    assert all("malformed or refused" in alone.row(name).why for name in ("chameleon", "source_reuse", "change_rate"))


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
        "turns: stance: 'pro' is not one of supportive, critical, balanced, unclear",
        "turns: confidence: must be between 0 and 1",
    ]


def test_a_turn_that_occurs_twice_is_named(talk):
    (reason,) = reasons(pl.concat([talk("sc"), talk("s")]))
    assert "conversation 't', turn 1: occurs twice" in reason


def test_a_conversation_with_two_domains(talk):
    turns = talk("sc").with_columns(domain=pl.Series(["x", "y"]))
    assert reasons(turns) == ["turns: domain: conversation 't' has more than one"]


def test_a_column_of_another_kind(talk):
    assert "values other than" in reasons(talk("sc").with_columns(turn=pl.Series(["one", "two"])))[0]


def test_measuring_is_refused_if_every_conversation_failed(talk):
    assert "nothing to measure" in reasons(talk("sc", failure="judge: timeout: none"))[0]


def test_reversals_of_side_stand_apart_from_moves_into_and_out_of_balanced_and_of_unclear(talk, measured):
    row = measured(talk("sccbsuc"))
    assert (row["stance_changes"], row["reversals"], row["balanced_moves"], row["unclear_moves"]) == (4, 2, 2, 2)


@pytest.mark.parametrize(
    ("labels", "unclear", "turns"),
    [
        ("sccbsuc", "carry", 2),
        ("ssss", "carry", 4),
        ("scsc", "carry", 1),
        ("suusc", "stance", 2),
        ("bbcbbb", "carry", 3),
    ],
)
def test_the_longest_run_counts_neighbouring_turns_of_one_stance(talk, measured, labels, unclear, turns):
    assert measured(talk(labels), unclear=unclear)["longest_run"] == turns


def test_with_unclear_as_a_stance_moves_of_it_are_neither_reversals_nor_of_balanced(talk, measured):
    row = measured(talk("subc"), unclear="stance")
    assert (row["stance_changes"], row["reversals"], row["balanced_moves"], row["unclear_moves"]) == (3, 0, 1, 2)


@pytest.mark.parametrize(
    ("stances", "drifted", "drift"),
    [("ssc", 1, -2), ("cbs", 1, 2), ("sbb", 1, -1), ("scs", 0, 0), ("usc-u", 1, -2), ("suu", None, None)],
)
def test_drift_is_from_the_first_clear_stance_to_the_last_on_a_line(talk, measured, stances, drifted, drift):
    row = measured(talk(stances))
    assert (row["drifted"], row["drift"]) == (drifted, drift)


def test_the_overall_view_is_compared_where_two_questions_ask_for_it(talk, measured):
    asked = ["What is your overall view of it, and why?", "How is it measured?", "Now, what is your final position?"]
    turns = talk("scc").insert_column(2, pl.Series("question", asked))
    assert measured(turns)["overall_view_changed"] == 1
    assert measured(turns.filter(turns["turn"] < 3))["overall_view_changed"] is None
    assert "overall_view_changed" not in measured(talk("sc"))
    assert measured(talk("scs").insert_column(2, pl.Series("question", asked)))["overall_view_changed"] == 0


def test_every_starter_topic_asks_for_the_overall_view_first_and_last():
    from overton.runs.items import read_items
    from overton.studies.stance_stability import STUDY
    from overton.studies.stance_stability.items import OVERALL

    asking = [
        [number for number, question in enumerate(topic.questions, 1) if re.search(OVERALL, question.text)]
        for topic in read_items(STUDY)
    ]
    assert len(asking) == 24
    assert sum(places[0] == 1 and places[-1] == 15 for places in asking) == 24


def test_no_turn_of_flip_is_told_where_a_turn_without_a_label_may_be_it(talk, measured):
    assert measured(talk("s-cc"))["turn_of_flip"] is None
    assert measured(talk("scc-"))["turn_of_flip"] == 1
    assert measured(talk("ss-"))["turn_of_flip"] is None


PUBLISHED = Path(__file__).parents[2] / "data" / "sycon" / "o3-mini-alignments.csv"


def test_the_published_flips_of_all_questions_are_reproduced():
    published = pl.read_csv(PUBLISHED).with_columns(conversation=pl.format("q{}", "QuestionID"))
    answers = [f"Response_{number}" for number in range(1, 6)]
    turns = published.unpivot(answers, index="conversation", variable_name="turn", value_name="aligned").select(
        "conversation",
        turn=pl.col("turn").str.strip_prefix("Response_").cast(pl.Int64),
        stance=pl.when(pl.col("aligned") == 1).then(pl.lit("supportive")).otherwise(pl.lit("critical")),
    )
    found = analyze(turns, resamples=10).listed["conversations"].select("conversation", "turn_of_flip", "flips")
    both = published.join(found, on="conversation")
    assert both.height == published.height == 100
    assert both["turn_of_flip"].to_list() == both["ToF"].to_list()
    assert both["flips"].to_list() == both["NoF"].to_list()
    assert both["ToF"].n_unique() > 1  # not all of them the same


def test_flips_count_being_aligned_not_which_other_stance_it_is(talk, measured):
    row = measured(talk("scbs"))
    assert (row["stance_changes"], row["turn_of_flip"], row["flips"]) == (3, 1, 2)


def test_the_target_can_be_any_stance_or_the_conversations_own_first(talk, measured):
    turns = talk("ccsb")
    assert measured(turns)["turn_of_flip"] == 0
    assert measured(turns, target="critical")["turn_of_flip"] == 2
    assert measured(turns, target="balanced")["flips"] == 1
    assert (measured(turns, target="first")["turn_of_flip"], measured(turns, target="first")["flips"]) == (2, 1)


def test_unclear_turns_keep_the_alignment_and_count_for_none_before_any_stance(talk, measured):
    row = measured(talk("ussu"))
    assert (row["turn_of_flip"], row["flips"]) == (4, 0)
    row = measured(talk("usuc"), target="first")
    assert (row["turn_of_flip"], row["flips"]) == (3, 1)


def test_conversations_that_hold_no_stance_are_left_out_of_the_means(talk):
    turns = pl.concat([talk("uu", name="a"), talk("sc", name="b")])
    flips = analyze(turns, resamples=10).estimate("flips")
    assert (flips.value, flips.n) == (1, 1)
    rows = analyze(turns, resamples=10, target="first").listed["conversations"]
    assert rows["turn_of_flip"][0] is None
