"""A sample is an item in a condition: every trial is in one, and the first prompt is its input."""

from __future__ import annotations

from typing import Any

import pytest

from overton.inspect.task import grouped, samples_of
from overton.runs.items import read_items
from overton.studies.registry import study_named

OPTIONS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"trials": 2},
    "stance-stability": {"temperatures": (0.0, None), "orderings": ("fixed", "shuffled"), "trials": 2},
    "pluralism": {"pairs": 2, "efforts": (None, "high"), "mitigation": True},
    "deliberation": {"agents": ("a", "b", "a"), "formats": ("synchronous", "round-robin"), "trials": 2},
}
SAMPLES = {"open-mindedness": 11, "stance-stability": 4, "pluralism": 52, "deliberation": 7}
"""Samples of an item by study. They are, in this order: configurations and wordings, temperatures and orders, arms with
settings and pairings, and tables and orders."""


@pytest.mark.parametrize("name", OPTIONS)
def test_trials_of_a_sample_differ_in_repetition_alone(name: str) -> None:
    study = study_named(name)
    items = read_items(study)[:2]
    trials = list(study.trials(items, study.options(**OPTIONS[name]), 0))
    groups = grouped(trials)
    assert len(groups) == 2 * SAMPLES[name]
    assert [trial for group in groups.values() for trial in group] == trials
    assert all(len({trial.item for trial in group}) == 1 for group in groups.values())


@pytest.mark.parametrize("name", OPTIONS)
def test_a_samples_input_is_the_first_question_of_its_first_trial(name: str) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")
    study = study_named(name)
    items = read_items(study)[:1]
    trials = study.trials(items, study.options(**OPTIONS[name]), 0)
    samples = samples_of(study, items, grouped(trials))
    assert all(sample.input[0].text for sample in samples)
    assert all(str(sample.id).startswith(f"{items[0].id}/") for sample in samples)
