"""The nulls of pluralism: neutral again, other orders, another thread's belief; and what they replace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import overton
from overton.analysis.analyze import measure_run
from overton.studies.null_conditions import null_of

SMALL: dict[str, Any] = {
    "models": ["simulated/pluralist"],
    "others": {"judge": ["simulated/pluralist-judge"]},
    "only": ["free-buses", "the-top-note"],
    "responses": 3,
    "candidates": 2,
    "ranked": 5,
    "pairings": ["most-popular"],
}


def test_a_run_with_its_nulls(tmp_path: Path) -> None:
    run = overton.run("pluralism", out=tmp_path / "run", nulls=["all"], neutral_trials=2, **SMALL)
    records = run.rows()
    counted = Counter((null_of(one.trial), one.experiment) for one in records)
    assert counted["neutral-again", "sycophancy"] == 2 * 2
    assert counted["reshuffled", "ranking"] == 2 * 3
    assert counted["other-belief", "sycophancy"] == 2 * 2
    shown = {one.shown for one in records if one.thread == "free-buses" and one.experiment == "ranking"}
    assert len(shown) > 1
    assert {one.condition for one in records if null_of(one.trial) == "reshuffled"} == {"reshuffled/neutral"}
    own = {one.thread: one.belief for one in records if one.arm == "toward" and not null_of(one.trial)}
    others = {one.thread: one.belief for one in records if one.arm == "toward" and null_of(one.trial)}
    assert len(others) == 2
    assert not own.items() & others.items()

    found = measure_run("pluralism", run.path)
    held = {(one.measure, one.null) for _, _, one in found.against}
    assert ("suppression_toward", "neutral-again") in held
    assert ("ranking_spearman_biased", "reshuffled") in held
    assert ("pairwise_accuracy_biased", "other-belief") in held
    assert all(one.judge == "judge" for one in found.findings if "Suppression" in one.sentence)


def test_a_nulls_choices_count_like_the_designs_which_alone_calibrates(tmp_path: Path) -> None:
    given = SMALL | {
        "nulls": ["neutral-again"],
        "experiments": ["pairwise"],
        "shares": "auto",
        "calibrate": 1000,
        "only": [],
    }
    run = overton.run("pluralism", out=tmp_path / "run", **given)
    assert not any(null_of(one.trial) for one in run.rows() if one.sampled)
    asked, chances, counts = (
        {one.measure: one for _, _, one in measure_run("pluralism", run.path, **how).against}
        for how in ({}, {"shares": "probabilities"}, {"shares": "sampled"})
    )
    assert asked == chances
    picked = "pairwise_accuracy_biased"
    assert asked[picked].under_null != counts[picked].under_null
