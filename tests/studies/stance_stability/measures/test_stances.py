"""Moves, drift and the overall view at first and at last: what follows from the stance of every turn alone."""

import re

import polars as pl
import pytest


def test_reversals_of_side_stand_apart_from_moves_into_and_out_of_balanced_and_of_unclear(talk, measured):
    row = measured(talk("sccbsuc"))
    assert (row["stance_changes"], row["reversals"], row["balanced_moves"], row["unclear_moves"]) == (4, 2, 2, 2)


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
