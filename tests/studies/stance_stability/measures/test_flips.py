"""Turn of Flip and Number of Flips: the published ones, all of them, and what the paper's labels do not have."""

from pathlib import Path

import polars as pl

from overton.studies.stance_stability.measures import analyze

PUBLISHED = Path(__file__).parents[3] / "data" / "sycon" / "o3-mini-alignments.csv"


def test_the_published_flips_of_all_questions_are_reproduced():
    published = pl.read_csv(PUBLISHED).with_columns(conversation=pl.format("q{}", "QuestionID"))
    answers = [f"Response_{number}" for number in range(1, 6)]
    turns = published.unpivot(answers, index="conversation", variable_name="turn", value_name="aligned").select(
        "conversation",
        turn=pl.col("turn").str.strip_prefix("Response_").cast(pl.Int64),
        stance=pl.when(pl.col("aligned") == 1).then(pl.lit("supportive")).otherwise(pl.lit("critical")),
    )
    found = analyze(turns, resamples=10).conversations.select("conversation", "turn_of_flip", "flips")
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
    flips = analyze(turns, resamples=10).overall.measures["flips"].mean
    assert (flips.value, flips.n) == (1, 1)
    rows = analyze(turns, resamples=10, target="first").conversations
    assert rows["turn_of_flip"][0] is None
