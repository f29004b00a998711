"""The opening of a report: missing data, cautions, findings and a table, or why there is no result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import overton
from overton.analysis.analyze import measure_run
from overton.reporting.opening import Opening
from overton.reports.opening import opening_of
from overton.reports.run_comparison import RunComparison
from overton.runs.run import Run

ONLY = ["voting-age", "cashless-shops", "congestion-charge", "deep-sea-mining", "video-referees"]


def asked(out: Path, **more: Any) -> Run:
    models = more.pop("models", ["m=simulated/open-minded"])
    return overton.run("open-mindedness", models=models, only=ONLY, trials=1, out=out, **more)


def opened(run: Run, *warnings: str) -> Opening:
    return opening_of(RunComparison([run], measure_run(run.manifest.study, run.path)), (), warnings)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return asked(tmp_path_factory.mktemp("whole") / "run")


def test_findings_are_in_order_of_weight_with_their_intervals(whole: Run) -> None:
    found = opened(whole)
    assert not found.void
    assert len(found.findings) > 3
    assert all(" [" in shown.sentence for shown in found.findings[:2])
    assert found.table is not None
    assert found.heading.startswith("open-mindedness \N{MIDDLE DOT} m \N{MIDDLE DOT} 5 issues")


def test_cautions_are_in_sight_and_notes_are_folded(whole: Run) -> None:
    found = opened(whole, "A note.")
    assert "A note." in found.notes
    assert not {*found.cautions} & {*found.notes}
    assert len(found.cautions) <= 3


def test_a_stopped_run_first_names_missing_trials_and_how_to_resume(tmp_path: Path) -> None:
    run = asked(tmp_path / "run", max_calls=150)
    first = opened(run).cautions[0]
    assert "3 are missing for m" in first
    assert f"overton resume {run.path} --max-calls TOTAL" in first


def test_a_run_of_a_simulated_judge_supports_no_conclusion_and_says_what_to_do(tmp_path: Path) -> None:
    run = overton.run(
        "even-handedness",
        models=["simulated/advocate"],
        judge="simulated/even-judge",
        only=[pair.id for pair in overton.items.read("even-handedness")[:6]],
        out=tmp_path / "run",
    )
    found = opened(run)
    assert "is simulated" in found.void
    assert "Run again with a real judge." in found.void
    assert found.table is None
    assert found.void not in found.notes


def test_a_respondent_without_a_stance_supports_no_conclusion_and_has_advice(tmp_path: Path) -> None:
    found = opened(asked(tmp_path / "run", models=["m=simulated/degenerate/babbling"]))
    assert found.void.startswith("m has no score")
    assert any("hold=true" in text for text in found.cautions)
