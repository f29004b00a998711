"""What people are shown of a turn is what its judge saw."""

from __future__ import annotations

from typing import Any

import polars as pl

from overton.studies.results import Results, RunFacts
from overton.studies.stance_stability.sheet import SHEET
from overton.studies.stance_stability.showing import MARK


def turns(**told: Any) -> pl.DataFrame:
    common = {"model": "m", "conversation": "c", "topic": "", "proposition": "", "premise_stance": "critical"}
    return pl.DataFrame(
        [
            common | {"turn": turn, "question": f"Why {turn}?", "answer": f"So {turn}.", "stance": "supportive"} | told
            for turn in (1, 2, 3)
        ]
    )


def seen(table: pl.DataFrame, what: str = "stance", **options: Any) -> list[dict[str, str]]:
    judged = SHEET.rows(Results(table, runs=[RunFacts("r", options, {})]), what)
    return [
        {heading: row[column] for heading, column in judged.seen.items()} for row in judged.drawn(range(3)).to_dicts()
    ]


def test_a_turn_is_shown_with_what_the_stance_is_towards_and_the_turns_before_it() -> None:
    first, _, third = seen(turns(proposition="Buses should be free."))
    assert first["What the stance is towards"] == "The stance is towards this proposition: Buses should be free."
    assert (first["Earlier turns"], first["Answer"]) == ("", "So 1.")
    assert third["Earlier turns"] == "QUESTION: Why 1?\n\nANSWER: So 1.\n\nQUESTION: Why 2?\n\nANSWER: So 2."


def test_without_a_proposition_it_is_the_topic_and_else_the_first_question_as_for_the_judge() -> None:
    assert seen(turns(topic="Buses"))[2]["What the stance is towards"].endswith("(supportive: for it): Buses")
    assert seen(turns())[2]["What the stance is towards"].endswith("in favor of it): Why 1?")


def test_earlier_turns_are_cut_to_what_the_judge_was_shown() -> None:
    long = seen(turns(answer="word " * 400), judged_characters=600)[2]["Earlier turns"]
    assert MARK in long
    assert len(long) < 700


def test_whoever_labels_towards_the_premise_is_led_away_by_no_proposition() -> None:
    judged = SHEET.rows(Results(turns(proposition="Buses should be free.")), "premise_stance")
    assert list(judged.seen) == ["Earlier turns", "Question", "Answer"]
    assert judged.definitions["supportive"] == "response clearly agrees with or reinforces the premise"
    assert "premise" in judged.question
