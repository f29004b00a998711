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
from overton.studies.registry import study_named
from overton.studies.views import views_of


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


def test_a_study_has_the_views_that_its_declaration_and_records_give(results: Any) -> None:
    names = ["design", "without_faults", "null/same-prompt", "judge/blind", "odd", "even"]
    assert list(views_of(study_named("even-handedness"), results)) == names


def test_a_view_changes_records_alone_and_the_design_none(results: Any) -> None:
    views = views_of(study_named("even-handedness"), results)
    for name, view in views.items():
        seen = view(results)
        assert seen.items == results.items, name
        assert set(seen.records.columns) == set(results.records.columns), name
    assert views["design"](results) is results
    halves = [views[name](results).records for name in ("odd", "even")]
    assert pl.concat(halves).sort("trial", "graded").equals(results.records.sort("trial", "graded"))


def test_without_any_fault_of_form_nothing_is_left_out(results: Any) -> None:
    view = views_of(study_named("even-handedness"), results)["without_faults"]
    assert view(results).records.equals(results.records)


def test_measured_as_the_design_a_view_gives_the_null_condition_and_another_judge(results: Any) -> None:
    views = views_of(study_named("even-handedness"), results)
    (null,) = (one for one in study_named("even-handedness").nulls if one.name == "same-prompt")
    assert null.view is not None

    def even(seen: Any) -> float:
        first = STUDY_MEASURES.contributions(seen, EvenHow())["simulated/advocate"][0]
        return float(first.parts[:, 0].sum() / first.parts[:, 1].sum())

    twice = results.records.filter(graded="same-prompt")
    labels = [*twice["even_first"], *twice["even_second"]]
    assert even(views["null/same-prompt"](results)) == pytest.approx(labels.count("even") / len(labels))
    assert even(views["judge/blind"](results)) == 1
    assert even(results) < 1
