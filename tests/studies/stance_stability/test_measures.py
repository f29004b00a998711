"""Means over groups of conversations, their intervals and counts, and options that cannot be measured."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from overton.errors import InputError
from overton.studies.stance_stability.declarations import MEASURES
from overton.studies.stance_stability.findings import counts_of_model
from overton.studies.stance_stability.measures import analyze

near = pytest.approx
PLACE = ("model", "facet", "condition")


@pytest.mark.parametrize(
    ("place", "where"),
    [
        ({}, {}),
        ({"model": "b"}, {"model": "b"}),
        ({"facet": "domain", "condition": "d1"}, {"domain": "d1"}),
        ({"facet": "temperature", "condition": "1.0"}, {"temperature": 1.0}),
        ({"model": "a", "facet": "temperature", "condition": "0.0"}, {"model": "a", "temperature": 0.0}),
        ({"model": "b", "facet": "domain", "condition": "d2"}, {"model": "b", "domain": "d2"}),
    ],
)
def test_a_groups_means_and_deviations_are_those_of_its_conversations(of_many, place, where):
    rows = of_many.listed["conversations"].filter(**where)
    counts = [row for row in of_many.counts["counts"] if all(row[name] == place.get(name) for name in PLACE)]
    assert [row["conversations"] for row in counts] == [rows.height]
    found = [measure.name for measure in MEASURES if of_many.row(measure.name, **place) is not None]
    assert len(found) == 22  # without those that need retrieved documents or labels towards the premise
    for name in found:
        mean, spread = of_many.row(name, **place), of_many.row(name, variant="sd", **place)
        assert mean.estimate == near(rows[name].mean(), abs=1e-9)
        assert spread.estimate == near(rows[name].std(), abs=1e-9)
        assert mean.n == rows[name].count()


def test_an_interval_over_conversations_is_about_that_of_students_t(many):
    analysis = analyze(many, over="conversations")
    rows = analysis.listed["conversations"].filter(model="b")
    mean = analysis.estimate("chameleon", model="b")
    half = 1.98 * rows["chameleon"].std() / np.sqrt(rows.height)
    assert mean.high - mean.low == near(2 * half, rel=0.15)
    assert mean.method == "Student's t over conversations, corrected for skewness"


def test_with_more_conversations_than_are_drawn_one_by_one_intervals_stay_as_wide_as_they_should(talk):
    turns = pl.concat([talk("sc" if number % 3 else "ss", name=f"c{number:04d}") for number in range(2400)])
    mean = analyze(turns).row("stance_changes").number
    assert mean.value == near(2 / 3)
    assert mean.high - mean.low == near(2 * 1.96 * np.sqrt(2 / 9 / 2400), rel=0.12)


def test_intervals_are_over_topics_unless_asked_otherwise_or_they_are_not_told(talk):
    turns = pl.concat(
        [
            talk("sc" if topic % 3 else "ss", name=f"{topic}/{again}", topic=f"t{topic}")
            for topic in range(40)
            for again in range(4)
        ]
    )
    by_topic, by_conversation = (
        analyze(turns, **over).row("stance_changes").number for over in ({}, {"over": "conversations"})
    )
    assert by_topic.method == "Student's t over topics, corrected for skewness"
    assert by_topic == analyze(turns, over="topics").row("stance_changes").number
    assert "conversations" in analyze(turns.drop("topic")).row("stance_changes").method
    assert by_topic.n == by_conversation.n == 160
    assert by_topic.high - by_topic.low == near(2 * (by_conversation.high - by_conversation.low), rel=0.15)


def test_topics_and_questions_of_a_domain_are_counted_once_however_often_they_are_discussed(of_many):
    assert of_many.counts["domains"] == tuple(
        {"domain": name, "topics": 20, "questions": 120, "conversations": 80, "turns": 480}
        for name in ("d0", "d1", "d2")
    )


def test_failed_conversations_are_left_out_entirely_and_counted(talk):
    fine, failed = talk("sc", name="fine", failure=None), talk("ss", name="failed", failure="judge: timeout: none")
    failed = failed.with_columns(failure=pl.when(pl.col("turn") == 2).then(pl.col("failure")))
    analysis = analyze(pl.concat([fine.cast({"failure": pl.String}), failed]), resamples=10)
    assert analysis.counts["rules"][0]["failed"] == 1
    assert analysis.listed["conversations"]["conversation"].to_list() == ["fine"]
    assert any("left out entirely" in warning for warning in analysis.warnings)


def test_counts_behind_the_numbers_are_by_model(talk):
    turns = pl.concat(
        [
            talk("u-s", cited=["", "a", ""], name="x", model="a", judge_attempts=2, miscited=1),
            talk("su", cited=["a", "a"], name="y", model="b", judge_attempts=1, miscited=0),
            talk("s", cited=["a"], name="z", model="b", judge_attempts=1, miscited=0),
        ]
    )
    analysis = analyze(turns, resamples=10)
    a, b, whole = (counts_of_model(analysis, model) for model in ("a", "b", None))
    names = ("unclear_before", "unread", "turns_without_cited", "asked_again", "miscited")
    assert [a[name] for name in names] == [1, 1, 2, 3, 3]
    assert [b[name] for name in ("unclear_carried", "single", "conversations", "labels")] == [1, 1, 2, 3]
    assert whole["turns_without_retrieved"] is None
    assert whole["labels"] == 6


def test_a_judge_with_two_prompts_is_not_asked_again_by_answering_both(talk):
    once = talk("sc", name="x", judge_attempts=2).with_columns(premise_stance=pl.lit("critical"))
    again = talk("sc", name="y", judge_attempts=3).with_columns(premise_stance=pl.lit("critical"))
    assert counts_of_model(analyze(pl.concat([once, again]), resamples=10), None)["asked_again"] == 2


def test_json_has_a_row_for_every_number_and_the_tables(of_many):
    made = json.loads(json.dumps(of_many.to_json(), allow_nan=False))
    assert made["models"] == ["a", "b"]
    place = {"model": "a", "facet": "temperature", "condition": "0.0", "measure": "source_reuse", "variant": "plain"}
    (row,) = [row for row in made["rows"] if place.items() <= row.items()]
    assert row["n"] == 60
    assert {"estimate", "low", "high", "method", "why"} <= row.keys()
    (talk, *_) = made["tables"]["conversations"]
    for name in ("stance_changes", "change_rate", "confidence_at_changes", "source_reuse", "chameleon"):
        assert isinstance(talk[name], int | float)
    assert {"counts", "domains", "judge_errors", "rules", "temperatures", "conversations"} <= made["tables"].keys()


def test_the_order_of_rows_changes_nothing_and_the_same_seed_gives_the_same(many, of_many):
    again = analyze(many.sample(fraction=1, shuffle=True, seed=5), resamples=400)
    assert again.to_json() == of_many.to_json()


def test_a_missing_turn_is_reported(talk):
    analysis = analyze(talk("ssc").filter(pl.col("turn") != 2), resamples=10)
    assert analysis.counts["rules"][0]["gapped"] == 1
    assert analysis.row("change_rate").estimate == 1


def test_a_temperature_of_the_endpoints_own_is_a_group_of_its_own(talk):
    turns = pl.concat(
        [
            talk("sc", name="a", temperature=None).cast({"temperature": pl.Float64}),
            talk("ss", name="b", temperature=0.5),
        ]
    )
    rows = analyze(turns, resamples=10).rows_of("turns", "temperature", model=None, variant="plain")
    assert {row.condition for row in rows} == {"0.5", "own"}


def reasons(turns, **how):
    with pytest.raises(InputError) as raised:
        analyze(turns, resamples=10, **how)
    return [str(problem) for problem in raised.value.problems]


def test_options_that_do_not_exist(talk):
    assert reasons(talk("sc"), no_change="none", target="pro") == [
        "no_change: none: must be one of zero, mean",
        "target: pro: must be one of supportive, critical, balanced, first",
    ]
    assert "must be one of proposition, premise" in reasons(talk("sc"), labels="both")[0]


def test_premise_labels_and_topics_that_are_not_there(talk):
    assert "premise_stance" in reasons(talk("sc"), labels="premise")[0]
    assert "topic" in reasons(talk("sc"), over="topics")[0]


@pytest.mark.parametrize("chances", [True, "0.5", [["a"]]])
def test_other_columns_by_the_names_of_probabilities_are_left_alone(chances: object) -> None:
    turns = {"conversation": "c", "turn": 1, "stance": "critical", "shares": "auto", "sampled": ["critical"]}
    table = pl.DataFrame([turns, turns | {"turn": 2}]).with_columns(p_stance=pl.lit(chances))
    plain = table.drop("p_stance", "shares", "sampled")
    assert analyze(table).estimate("change_rate").value == analyze(plain).estimate("change_rate").value
    assert analyze(table).chances is None
