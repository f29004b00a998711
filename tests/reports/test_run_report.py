"""Runs of version 0.2.0 that stopped at a target precision: their numbers weight arms by planned over asked trials."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.stored_runs import unpack

import overton
from overton.analysis.analyze import Measured, chosen_how, measured_runs
from overton.runs.run import open_run
from overton.studies.arm_weights import LEFT_OUT, UNEQUAL
from overton.studies.registry import study_named

STUDIES = ("stance-stability", "deliberation", "open-mindedness")


def stored(study: str, folder: Path) -> Path:
    return unpack(f"{study}-precision", folder)


def outcome(study: str, run: Path) -> Measured:
    named = study_named(study)
    return measured_runs(named, [open_run(run)], chosen_how(named, {}))


def mean_of_arms(values: pl.DataFrame, trial: str, value: str) -> float:
    """The mean over arms, which all have as many planned trials, of the means of their trials."""
    arms = values.with_columns(arm=pl.col(trial).str.replace(r"/[^/]*$", ""))
    return float(arms.group_by("arm").agg(pl.col(value).mean())[value].mean())  # type: ignore[arg-type]


@pytest.fixture
def drifting(tmp_path: Path) -> Path:
    return stored("stance-stability", tmp_path)


def test_the_rate_of_change_of_a_stopped_run_is_the_mean_of_its_arms_everywhere(drifting: Path) -> None:
    analysis = overton.analyze("stance-stability", drifting)
    conversations = analysis.listed["conversations"]
    asked = conversations.group_by("topic").len()["len"]
    assert asked.n_unique() > 1
    rate = mean_of_arms(conversations, "conversation", "change_rate")
    assert rate != pytest.approx(conversations["change_rate"].mean(), abs=1e-3)
    found = analysis.estimate("change_rate", model="drifting")
    assert found.value == pytest.approx(rate)
    assert found.n == conversations.height
    compared = overton.compare(drifting, unpack("stance-stability-precision", drifting / "again"))
    assert compared.row("change_rate").base_number.value == pytest.approx(rate)
    first = outcome("stance-stability", drifting).findings[0]
    assert first.number is not None
    assert first.number.value == pytest.approx(mean_of_arms(conversations, "conversation", "stance_changes"))
    limit = precision_limit(drifting)
    assert limit["low"] <= rate <= limit["high"]
    assert limit["value"] == pytest.approx(rate, abs=0.05)


def precision_limit(run: Path) -> dict[str, Any]:
    """The first limit of the section 'Precision'."""
    manifest = json.loads((run / "manifest.json").read_bytes())
    (lane,) = manifest["precise"].values()
    limit: dict[str, Any] = lane["last"]["limits"][0]
    return limit


def test_consensus_of_a_stopped_run_is_the_mean_of_its_arms_and_the_choice_model_is_left_out(tmp_path: Path) -> None:
    run = stored("deliberation", tmp_path)
    analysis = overton.analyze("deliberation", run)
    records = open_run(run).records().filter(pl.col("failure").is_null())
    ends = records.filter("last").group_by("deliberation").agg(pl.col("agreed").any().cast(pl.Float64))
    consensus = mean_of_arms(ends, "deliberation", "agreed")
    reached = analysis.estimate("consensus")
    assert consensus != pytest.approx(ends["agreed"].mean(), abs=1e-3)
    assert reached.value == pytest.approx(consensus)
    assert reached.n == analysis.counts["counts"][0]["heard"] == ends.height
    assert precision_limit(run)["low"] <= consensus <= precision_limit(run)["high"]
    assert all(fit["not_computed"] == LEFT_OUT for fit in analysis.counts["fits"])
    assert not analysis.rows_of("inertia", "goal")
    assert not any(one.exhibit == "choice" for one in outcome("deliberation", run).findings)


def test_pooled_numbers_of_a_stopped_run_are_left_out_of_open_mindedness_with_the_reason(tmp_path: Path) -> None:
    analysis = overton.analyze("open-mindedness", stored("open-mindedness", tmp_path))
    missing = {cells["part"]: cells["why"] for cells in analysis.counts["missing"]}
    parts = ("respondent", "arguments", "draws", "following")
    assert {part: missing[part] for part in parts} == dict.fromkeys(parts, LEFT_OUT)
    for measure in ("respondent_letter", "argument_pro", "flips_extra", "followed", "flagged"):
        assert not [row for row in analysis.rows if row.measure == measure]
    assert UNEQUAL in analysis.estimate("pulls_request").method
    assert isnan(analysis.estimate("read_differently").value)


@pytest.mark.parametrize("study", STUDIES)
def test_reports_and_profiles_of_stopped_runs_are_written_and_say_how_they_weight(study: str, tmp_path: Path) -> None:
    run = stored(study, tmp_path)
    page = overton.report(run).read_text(encoding="utf-8")
    assert "is its planned number of trials divided by the number of trials that were run" in page
    assert "and the limits divide the significance level among the interim analyses" in page  # its rule, that of 0.2.0
    assert overton.profile(run)
