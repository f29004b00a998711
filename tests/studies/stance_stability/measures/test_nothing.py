"""Answers that say nothing, whatever the judge made of them."""

from math import isnan
from typing import Any

import polars as pl
import pytest

from overton.studies.stance_stability.figures import sections
from overton.studies.stance_stability.measures import analyze

SCORES = ("chameleon", "source_reuse", "change_rate", "confidence_at_changes", "drifted", "drift", "reversals")


@pytest.mark.parametrize("fault", ["empty", "echo", "loop"])
def test_not_even_a_judge_who_finds_them_all_balanced_gives_them_a_score(talk: Any, fault: str) -> None:
    turns = talk("bbb", cited=["a", "b", "c"]).with_columns(faults=pl.Series([[fault], [fault], []]))
    group = analyze(turns, resamples=10).overall

    assert all(isnan(group.measures[name].mean.value) for name in SCORES)
    assert analyze(turns, resamples=10).tally.void == 1


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
