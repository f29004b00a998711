"""How much temperature changes: variances between a model's temperatures and within its topics."""

from __future__ import annotations

from math import isnan

import numpy as np
import polars as pl
import pytest

from overton.studies.stance_stability.measures import analyze
from overton.studies.stance_stability.temperature import WITHIN

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


def pearson(rows: pl.DataFrame, measure: str) -> float:
    known = rows.drop_nulls(["source_reuse", measure])
    return float(np.corrcoef(known["source_reuse"], known[measure])[0, 1])


@pytest.mark.parametrize("measure", ["confidence", "stance_changes"])
def test_correlations_are_pearsons_pooled_and_within_models(of_many, measure):
    rows, key = of_many.listed["conversations"], f"reuse_with_{measure}"
    pooled = of_many.row(key)
    assert pooled.estimate == near(pearson(rows, measure))
    for model in ("a", "b"):
        assert of_many.row(key, model=model).estimate == near(pearson(rows.filter(model=model), measure))
    known = rows.drop_nulls(["source_reuse", measure])
    centred = known.with_columns(pl.col("source_reuse", measure) - pl.mean("source_reuse", measure).over("model"))
    assert of_many.row(key, facet="models", condition=WITHIN).estimate == near(pearson(centred, measure))
    assert pooled.low < pooled.estimate < pooled.high
    assert pooled.n == rows[measure].count()


def test_models_that_differ_in_both_can_alone_make_a_pooled_correlation(talk):
    tables = []
    for model, stances, pages in (("low", ["sss", "ssc"], "abc"), ("high", ["scs", "scs"], "aaa")):
        tables += [talk(stances[k % 2], cited=list(pages), name=f"{model}{k}", model=model) for k in range(20)]
    analysis = analyze(pl.concat(tables), resamples=50)
    key = "reuse_with_stance_changes"
    assert analysis.row(key).estimate > 0.9
    low = analysis.row(key, model="low").number
    assert isnan(low.value)
    assert "does not vary" in low.method
    assert isnan(analysis.row(key, facet="models", condition=WITHIN).number.value)


def test_re_use_and_changes_by_turn(talk):
    turns = pl.concat(
        [
            talk("ssc", cited=["a", "a", "b"], name="one"),
            talk("scc", cited=["a", "b", "a b"], name="two"),
            talk("sc", cited=["a", "a"], name="short"),
        ]
    )
    analysis = analyze(turns, resamples=50)
    reuse, changed = (
        {row.condition: row for row in analysis.rows_of(f"{name}_at_turn", "turn")} for name in ("reuse", "changed")
    )
    assert reuse.keys() == changed.keys() == {"2", "3"}
    assert (reuse["2"].estimate, reuse["2"].n) == (near(2 / 3), 3)
    assert (reuse["3"].estimate, reuse["3"].n) == (near(1 / 2), 2)
    assert changed["2"].estimate == near(2 / 3)
    assert changed["3"].estimate == near(1 / 2)


def test_the_two_ways_to_label_are_compared_turn_by_turn(talk):
    analysis = analyze(pl.concat([talk("sscc", premise="sscs", name=f"c{k}") for k in range(5)]), resamples=10)
    assert analysis.estimate("premise_same").value == near(0.75)
    assert analysis.estimate("premise_kappa").value == near(0.5)
