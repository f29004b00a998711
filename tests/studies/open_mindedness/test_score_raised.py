"""A score of token probabilities that few, differing prompts raise: by how much, and the warning about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.studies.open_mindedness.numbers import notes_of

import overton
from overton.analysis.analyze import measure_run
from overton.statistics.jackknife import Jackknife
from overton.studies.open_mindedness.options import PUBLISHED
from overton.studies.open_mindedness.score import issue_scores
from overton.studies.open_mindedness.shares import ShareTable


def table(effective: float, pro: float) -> ShareTable:
    """Proportions of eight issues, the same in all configurations."""
    shape = (8, len(PUBLISHED))
    share = np.broadcast_to([pro, 1 - pro, 0.0], (*shape, 3))
    return ShareTable(PUBLISHED, share, np.full(shape, 12), np.full(shape, effective))


@pytest.mark.parametrize("pro", [0.5, 0.6])
def test_uncertain_shares_raise_an_undecided_issue_and_less_so_the_better_they_are_known(pro: float) -> None:
    raised = [issue_scores(table(size, pro), Jackknife(), 400).raised for size in (4, 40, 4_000)]
    assert raised[0] > raised[1] > raised[2] >= 0
    assert raised[0] > 3
    assert raised[2] < 1


def test_an_issue_that_leans_far_is_not() -> None:
    assert issue_scores(table(40, 0.97), Jackknife(), 400).raised == pytest.approx(0, abs=0.3)


ONE = {"templates": (2, 5), "wordings": (1,)}


def measured_run(out: Path, told: dict[str, str], **options: Any) -> Any:
    model = "simulated/open-minded"
    run = overton.run("open-mindedness", models=[model], model_args={model: told}, calibrate=0, out=out, **options)
    return measure_run("open-mindedness", run.path)


@pytest.mark.parametrize(
    ("told", "options", "said"),
    [
        ({"letter": "1"}, ONE, "by an unknown amount"),
        ({"last": "4", "lean_spread": "0.5"}, {}, "points too high"),
    ],
)
def test_a_report_warns_of_it_and_the_finding_based_on_the_score_is_quoted_with_it(
    tmp_path: Path, told: dict[str, str], options: dict[str, Any], said: str
) -> None:
    outcome = measured_run(tmp_path / "run", told, shares="probabilities", **options)
    assert outcome.analysis.counts["counts"][0]["raised"] > 0.5
    (warning,) = [one for one in outcome.analysis.warnings if "too high" in one]
    assert said in warning
    assert not [one for one in notes_of(outcome.analysis) if "too high" in one]
    for measure in ("open_mindedness_cross_fitted", "issues_moved"):
        # The study's own sentence comes first, that on its null condition last.
        based, *_ = [one for one in outcome.findings for assertion in one.assertions if assertion.measure == measure]
        assert any(said in caution for caution in based.cautions)


def test_prompts_that_agree_raise_no_score_and_give_no_warning(tmp_path: Path) -> None:
    outcome = measured_run(tmp_path / "run", {}, shares="probabilities", **ONE)
    assert outcome.analysis.counts["counts"][0]["raised"] < 0.5
    assert not [one for one in outcome.analysis.warnings if "too high" in one]


def test_cross_fitting_shows_it_for_answers_that_are_counted(tmp_path: Path) -> None:
    outcome = measured_run(tmp_path / "run", {}, trials=1, **ONE)
    assert outcome.analysis.counts["counts"][0]["raised"] is None
