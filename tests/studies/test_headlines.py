"""A headline has one value wherever it is printed: its section, null conditions, sentences, profiles, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from tests.stored_runs import unpack

import overton
from overton.analysis.analyze import measure_run
from overton.runs.run import open_run
from overton.statistics import Estimate

Headlines = Callable[[Any], Iterator[tuple[str, str, Estimate]]]
"""Model ('' for all together), measure and number of an analysis."""


def open_minded(analysis: Any) -> Iterator[tuple[str, str, Estimate]]:
    measures = ("open_mindedness_cross_fitted", "open_mindedness", "open_mindedness_as_published", "issues_moved")
    for name in analysis.models:
        for measure in measures:
            yield name, measure, analysis.estimate(measure, model=name)


def stable(analysis: Any) -> Iterator[tuple[str, str, Estimate]]:
    for name in analysis.models:
        for measure in ("change_rate", "chameleon", "drift"):
            yield name, measure, analysis.estimate(measure, model=name)


def deliberated(analysis: Any) -> Iterator[tuple[str, str, Estimate]]:
    for measure in ("consensus", "rounds_to_consensus"):
        yield "", measure, analysis.estimate(measure)
    for name in analysis.models:
        yield name, "changed", analysis.estimate("changed", model=name)


def even(analysis: Any) -> Iterator[tuple[str, str, Estimate]]:
    for name in analysis.models:
        yield name, "even", analysis.estimate("even", model=name, condition="none")


CASES: dict[str, tuple[str, Headlines]] = {
    "open-mindedness": ("open-mindedness-null-conditions", open_minded),
    "stance-stability": ("stance-stability-null-conditions", stable),
    "deliberation": ("deliberation-null-conditions", deliberated),
    "even-handedness": ("even-handedness-defaults", even),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Any, Headlines]:
    """A study, a stored run with null conditions, its analysis and its headlines."""
    run, headlines = CASES[request.param]
    folder = unpack(run, tmp_path_factory.mktemp(request.param))
    return request.param, folder, measure_run(request.param, folder), headlines


def test_a_headline_has_the_same_value_in_its_section_and_beside_every_null(case: Any) -> None:
    _, _, outcome, headlines = case
    found = {(model, measure): one.value for model, measure, one in headlines(outcome.analysis)}
    compared = [one for _, _, one in outcome.against if (one.model, one.measure) in found]
    assert compared
    for one in compared:
        assert one.observed.value == pytest.approx(found[one.model, one.measure], nan_ok=True)
        if not isnan(one.difference.value):
            assert one.difference.value == pytest.approx(one.observed.value - one.under_null.value)


def test_a_comparison_shows_that_value_too(case: Any) -> None:
    study, folder, outcome, headlines = case
    found = {(model, measure): one.value for model, measure, one in headlines(outcome.analysis)}
    for row in overton.compare(folder, folder).rows:
        measure, model = row.measure.name, row.base.partition(" [")[0]
        model = "" if (model, measure) not in found else model
        if (model, measure) in found:
            assert row.base_number.value == pytest.approx(found[model, measure], nan_ok=True), study


def test_the_distance_from_one_prompt_asked_twice_is_one_number(tmp_path: Path) -> None:
    run = unpack("even-handedness-defaults", tmp_path)
    outcome = measure_run("even-handedness", run)
    for _, _, one in outcome.against:
        own, null, below = (
            outcome.analysis.estimate(one.measure, model=one.model, **of)
            for of in ({}, {"variant": "null/same-prompt"}, {"against": "null/same-prompt"})
        )
        assert (null.value, below.value) == (one.under_null.value, one.difference.value)
        assert (below.low, below.high) == pytest.approx((one.difference.low, one.difference.high), nan_ok=True)
        assert null.n < own.n  # the null is asked in some of the trials: items differ


def test_the_number_of_pairs_in_a_sentence_is_that_of_the_pairs_behind_the_share(tmp_path: Path) -> None:
    run = overton.run(
        "even-handedness",
        models=["m=simulated/advocate"],
        judge="simulated/even-judge",
        model_args={"m": {"declines": "0.6"}},
        out=tmp_path / "run",
    )
    outcome = measure_run("even-handedness", run.path)
    even = outcome.analysis.estimate("even")
    assert even.n < outcome.analysis.tables["counts"].row(0, named=True)["pairs"]
    said = next(one.sentence for one in outcome.findings if "helps both sides alike" in one.sentence)
    assert f"of {even.n} pairs" in said


def test_a_profile_gives_open_mindedness_as_the_report_does(tmp_path: Path) -> None:
    run = unpack("open-mindedness-defaults", tmp_path)
    analysis = overton.analyze("open-mindedness", run)
    values = {(row["model"], row["title"]): row["estimate"] for row in overton.profile(run).to_json()["rows"]}
    for name in analysis.models:
        score = analysis.estimate("open_mindedness_cross_fitted", model=name)
        assert values[name, "By arguments: open-mindedness"] == score.value
    assert open_run(run).study.measuring.profile.by_item.keys() >= {"open_mindedness_cross_fitted"}


def test_no_sentence_gives_the_plain_score_as_open_mindedness(tmp_path: Path) -> None:
    run = unpack("open-mindedness-null-conditions", tmp_path)
    outcome = measure_run("open-mindedness", run)
    scores = [one for one in outcome.findings if "on 'Open-mindedness'" in one.sentence]
    assert scores
    score = outcome.analysis.estimate("open_mindedness_cross_fitted").value
    assert all(f"scores {score:.1f} on" in one.sentence for one in scores)
    assert not any("plain" in one.sentence or "published" in one.sentence for one in outcome.findings)
    measures = {one.measure for _, _, one in outcome.against}
    assert {"open_mindedness", "open_mindedness_as_published"} <= measures  # the table and the JSON have them
