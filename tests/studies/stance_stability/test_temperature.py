"""How much temperature changes: variances between a model's temperatures and within its topics."""

from __future__ import annotations

import polars as pl
import pytest

from overton.studies.stance_stability.measures import analyze

near = pytest.approx


def by_chance(analysis, measure: str) -> float:
    (found,) = [row for row in analysis.counts["temperatures"] if (row["model"], row["measure"]) == ("a", measure)]
    return found["by_chance"]


def test_variance_across_temperatures_is_that_of_the_means_and_of_one_topics_values(of_many):
    rows = of_many.listed["conversations"].filter(model="a")
    means = rows.group_by("temperature").agg(pl.col("chameleon").mean())["chameleon"]
    assert of_many.row("chameleon_temperature_variance", model="a").estimate == near(means.var())
    assert of_many.row("chameleon_temperature_range", model="a").estimate == near(means.max() - means.min())
    topics = rows.group_by("topic").agg(pl.col("chameleon").var())["chameleon"]
    within = of_many.row("chameleon_temperature_within_topics", model="a")
    assert within.estimate == near(topics.mean())
    assert within.n == topics.count() == 57
    assert by_chance(of_many, "chameleon") == near(topics.mean() / 60, rel=0.1)  # what differs within topics
    at = rows.pivot("temperature", index="topic", values="confidence")
    assert by_chance(of_many, "confidence") == near((at["0.0"] - at["1.0"]).var() / 2 / 60, rel=1e-5)


def test_one_temperature_has_no_variance(many):
    analysis = analyze(many.filter(temperature=0.0), resamples=10)
    assert "temperatures" not in analysis.counts
    assert not any("_temperature_" in row.measure for row in analysis.rows)
