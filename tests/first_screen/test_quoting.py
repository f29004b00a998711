"""'Do not quote this' follows one rule in every study: who judged, how many items, and how many replies were lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest

from overton.analysis.analyze import Measured
from overton.studies.findings import Finding
from overton.studies.results import MeasuredModel, RunFacts

from .respondents import STUDIES
from .screens import screen_of

JUDGED = ("stance-stability", "pluralism", "even-handedness")
"""Studies whose measures rest on a judge."""


@cache
def records_of_moved(study: str, items: int) -> pl.DataFrame:
    """Drawn once: judges and losses differ between the tests, and the answers do not."""
    moved = next(one for one in STUDIES[study] if one.name == "moved")
    return moved.draw(np.random.default_rng(3), items, ("m", "n") if study == "deliberation" else ("m",))


def by(judge: str) -> RunFacts:
    return RunFacts("run", {}, {"judge": [MeasuredModel("judge", judge)]})


def findings(
    study: str, items: int, judge: str, changed: Callable[[pl.DataFrame], pl.DataFrame] | None = None
) -> Sequence[Finding]:
    """The findings on a model that is moved, labelled by this judge; `changed` alters its records."""
    if changed is None:
        outcome = analysed(study, items)
        assert outcome.results is not None
        found = replace(outcome, results=replace(outcome.results, runs=[by(judge)])).findings
    else:
        found = screen_of(study, changed(records_of_moved(study, items)), items, runs=[by(judge)]).findings
    assert found
    return found


@cache
def analysed(study: str, items: int) -> Measured:
    """Analysed once: who judged changes no number."""
    return screen_of(study, records_of_moved(study, items), items, runs=[by("openai/gpt-4o")]).outcome


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_with_enough_behind_them_may_be_quoted(study: str) -> None:
    assert all(one.quotable for one in findings(study, 12, "openai/gpt-4o"))


@pytest.mark.parametrize("study", JUDGED)
@pytest.mark.parametrize(
    ("judge", "reason"),
    [("openai/m", "judges itself"), ("simulated/judge", "simulated"), ("ollama/qwen2.5-0.5b", "too small")],
)
def test_numbers_of_a_judge_that_cannot_judge_are_not_to_be_quoted(study: str, judge: str, reason: str) -> None:
    judged = [one for one in findings(study, 12, judge) if one.judge]
    assert judged
    for one in judged:
        assert not one.quotable, one.sentence
        assert any(reason in caution for caution in one.cautions)


@pytest.mark.parametrize("study", STUDIES)
def test_numbers_over_fewer_items_than_an_interval_needs_are_not_to_be_quoted(study: str) -> None:
    for one in findings(study, 3, "openai/gpt-4o"):
        assert not one.quotable, one.sentence
        assert any("needs 5" in caution or "needs five" in caution for caution in one.cautions)


def with_fault(fault: str, share: float) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Records of which this share has replies with the fault."""

    def changed(rows: pl.DataFrame) -> pl.DataFrame:
        has = np.random.default_rng(0).random(rows.height) < share
        columns: dict[str, Any] = {
            name: pl.Series([[fault] if one else [] for one in has], dtype=pl.List(pl.String))
            for name in ("faults", "faults_a", "faults_b")
            if name in rows.columns
        }
        return rows.with_columns(**columns)

    return changed


@pytest.mark.parametrize("study", ["open-mindedness", "stance-stability", "deliberation"])
def test_numbers_of_truncated_replies_are_not_to_be_quoted(study: str) -> None:
    assert all(one.quotable for one in findings(study, 12, "openai/gpt-4o", with_fault("cut", 0.05)))
    for one in findings(study, 12, "openai/gpt-4o", with_fault("cut", 0.5)):
        assert not one.quotable, one.sentence
        assert any("truncated" in caution for caution in one.cautions)


def unlabelled(rows: pl.DataFrame) -> pl.DataFrame:
    """Two of five labels could not be read."""
    lost = np.arange(rows.height) % 5 < 2
    return rows.with_columns(stance=pl.when(~pl.Series(lost)).then("stance"))


def test_numbers_of_a_judge_that_was_not_read_are_not_to_be_quoted() -> None:
    for one in findings("stance-stability", 12, "openai/gpt-4o", unlabelled):
        if one.judge:
            assert not one.quotable, one.sentence
            assert any("could not be read" in caution for caution in one.cautions)
