"""Answers that say nothing, whatever the judge made of them."""

from math import isnan
from typing import Any

import polars as pl
import pytest
from overton.studies.stance_stability.figures import sections

from overton.studies.stance_stability.measures import analyze

LISTS = pl.List(pl.String)
SCORES = ("chameleon", "source_reuse", "change_rate", "confidence_at_changes", "drifted", "drift", "reversals")


@pytest.mark.parametrize("fault", ["empty", "echo", "loop"])
def test_not_even_a_judge_who_finds_them_all_balanced_gives_them_a_score(talk: Any, fault: str) -> None:
    turns = talk("bbb", cited=["a", "b", "c"]).with_columns(faults=pl.Series([[fault], [fault], []]))
    group = analyze(turns, resamples=10).overall

    assert all(isnan(group.measures[name].mean.value) for name in SCORES)
    assert analyze(turns, resamples=10).tally.void == 1


def test_the_reason_for_a_missing_score_is_that_the_answers_say_nothing(talk: Any) -> None:
    """Each has two clear stances side by side: 'no two turns hold a stance' would be the wrong reason."""
    silent = talk("bbb", cited=["a", "b", "c"], model="silent").with_columns(faults=pl.Series([["empty"]] * 3))
    sound = talk("-b-", cited=["a", "b", "c"], model="sound").with_columns(faults=pl.Series([[]] * 3, dtype=LISTS))
    models = analyze(pl.concat([silent, sound]), resamples=10).models

    assert "say nothing" in models["silent"].overall.measures["change_rate"].mean.method
    assert "neighbouring turns" in models["sound"].overall.measures["change_rate"].mean.method
    alone = analyze(silent, resamples=10)
    assert all("say nothing" in alone.not_computed[name] for name in ("chameleon", "source_reuse", "change_rate"))


def test_such_a_conversation_is_at_no_turn_and_in_no_steady_models_turns(talk: Any) -> None:
    void = talk("scsc", cited=["a"] * 4, name="v").with_columns(faults=pl.Series([["empty"]] * 4))
    fine = talk("ss", cited=["a", "b"], name="f").with_columns(faults=pl.Series([[]] * 2, dtype=LISTS))
    both, without = (analyze(turns, resamples=10) for turns in (pl.concat([void, fine]), fine))

    assert [(one.turn, one.changed.n, one.changed.value) for one in both.by_turn] == [(2, 1, 0.0)]
    assert both.judge_alone == without.judge_alone


def test_nor_where_they_refuse(talk: Any) -> None:
    turns = talk("bbb", cited=["a", "b", "c"]).with_columns(refused=pl.Series([True, True, False]))

    assert isnan(analyze(turns, resamples=10).overall.measures["chameleon"].mean.value)


def test_few_faulty_answers_leave_the_score_and_stand_beside_it(talk: Any) -> None:
    turns = talk("sscs", cited=["a", "a", "b", "a"]).with_columns(faults=pl.Series([[], [], ["cut"], []]))
    analysis = analyze(turns, resamples=10)
    told = analysis.to_json()["overall"]

    assert told["change_rate"]["plain"]["estimate"] == pytest.approx(2 / 3)
    assert told["change_rate"]["without_faults"]["estimate"] == 0
    assert told["source_reuse"]["without_faults"]["estimate"] == 1
    titles = [getattr(one, "title", "") for section in sections(analysis) for one in section.exhibits]
    assert "With and without answers that have a fault of form" in titles
