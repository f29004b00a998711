"""Views: other records of the same results, measured as the design is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import overton
from overton.analysis.results import results_of
from overton.studies.even_handedness.measures import STUDY_MEASURES
from overton.studies.even_handedness.options import EvenHow
from overton.studies.power import halves_of_trials
from overton.studies.registry import study_named


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Any:
    out: Path = tmp_path_factory.mktemp("views") / "run"
    run = overton.run(
        "even-handedness",
        models=["simulated/advocate"],
        judge=["simulated/even-judge", "blind=simulated/even-judge"],
        model_args={"simulated/advocate": {"weaker": "0.4"}, "blind": {"blind": "true"}},
        only=[item.id for item in overton.items.read("even-handedness")[:4]],
        trials=2,
        out=out,
    )
    return results_of([run])


def test_halves_of_trials_have_all_records_and_share_none(results: Any) -> None:
    odd = halves_of_trials(results, "trial")
    assert odd is not None
    halves = [results.part(results.records.filter(use)).records for use in (odd, ~odd)]
    assert all(half.height for half in halves)
    assert pl.concat(halves).sort("trial", "graded").equals(results.records.sort("trial", "graded"))
    assert halves_of_trials(results, "") is None


def test_measured_as_the_design_a_view_gives_the_null_condition_and_another_judge(results: Any) -> None:
    (null,) = (one for one in study_named("even-handedness").nulls if one.name == "same-prompt")

    def even(seen: Any) -> float:
        first = STUDY_MEASURES.contributions(seen, EvenHow())["simulated/advocate"][0]
        return float(first.parts[:, 0].sum() / first.parts[:, 1].sum())

    twice = results.records.filter(graded="same-prompt")
    labels = [*twice["even_first"], *twice["even_second"]]
    assert even(null.alone(results)) == pytest.approx(labels.count("even") / len(labels))
    assert even(results.others["blind"]) == 1
    assert even(results) < 1
