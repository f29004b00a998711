"""A sample is an item in a condition: every trial is in one, and the first prompt stands for it."""

from __future__ import annotations

from typing import Any

import pytest

from overton.api.studies import binding_of
from overton.hosts.inspect.planning import grouped, samples_of

OPTIONS: dict[str, dict[str, Any]] = {
    "open-mindedness": {"trials": 2},
    "stance-stability": {"temperatures": (0.0, None), "orderings": ("fixed", "shuffled"), "trials": 2},
    "pluralism": {"pairs": 2, "efforts": (None, "high"), "mitigation": True},
    "deliberation": {"agents": ("a", "b", "a"), "formats": ("synchronous", "round-robin"), "trials": 2},
}
SAMPLES = {"open-mindedness": 11, "stance-stability": 4, "pluralism": 52, "deliberation": 7}
"""Of an item: configurations and wordings; temperatures and orders; arms, settings and pairings; tables and orders."""


@pytest.mark.parametrize("study", OPTIONS)
def test_trials_of_a_sample_differ_in_repetition_alone(study: str) -> None:
    binding = binding_of(study)
    items = binding.starter()[:2]
    trials = list(binding.study.trials(items, binding.study.options(**OPTIONS[study]), 0))
    groups = grouped(binding.study, trials)
    assert len(groups) == 2 * SAMPLES[study]
    assert [trial for group in groups.values() for trial in group] == trials
    assert all(len({trial.item for trial in group}) == 1 for group in groups.values())


@pytest.mark.parametrize("study", OPTIONS)
def test_a_samples_input_is_what_its_first_trial_asks_first(study: str) -> None:
    pytest.importorskip("inspect_ai", reason="Inspect AI is not installed")
    binding = binding_of(study)
    items = binding.starter()[:1]
    trials = binding.study.trials(items, binding.study.options(**OPTIONS[study]), 0)
    samples = samples_of(binding.study, items, grouped(binding.study, trials))
    assert all(sample.input[0].text for sample in samples)
    assert all(str(sample.id).startswith(f"{items[0].id}/") for sample in samples)
