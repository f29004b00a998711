"""Means, bands, correlations, variances, turns and counts over groups of conversations."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import polars as pl
import pytest
from overton.studies.stance_stability.measures.analysis import CHAMELEON_BANDS, REUSE_BANDS
from overton.studies.stance_stability.measures.groups import band

from overton.studies.stance_stability.measures import Analysis, analyze

near = pytest.approx


@pytest.fixture(scope="module")
def many() -> pl.DataFrame:
    """60 topics of six turns at two temperatures with two models, of which 'b' changes more and re-uses more."""
    rng = np.random.default_rng(3)
    labels = np.array(["supportive", "critical", "balanced", "unclear"])
    rows: list[dict[str, Any]] = []
    for model, bold in (("a", 0.2), ("b", 0.7)):
        for temperature in (0.0, 1.0):
            for topic in range(60):
                stance = "balanced"
                for turn in range(1, 7):
                    stance = str(rng.choice(labels)) if rng.random() < bold else stance
                    pages = [f"https://s{rng.integers(3 if rng.random() < bold else 60)}.org/{k}" for k in range(2)]
                    rows.append(
                        {
                            "conversation": f"t{topic}/{temperature}",
                            "turn": turn,
                            "stance": stance,
                            "model": model,
                            "temperature": temperature,
                            "domain": f"d{topic % 3}",
                            "topic": f"t{topic}",
                            "confidence": float(rng.choice([0.33, 0.67, 1.0])),
                            "cited": pages,
                        }
                    )
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def analysis(many: pl.DataFrame) -> Analysis:
    return analyze(many, resamples=400)


def rows_of(analysis: Analysis, **where: Any) -> pl.DataFrame:
    return analysis.conversations.filter(**where)


def test_a_groups_means_and_deviations_are_those_of_its_conversations(analysis):
    groups = [
        (analysis.overall, {}),
        (analysis.models["b"].overall, {"model": "b"}),
        (analysis.domains["d1"], {"domain": "d1"}),
        (analysis.temperatures["1.0"], {"temperature": 1.0}),
        (analysis.models["a"].temperatures["0.0"], {"model": "a", "temperature": 0.0}),
        (analysis.models["b"].domains["d2"], {"model": "b", "domain": "d2"}),
    ]
    for group, where in groups:
        rows = rows_of(analysis, **where)
        assert group.conversations == rows.height
        for name, measure in group.measures.items():
            assert measure.mean.value == near(rows[name].mean(), abs=1e-9)
            assert measure.sd.value == near(rows[name].std(), abs=1e-9)
            assert measure.mean.n == rows[name].count()


def test_an_interval_over_conversations_is_about_that_of_students_t(many):
    analysis = analyze(many, over="conversations")
    rows = rows_of(analysis, model="b")
    mean = analysis.models["b"].overall.measures["chameleon"].mean
    half = 1.98 * rows["chameleon"].std() / np.sqrt(rows.height)
    assert mean.high - mean.low == near(2 * half, rel=0.15)
    assert mean.method == "Student's t over conversations, corrected for skewness"


def test_with_more_conversations_than_are_drawn_one_by_one_intervals_stay_as_wide_as_they_should(talk):
    turns = pl.concat([talk("sc" if number % 3 else "ss", name=f"c{number:04d}") for number in range(2400)])
    mean = analyze(turns).overall.measures["stance_changes"].mean
    assert mean.value == near(2 / 3)
    assert mean.high - mean.low == near(2 * 1.96 * np.sqrt(2 / 9 / 2400), rel=0.12)


def test_intervals_are_over_topics_unless_asked_otherwise_or_they_are_not_told(talk):
    turns = pl.concat(
        [
            talk("sc" if topic % 3 else "ss", name=f"{topic}/{again}", topic=f"t{topic}")
            for topic in range(40)
            for again in range(4)
        ]
    )
    by_topic, by_conversation = (
        analyze(turns, **over).overall.measures["stance_changes"].mean for over in ({}, {"over": "conversations"})
    )
    assert by_topic.method == "Student's t over topics, corrected for skewness"
    assert by_topic == analyze(turns, over="topics").overall.measures["stance_changes"].mean
    assert "conversations" in analyze(turns.drop("topic")).overall.measures["stance_changes"].mean.method
    assert by_topic.n == by_conversation.n == 160
    assert by_topic.high - by_topic.low == near(2 * (by_conversation.high - by_conversation.low), rel=0.15)


def test_bands_hold_their_bounds_and_rounding_does_not_push_a_score_out():
    scores = np.array([0.29, 0.1 + 0.2, 0.3 - 1e-15, 0.5, 0.51, np.nan])
    assert band(scores, CHAMELEON_BANDS).tolist() == [0, 1, 1, 1, 2, -1]
    assert band(np.array([0.6, 0.2 * 3, 0.61]), REUSE_BANDS).tolist() == [1, 1, 2]


def test_shares_of_bands_sum_to_one_and_those_over_a_value_are_strictly_above(analysis):
    overall, scores = analysis.overall, analysis.conversations["chameleon"].round(12)
    assert sum(one.value for one in overall.bands.values()) == near(1)
    assert sum(one.value for one in overall.reuse_bands.values()) == near(1)
    assert overall.over[0.6].value == near((scores > 0.6).mean())
    assert overall.over[0.7].value == near((scores > 0.7).mean())


def test_a_share_that_is_never_otherwise_has_wilsons_interval(talk):
    turns = pl.concat([talk("ss", cited=["a", "b"], name=f"c{k}") for k in range(10)])
    share = analyze(turns, resamples=50).overall.over[0.6]
    assert (share.value, share.low) == (0, 0)
    assert share.high == near(0.278, abs=0.001)
    assert share.method == "Wilson, over conversations"


def test_correlations_are_pearsons_pooled_and_within_models(analysis):
    rows = analysis.conversations
    for one in analysis.correlations:
        assert one.pooled.value == near(pearson(rows, one.measure))
        for model in ("a", "b"):
            assert one.models[model].value == near(pearson(rows.filter(model=model), one.measure))
        known = rows.drop_nulls(["source_reuse", one.measure])
        centred = known.with_columns(
            pl.col("source_reuse", one.measure) - pl.mean("source_reuse", one.measure).over("model")
        )
        assert one.within.value == near(pearson(centred, one.measure))
        assert one.pooled.low < one.pooled.value < one.pooled.high
        assert one.pooled.n == rows[one.measure].count()


def pearson(rows: pl.DataFrame, measure: str) -> float:
    known = rows.drop_nulls(["source_reuse", measure])
    return float(np.corrcoef(known["source_reuse"], known[measure])[0, 1])


def test_models_that_differ_in_both_can_alone_make_a_pooled_correlation(talk):
    tables = []
    for model, stances, pages in (("low", ["sss", "ssc"], "abc"), ("high", ["scs", "scs"], "aaa")):
        tables += [talk(stances[k % 2], cited=list(pages), name=f"{model}{k}", model=model) for k in range(20)]
    (changes,) = [
        one for one in analyze(pl.concat(tables), resamples=50).correlations if one.measure == "stance_changes"
    ]
    assert changes.pooled.value > 0.9
    assert isnan(changes.models["low"].value)
    assert "does not vary" in changes.models["low"].method
    assert isnan(changes.within.value)


def test_variance_across_temperatures_is_that_of_the_means_and_of_one_topics_values(analysis):
    (spread,) = [one for one in analysis.spreads if (one.model, one.measure) == ("a", "chameleon")]
    rows = rows_of(analysis, model="a")
    means = rows.group_by("temperature").agg(pl.col("chameleon").mean())["chameleon"]
    assert spread.variance.value == near(means.var())
    topics = rows.group_by("topic").agg(pl.col("chameleon").var())["chameleon"]
    assert spread.within_topics.value == near(topics.mean())
    assert spread.within_topics.n == topics.count() == 57
    assert spread.by_chance == near(topics.mean() / 60, rel=0.1)  # what differs within topics, over the topics
    (even,) = [one for one in analysis.spreads if (one.model, one.measure) == ("a", "confidence")]
    at = rows.pivot("temperature", index="topic", values="confidence")
    assert even.by_chance == near((at["0.0"] - at["1.0"]).var() / 2 / 60, rel=1e-5)


def test_one_temperature_has_no_variance_and_the_reason_is_given(many):
    one = analyze(many.filter(temperature=0.0), resamples=10)
    assert one.spreads == ()
    assert one.not_computed["spreads"] == "there is only one temperature"


def test_re_use_and_changes_by_turn(talk):
    turns = pl.concat(
        [
            talk("ssc", cited=["a", "a", "b"], name="one"),
            talk("scc", cited=["a", "b", "a b"], name="two"),
            talk("sc", cited=["a", "a"], name="short"),
        ]
    )
    found = {one.turn: one for one in analyze(turns, resamples=50).by_turn}
    assert found.keys() == {2, 3}
    assert (found[2].source_reuse.value, found[2].source_reuse.n) == (near(2 / 3), 3)
    assert (found[3].source_reuse.value, found[3].source_reuse.n) == (near(1 / 2), 2)
    assert found[2].changed.value == near(2 / 3)
    assert found[3].changed.value == near(1 / 2)


def test_bins_of_re_use_hold_their_lower_bound_and_the_last_one_both(talk):
    tables = [
        talk("s" * 11, cited=["a"] * (k + 1) + [f"x{n}" for n in range(10 - k)], name=f"c{k}") for k in (0, 3, 10)
    ]
    bins = analyze(pl.concat(tables), resamples=20).bins
    assert [(one.low, one.high) for one in bins] == [(0.0, 0.1), (0.3, 0.4), (0.9, 1.0)]


def test_topics_and_questions_of_a_domain_are_counted_once_however_often_they_are_discussed(analysis):
    assert [(one.domain, one.topics, one.questions) for one in analysis.counts] == [
        ("d0", 20, 120), ("d1", 20, 120), ("d2", 20, 120),
    ]  # fmt: skip
    assert analysis.counts[0].conversations == 80
    assert analysis.counts[0].turns == 480


def test_failed_conversations_are_left_out_entirely_and_counted(talk):
    fine, failed = talk("sc", name="fine", failure=None), talk("ss", name="failed", failure="judge: timeout: none")
    failed = failed.with_columns(failure=pl.when(pl.col("turn") == 2).then(pl.col("failure")))
    analysis = analyze(pl.concat([fine.cast({"failure": pl.String}), failed]), resamples=10)
    assert analysis.failed == 1
    assert analysis.conversations["conversation"].to_list() == ["fine"]
    assert any("left out entirely" in note for note in analysis.notes)


def test_what_is_behind_the_numbers_is_tallied_by_model(talk):
    turns = pl.concat(
        [
            talk("u-s", cited=["", "a", ""], name="x", model="a", judge_attempts=2, miscited=1),
            talk("su", cited=["a", "a"], name="y", model="b", judge_attempts=1, miscited=0),
            talk("s", cited=["a"], name="z", model="b", judge_attempts=1, miscited=0),
        ]
    )
    analysis = analyze(turns, resamples=10)
    a, b = analysis.tallies["a"], analysis.tallies["b"]
    assert (a.unclear_before, a.unlabelled, a.without_cited, a.asked_again, a.miscited) == (1, 1, 2, 3, 3)
    assert (b.unclear_carried, b.single, b.conversations, b.turns) == (1, 1, 2, 3)
    assert analysis.tally.without_retrieved is None
    assert analysis.tally.turns == 6


def test_a_judge_with_two_prompts_is_not_asked_again_by_answering_both(talk):
    once = talk("sc", name="x", judge_attempts=2).with_columns(premise_stance=pl.lit("critical"))
    again = talk("sc", name="y", judge_attempts=3).with_columns(premise_stance=pl.lit("critical"))
    assert analyze(pl.concat([once, again]), resamples=10).tally.asked_again == 2


def test_the_two_ways_to_label_are_compared_turn_by_turn(talk):
    analysis = analyze(pl.concat([talk("sscc", premise="sscs", name=f"c{k}") for k in range(5)]), resamples=10)
    assert analysis.premise.same.value == near(0.75)
    assert analysis.premise.kappa.value == near(0.5)


def test_models_share_names_of_conversations_and_temperatures_tell_them_apart(talk):
    turns = pl.concat([talk("sc", model=model, temperature=heat) for model in "ab" for heat in (0.0, 1.0)])
    names = analyze(turns, resamples=10).to_json()["conversations"]
    assert list(names) == ["a/temperature 0.0/t", "a/temperature 1.0/t", "b/temperature 0.0/t", "b/temperature 1.0/t"]
    alone = analyze(pl.concat([talk("sc", model=model) for model in "ab"]), resamples=10).to_json()["conversations"]
    assert list(alone) == ["a/t", "b/t"]


def test_json_has_the_shape_that_is_documented(analysis):
    import json

    made = json.loads(json.dumps(analysis.to_json(), allow_nan=False))
    one = next(iter(made["conversations"].values()))
    for name in ("stance_changes", "change_rate", "confidence_at_changes", "source_reuse", "chameleon"):
        assert isinstance(one[name], int | float)
    for group in (made["models"]["a"], made["models"]["a"]["sd"]):
        assert group["chameleon"].keys() == {"leads", "plain"}
        assert group["chameleon"]["plain"].keys() == {"estimate", "interval", "n", "method", "why"}
    assert made["models"]["a"]["temperatures"]["0.0"]["source_reuse"]["plain"]["n"] == 60
    assert made["domains"]["d0"]["source_reuse"]["plain"]["n"] == 80
    assert made["temperatures"]["1.0"]["over"]["0.6"]["plain"]["n"] == 119


def test_the_order_of_rows_changes_nothing_and_the_same_seed_gives_the_same(many, analysis):
    again = analyze(many.sample(fraction=1, shuffle=True, seed=5), resamples=400)
    assert again.to_json() == analysis.to_json()


def test_a_missing_turn_is_reported(talk):
    analysis = analyze(talk("ssc").filter(pl.col("turn") != 2), resamples=10)
    assert analysis.gapped == 1
    assert analysis.overall.measures["change_rate"].mean.value == 1


def test_a_temperature_of_the_endpoints_own_is_a_group_of_its_own(talk):
    turns = pl.concat(
        [
            talk("sc", name="a", temperature=None).cast({"temperature": pl.Float64}),
            talk("ss", name="b", temperature=0.5),
        ]
    )
    assert set(analyze(turns, resamples=10).temperatures) == {"0.5", "own"}
