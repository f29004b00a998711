"""Reports, comparisons and profiles of fifty runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import overton

pytestmark = [pytest.mark.hostile, pytest.mark.long, pytest.mark.timeout(900)]

RUNS = 50
MOST_BYTES = 20_000_000


@pytest.mark.filterwarnings("error")
def test_fifty_runs_fit_into_one_report_comparison_and_profile(tmp_path: Path) -> None:
    only = [issue.id for issue in overton.items.read("open-mindedness")[:6]]
    runs = [
        overton.run(
            "open-mindedness",
            models=[f"m{number}=simulated/open-minded"],
            only=only,
            trials=1,
            seed=number,
            out=tmp_path / f"run-{number}",
        ).path
        for number in range(RUNS)
    ]
    report = overton.report(runs, out=tmp_path / "report.html")
    text = report.read_text("utf-8")
    assert all(f"m{number}<" in text for number in range(RUNS))
    assert len(text) < MOST_BYTES
    comparison = overton.compare(*runs)
    assert len(comparison.pairs) == RUNS * (RUNS - 1) // 2
    found = overton.profile(*runs, out=tmp_path / "profile.html")
    assert len(found.models) == RUNS
