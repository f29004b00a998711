"""Conditions against neutral: suppression, amplification, their signs, tests, and which is compared with which."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.special import logit
from scipy.stats import binomtest, wilcoxon

from overton.studies.pluralism.measures import analyze
from overton.studies.pluralism.options import comparisons, in_order

VIEWS = "r9 s8 s7 a6 a5"


def shifted(responses, viewpoints, **conditions):
    matches = pl.concat([responses("t", name.replace("_", "-"), *said) for name, said in conditions.items()])
    return analyze(matches=matches, summaries=viewpoints("t", VIEWS), resamples=20)


PARTS = ("suppression", "amplification", "asymmetry")


def shift(found, condition, against="neutral"):
    """Suppression, amplification and asymmetry in points of recall."""
    where = {"condition": condition, "against": against}
    return tuple(found.row(f"{part}_as_published", **where).estimate for part in PARTS)


def change(found, measure, condition, model=None, against="neutral"):
    """A difference, and its test."""
    row = found.row(measure, model=model, condition=condition, against=against)
    key = (measure, model, condition, against)
    tests = found.counts["tests"]
    (test,) = (one for one in tests if tuple(one[name] for name in ("measure", "model", "condition", "against")) == key)
    return row, test


def test_suppression_and_amplification_are_signed_towards_the_belief(responses, viewpoints):
    found = shifted(
        responses, viewpoints, neutral=["s v2", "a v4 v5"], toward=["s v2 v3", "a v4"], opposing=["s", "a v4 v5"]
    )
    # Toward: views against the belief are those against the reference: 1 -> 1/2; those with it 1/2 -> 1.
    assert shift(found, "toward") == (0.5, 0.5, 0)
    # Opposing: views against the belief are the supporting ones: 1/2 -> 0; those with it stay at 1.
    assert shift(found, "opposing") == (0.5, 0, 0.5)
    assert {row.condition for row in found.rows_of("suppression")} == {"toward", "opposing"}


def test_moving_away_from_the_belief_is_negative(responses, viewpoints):
    found = shifted(responses, viewpoints, neutral=["s v2 v3"], toward=["a v4 v5"])
    assert shift(found, "toward")[:2] == (-1, -1)
    for part in PARTS[:2]:
        assert found.row(part, condition="toward", against="neutral").estimate < 0


def test_shifts_are_also_given_against_the_matched_neutral_condition(responses, viewpoints):
    found = shifted(responses, viewpoints, neutral=["a v4 v5"], matched_neutral=["a v4"], toward=["s v2"])
    both = ("neutral", "matched-neutral")
    assert [shift(found, "toward", against)[0] for against in both] == [1, 0.5]
    logits = [found.row("suppression", condition="toward", against=against).estimate for against in both]
    assert logits[0] > logits[1] > 0
    assert not found.rows_of("suppression", condition="matched-neutral")
    changes = found.rows_of("sycophancy_recall", model=None, condition="matched-neutral")
    assert {row.against for row in changes} == {None, "neutral"}


def test_only_threads_that_have_both_conditions_are_compared(responses, viewpoints):
    matches = pl.concat(
        [
            responses("t", "neutral", "s v2 v3"),
            responses("t", "toward", "s v2"),
            responses("u", "neutral", "s"),
        ]
    )
    summaries = pl.concat([viewpoints("t", VIEWS), viewpoints("u", VIEWS)])
    found = analyze(matches=matches, summaries=summaries, resamples=20)
    row, _ = change(found, "sycophancy_supporting_recall", "toward")
    assert (row.estimate, row.n) == (-0.5, 1)


def names(conditions):
    return [tuple(pair) for pair in comparisons(conditions)]


def test_each_condition_is_compared_within_its_setting_and_with_its_plain_twin():
    conditions = ["neutral", "toward", "neutral+mitigated", "toward+mitigated", "toward+effort-high"]
    assert set(names(conditions)) == {
        ("toward", "neutral", "neutral"),
        ("neutral+mitigated", "neutral", "twin"),
        ("toward+mitigated", "neutral+mitigated", "neutral"),
        ("toward+mitigated", "toward", "twin"),
        ("toward+effort-high", "toward", "twin"),
    }


def test_if_no_effort_is_plain_the_first_one_is_used():
    conditions = ["biased+effort-high", "biased+effort-low", "biased+effort-high+mitigated"]
    assert set(names(conditions)) == {
        ("biased+effort-low", "biased+effort-high", "twin"),
        ("biased+effort-high+mitigated", "biased+effort-high", "twin"),
    }


def test_the_papers_words_for_conditions_are_understood_and_kept():
    assert set(names(["N", "b.t", "Biased-Opposing"])) == {
        ("b.t", "N", "neutral"),
        ("Biased-Opposing", "N", "neutral"),
    }


def test_conditions_of_unknown_names_are_measured_and_compared_with_the_neutral_one():
    assert names(["neutral", "persona"]) == [("persona", "neutral", "neutral")]
    assert in_order(["persona", "opposing+mitigated", "toward", "neutral"]) == [
        "neutral",
        "toward",
        "persona",
        "opposing+mitigated",
    ]


def ranks(values, **more):
    """Pairs of two viewpoints that are ranked right or wrong: Spearman is 1 or -1."""
    rows = [
        {"thread": f"t{number}", "condition": condition, "predicted": ["a", "b"] if right else ["b", "a"], **more}
        for condition, rights in values.items()
        for number, right in enumerate(rights)
    ]
    return pl.DataFrame(rows).with_columns(true=pl.lit(["a", "b"]))


@pytest.mark.parametrize("threads", [60, 300])
def test_the_test_is_wilcoxons_over_threads_as_scipy_has_it(threads):
    chance = np.random.default_rng(4)
    neutral, biased = chance.random(threads) < 0.8, chance.random(threads) < 0.5
    found = analyze(rankings=ranks({"neutral": neutral, "biased": biased}), resamples=100)
    row, test = change(found, "ranking_spearman", "biased")
    moved = 2.0 * (biased.astype(int) - neutral.astype(int))
    kept = moved[moved != 0]
    assert row.estimate == pytest.approx(moved.mean())
    # With differences all of one size the exact test, which SciPy does not have for ties, is the sign test.
    exact = binomtest(int((kept > 0).sum()), len(kept)).pvalue
    assert test["p"] == pytest.approx(exact if len(kept) <= 50 else wilcoxon(kept).pvalue)


def test_p_values_are_corrected_for_all_conditions_compared_by_the_same_measure():
    table = ranks({"neutral": [1] * 8, "biased": [0] * 8, "persona": [0] * 7 + [1]})
    found = analyze(rankings=table, resamples=50)
    tests = [test for test in found.counts["tests"] if test["model"] is None and test["against"] == "neutral"]
    assert {test["comparisons"] for test in tests} == {2}
    row, test = change(found, "ranking_spearman", "biased")
    assert test["p"] == pytest.approx(2 / 2**8)
    assert row.p == test["adjusted"] == pytest.approx(2 * 2 / 2**8)
    assert all(test["adjusted"] >= test["p"] for test in tests)


def test_the_fall_of_accuracy_under_bias_is_paired_within_threads():
    rows = [(f"t{number}", "neutral", True, first) for number in range(4) for first in (True, False)]
    rows += [(f"t{number}", "biased", number < 2, first) for number in range(4) for first in (True, False)]
    table = pl.DataFrame(rows, schema=["thread", "condition", "correct", "first"], orient="row")
    found = analyze(pairs=table, resamples=100)
    row, _ = change(found, "pairwise_accuracy", "biased")
    assert (row.estimate, row.n) == (-0.5, 4)
    assert change(found, "pairwise_first_pull", "biased")[0].estimate == 0


def test_several_models_on_one_thread_are_one_observation():
    table = pl.concat([ranks({"neutral": [1] * 6, "biased": [0] * 6}, model=name) for name in ("x", "y")])
    found = analyze(rankings=table, resamples=50)
    (together, test), (alone, own) = (change(found, "ranking_spearman", "biased", model) for model in (None, "x"))
    assert test["p"] == own["p"] == pytest.approx(2 / 2**6)
    assert (together.n, alone.n) == (12, 6)
    assert (test["comparisons"], own["comparisons"]) == (1, 2)


def test_the_chance_of_leaving_an_opposing_view_out_of_all_responses_is_recovered(responses, viewpoints):
    chance, voice, suppress, amplify = np.random.default_rng(11), 0.8, 0.5, 0.25
    matches, summaries = [], []
    for thread in (f"t{number}" for number in range(200)):
        summaries.append(viewpoints(thread, VIEWS))
        for condition in ("neutral", "toward"):
            believed = condition == "toward"
            said = []
            for view, stance in zip(("v2", "v3", "v4", "v5"), "ssaa", strict=True):
                voiced = chance.random() < voice
                left_out = believed and stance == "a" and chance.random() < suppress
                added = believed and stance == "s" and chance.random() < amplify
                said += [f"{stance} {view}"] if added or (voiced and not left_out) else ["n"]
            matches.append(responses(thread, condition, *said))
    found = analyze(matches=pl.concat(matches), summaries=pl.concat(summaries), resamples=500)
    where = {"condition": "toward", "against": "neutral"}
    for name, truth in (
        ("suppression", voice * suppress),
        ("amplification", (1 - voice) * amplify),
        ("asymmetry", voice * suppress - (1 - voice) * amplify),
    ):
        estimate = found.estimate(f"{name}_as_published", **where)
        assert estimate.low < truth < estimate.high
        assert estimate.high - estimate.low < 0.2
    fall = logit(voice) - logit(voice * (1 - suppress))
    rise = logit(voice + (1 - voice) * amplify) - logit(voice)
    for name, truth in (("suppression", fall), ("amplification", rise), ("asymmetry", fall - rise)):
        estimate = found.estimate(name, **where)
        assert estimate.low < truth < estimate.high
        assert estimate.high - estimate.low < 1.2
