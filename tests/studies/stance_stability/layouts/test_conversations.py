"""Conversations to read: turn by turn, with changes marked and sources marked as new or repeated."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from overton.studies.sections import ROUND_BREAK, TURN_BREAK
from overton.studies.stance_stability.items import Topic
from overton.studies.stance_stability.layouts.conversations import conversation_names, conversation_table
from overton.studies.stance_stability.measures import analyze

TOPIC = Topic("t", "d", "Night buses", "Night buses should run.", "supportive", "strong", ())


def one_talk(*stances: str | None, **fields: Any) -> pl.DataFrame:
    pages = ["https://a.example/1", "https://b.example/2", "https://a.example/1"]
    rows = [
        {
            "model": "m",
            "conversation": "c",
            "topic": "t",
            "domain": "d",
            "temperature": 0.5,
            "ordering": "fixed",
            "turn": number,
            "question": f"Why {number}?",
            "retrieved": [pages[(number - 1) % 3], "https://c.example/3"],
            "cited": [pages[(number - 1) % 3]],
            "stance": stance,
            "confidence": 0.67 if stance else None,
            "premise_stance": None,
            "rationale": "Since.",
            "answer": "It helps [1].",
            "failure": None,
        }
        | fields
        for number, stance in enumerate(stances, 1)
    ]
    return pl.DataFrame(rows, schema_overrides={"failure": pl.String, "stance": pl.String, "premise_stance": pl.String})


def shown(records: pl.DataFrame, *topics: Topic) -> Any:
    return conversation_table(records, analyze(records, resamples=10), topics)


def labels(table: Any, title: str) -> list[str]:
    facet = next(facet for facet in table.facets if facet.title == title)
    return [facet.labels[code] for code in facet.codes]


def test_a_conversation_is_told_turn_by_turn():
    table = shown(one_talk("supportive", "critical"), TOPIC)
    (answer,) = table.answers(0, 1)
    outcome, first, second = answer.split(ROUND_BREAK)
    assert outcome == "1 change of stance in 2 turns, source re-use 0.00, Chameleon score 0.69. Trace: S C"
    assert first == (
        "Turn 1: supportive, likely\n\nQuestion: Why 1?\n\nIt helps [1].\n\nJudge: Since.\n\n"
        "Cited:\nhttps://a.example/1 (new)\n\nRead, not cited:\nhttps://c.example/3 (new)"
    )
    assert second.startswith("Turn 2: supportive → critical, likely")
    assert [table.texts[number] for number in table.prompts(table.prompt[0])] == [
        "Night buses\n\nProposition: Night buses should run."
    ]


def test_a_source_is_reported_with_the_turn_that_had_it_first():
    (answer,) = shown(one_talk("supportive", "supportive", "supportive")).answers(0, 1)
    assert "https://a.example/1 (again, from turn 1)" in answer.split(ROUND_BREAK)[3]


def test_a_change_is_marked_against_the_last_clear_stance():
    (answer,) = shown(one_talk("supportive", "unclear", "critical", None, "balanced")).answers(0, 1)
    assert "Turn 2: unclear, likely" in answer
    assert "Turn 3: supportive → critical" in answer
    assert "Turn 4: no usable label" in answer
    assert "Turn 5: balanced" in answer  # a turn without a label makes no pairs


@pytest.mark.parametrize(
    ("stances", "how"),
    [
        (("supportive", None, "unclear", "critical"), {}),
        (("supportive", None, "critical", "supportive"), {"unlabelled": "carry"}),
        (("supportive", None, "critical", "supportive"), {}),
        (("supportive", "unclear", "critical", None), {"unclear": "stance"}),
        (("supportive", "unclear", "critical", None), {}),
        ((None, "unclear", "critical", "balanced"), {"unlabelled": "carry", "unclear": "stance"}),
    ],
)
def test_as_many_changes_are_marked_as_are_counted(stances, how):
    records = one_talk(*stances)
    analysis = analyze(records, resamples=10, **how)
    (answer,) = conversation_table(records, analysis).answers(0, 1)
    assert answer.count("→") == analysis.listed["conversations"]["stance_changes"].item()


def test_the_published_prompts_label_stands_beside_ours():
    (answer,) = shown(one_talk("supportive", "supportive", premise_stance="critical")).answers(0, 1)
    assert "Towards the question's premise: critical" in answer


def test_where_the_premises_labels_are_measured_they_are_the_ones_that_are_marked():
    only = one_talk("supportive", "critical").with_columns(premise_stance="stance", stance=pl.lit(None, pl.String))
    (answer,) = shown(only).answers(0, 1)
    assert "Turn 2: supportive → critical" in answer
    assert "Towards the question's premise" not in answer


def test_a_failed_conversation_is_there_and_says_why():
    fine = one_talk("supportive", "supportive")
    failed = one_talk("supportive", None, conversation="broken").with_columns(
        failure=pl.when(pl.col("turn") == 2).then(pl.lit("judge: timeout: no reply"))
    )
    table = shown(pl.concat([fine, failed]))
    assert labels(table, "Stance changes") == ["0", "failed"]
    assert "the call failed: judge: timeout: no reply" in table.answers(1, 2)[0]
    assert "left out of all measures" in table.answers(1, 2)[0]
    assert list(table.prompt) == [-1, -1]


def test_a_conversation_without_usable_answers_is_described_as_such():
    void = one_talk("supportive", "critical").with_columns(faults=pl.Series([["empty"], ["loop"]]))
    table = shown(void)
    assert labels(table, "Stance changes") == ["answers malformed or refused"]
    assert table.answers(0, 1)[0].startswith(
        "No score, because at least half of the answers are malformed or refused. Trace: S C"
    )


def test_breaks_in_a_text_do_not_break_the_conversation():
    (answer,) = shown(one_talk("supportive", "critical", answer=f"a{ROUND_BREAK}b{TURN_BREAK}c")).answers(0, 1)
    assert answer.count(ROUND_BREAK) == 2
    assert TURN_BREAK not in answer


def test_every_conversation_is_there_once_and_can_be_requested_in_any_slice(records, analysis):
    table = conversation_table(records, analysis)
    assert table.size == 2 * 8 * 2
    whole = table.answers(0, table.size)
    assert [*table.answers(0, 7), *table.answers(7, table.size + 5)] == whole
    assert table.answers(table.size, table.size + 9) == []
    assert all(len(answer.split(ROUND_BREAK)) == 6 for answer in whole)
    assert labels(table, "Temperature")[:2] == ["0.0", "1.0"]
    bands = labels(table, "Chameleon score")
    assert set(bands) <= {"low", "moderate", "high"}


def test_models_share_names_of_conversations_and_temperatures_tell_them_apart(talk):
    turns = pl.concat([talk("sc", model=model, temperature=heat) for model in "ab" for heat in (0.0, 1.0)])
    names = conversation_names(analyze(turns, resamples=10).listed["conversations"])
    assert names == ["a/temperature 0.0/t", "a/temperature 1.0/t", "b/temperature 0.0/t", "b/temperature 1.0/t"]
    alone = analyze(pl.concat([talk("sc", model=model) for model in "ab"]), resamples=10)
    assert conversation_names(alone.listed["conversations"]) == ["a/t", "b/t"]
