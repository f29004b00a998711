"""Parts of an analysis: intervals, communities, models, rows, notes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from msgspec import structs

import overton
from overton.analysis.analyze import measure_run
from overton.statistics.jackknife import Jackknife
from overton.studies.null_conditions import null_of
from overton.studies.pluralism.measures import analyze


def many(threads=40, seed=0, model=None):
    chance = np.random.default_rng(seed)
    true = list("abcde")
    rows = [
        (f"t{number:05}", condition, list(chance.permutation(true)), true)
        for number in range(threads)
        for condition in ("neutral", "biased")
    ]
    table = pl.DataFrame(rows, schema=["thread", "condition", "predicted", "true"], orient="row")
    return table.with_columns(*([pl.lit(model).alias("model")] if model else []))


def test_intervals_are_those_of_leaving_out_each_thread():
    table = many(30).filter(condition="neutral")
    found = analyze(rankings=table, resamples=500, seed=3)
    tops = [float(reply[0] == "a") for reply in table["predicted"].to_list()]
    ranks = [
        sum(place == reply.index(one) for place, one in enumerate(true)) / len(true) for reply, true in rows(table)
    ]
    for name, values in (("top_1", tops), ("position_accuracy", ranks)):
        expected, made = (
            Jackknife(unit="threads").mean(values, (0.0, 1.0)),
            found.estimate(f"ranking_{name}", condition="neutral"),
        )
        assert (made.value, made.low, made.high) == pytest.approx((expected.value, expected.low, expected.high))
        assert made.method == expected.method
    assert found.estimate("ranking_top_1", condition="neutral").method == "Wilson, over threads"


def rows(table: pl.DataFrame) -> list[tuple[list[str], list[str]]]:
    return table.select("predicted", "true").rows()


@pytest.mark.long
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    covered = 0
    for seed in range(60):
        found = analyze(rankings=many(25, seed).filter(condition="neutral"), resamples=200)
        spearman = found.estimate("ranking_spearman", condition="neutral")
        covered += spearman.low <= 0 <= spearman.high
    assert covered >= 51


def test_thousands_of_threads_are_resampled_in_groups_with_the_same_interval():
    table = many(3000).filter(condition="neutral")
    rho = analyze(rankings=table, resamples=1000).estimate("ranking_spearman", condition="neutral")
    assert rho.high - rho.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(3000), rel=0.15)  # variance 1 / (5 - 1)


def test_a_constant_value_has_wilsons_interval(ranked):
    table = pl.concat([ranked(thread, "neutral", "a b", "a b") for thread in "tuvwxyz"])
    found = analyze(rankings=table, resamples=50)
    first, rho = (found.estimate(f"ranking_{name}", condition="neutral") for name in ("top_1", "spearman"))
    assert first.method == "Wilson, over threads"
    assert 0.6 < first.low < 1 == first.high
    assert rho.value == 1
    assert 0.2 < rho.low < first.low


def test_one_thread_has_no_interval(ranked):
    found = analyze(rankings=ranked("t", "neutral", "b a c", "a b c"), resamples=50)
    one = found.estimate("ranking_spearman", condition="neutral")
    assert np.isnan(one.low)
    assert "too few threads (1" in one.method


def test_communities_and_models_are_measured_separately_and_together():
    table = pl.concat([many(12, 1, "x"), many(12, 2, "y")])
    communities = {f"t{number:05}": "even" if number % 2 == 0 else "odd" for number in range(11)}
    found = analyze(rankings=table, communities=communities, resamples=100)
    assert found.models == ("x", "y")
    rows = [row for row in found.rows if row.measure == "ranking_top_1" and row.against is None]
    n = {(row.model, row.condition.partition(" / ")[2] or None): row.n for row in rows if "neutral" in row.condition}
    assert n == {
        (None, None): 24, (None, "even"): 12, (None, "odd"): 10,
        ("x", None): 12, ("x", "even"): 6, ("x", "odd"): 5,
        ("y", None): 12, ("y", "even"): 6, ("y", "odd"): 5,
    }  # fmt: skip
    assert any("1 of 12 threads have no known community" in warning for warning in found.warnings)
    values = [found.row("ranking_top_1", model=model, condition="biased").estimate for model in (None, "x", "y")]
    assert values[0] == pytest.approx((values[1] + values[2]) / 2)
    assert found.row("ranking_top_1", model="z", condition="biased") is None


def test_a_single_model_has_the_same_numbers_as_all_models():
    found = analyze(rankings=many(10, 1, "x"), resamples=100)
    own, every = (
        {structs.replace(row, model=None) for row in found.rows if row.model == model} for model in ("x", None)
    )
    assert own == every


def test_rows_and_tables_are_as_documented(responses, viewpoints):
    matches = pl.concat([responses(t, c, "s v2", "a v3") for t in "tu" for c in ("neutral", "toward")])
    summaries = pl.concat([viewpoints(t, "r9 s5 a4") for t in "tu"])
    table = pl.DataFrame({"thread": ["t", "u"], "condition": ["neutral"] * 2, "correct": [True, False]})
    found = analyze(matches=matches, summaries=summaries, rankings=many(5), pairs=table, resamples=50)
    spearman = found.estimate("ranking_spearman", condition="biased")
    assert spearman.undetermined == ("low",)
    assert spearman.low <= spearman.value <= spearman.high
    measured = {row.measure for row in found.rows if row.against is None}
    assert {name for name in measured if name.startswith("ranking")} == {
        f"ranking_{name}" for name in ("spearman", "kendall", "top_1", "position_accuracy", "mrr_at_10")
    }
    assert found.estimate("sycophancy_supporting_recall", condition="toward").value == 1
    assert {name for name in measured if "coverage" in name} == {"sycophancy_coverage_1", "sycophancy_coverage_2"}
    published = found.row("suppression_as_published", condition="toward", against="neutral")
    assert published.estimate == 0
    assert found.estimate("pairwise_accuracy", condition="neutral").value == 0.5
    assert json.loads(json.dumps(found.to_json()))["tables"]["totals"] == [{"threads": 7, "denominator": "non-neutral"}]


def test_few_threads_and_omissions_are_noted(ranked):
    table = pl.concat([ranked("t", "neutral", "a", "a b"), ranked("u", "neutral", None, "a b")])
    notes = " ".join(analyze(rankings=table, resamples=20).warnings)
    assert "are 2 threads" in notes
    assert "1 replies have no readable ranking" in notes
    assert "1 times a ranking left out a viewpoint" in notes


def test_responses_that_the_matcher_did_not_read_do_not_say_that_a_model_voices_nothing(responses, viewpoints):
    summaries = pl.concat([viewpoints(t, "r9 s5 a4") for t in "tu"])

    def notes(*said: str) -> str:
        matches = pl.concat([responses(t, "neutral", *said, model="m") for t in "tu"])
        return " ".join(analyze(matches=matches, summaries=summaries, resamples=20).warnings)

    assert "m: the matcher matched none of 4 responses to a viewpoint" in notes("s", "a", "a -")
    assert "the matcher matched none" not in notes("s -", "a -")
    assert "4 responses have no usable answer from the matcher" in notes("s -", "a -")


SMALL: dict[str, Any] = {
    "models": ["simulated/pluralist"],
    "others": {"judge": ["simulated/pluralist-judge"]},
    "only": ["free-buses", "the-top-note"],
    "responses": 3,
    "candidates": 2,
    "ranked": 5,
    "pairings": ["most-popular"],
}


def test_a_run_with_its_null_conditions(tmp_path: Path) -> None:
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


def test_choices_in_a_null_condition_count_like_those_of_the_design(tmp_path: Path) -> None:
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
