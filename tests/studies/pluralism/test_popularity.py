"""Rankings and pairs, checked by hand, against SciPy and an information-retrieval library."""

from __future__ import annotations

from math import isnan, sqrt
from random import Random

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau, spearmanr

from overton.errors import InputError
from overton.studies.pluralism.measures import analyze


def ranking(table, condition="neutral"):
    found = analyze(rankings=table, resamples=100)
    names = ("spearman", "kendall", "top_1", "position_accuracy", "mrr_at_10")
    values = {name: found.estimate(f"ranking_{name}", condition=condition).value for name in names}
    (counts,) = (row for row in found.counts["ranking"] if (row["model"], row["condition"]) == (None, condition))
    return values, {name: count for name, count in counts.items() if name not in ("model", "facet", "condition")}


def test_a_ranking_of_four_is_measured_as_by_hand(ranked):
    found, counts = ranking(ranked("t", "neutral", "b a c d", "a b c d"))
    assert found["spearman"] == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert found["kendall"] == pytest.approx((5 - 1) / 6)
    assert (found["top_1"], found["position_accuracy"], found["mrr_at_10"]) == (0, 0.5, 0.5)
    assert counts == {"threads": 1, "replies": 1, "unreadable": 0, "missing": 0, "repeated": 0, "unknown": 0}


def test_viewpoints_that_are_not_named_are_tied_after_the_others(ranked):
    found, counts = ranking(ranked("t", "neutral", "a d", "a b c d"))
    # The reply's ranks of a, b, c, d are 1, 3.5, 3.5, 2.
    assert found["spearman"] == pytest.approx(spearmanr([1, 2, 3, 4], [1, 3.5, 3.5, 2]).statistic)
    assert found["kendall"] == pytest.approx((3 - 2) / sqrt(6 * 5))
    assert found["position_accuracy"] == 0.25
    assert counts["missing"] == 2


def test_a_repeated_one_has_its_first_place_and_an_unknown_one_is_ignored(ranked):
    found, counts = ranking(ranked("t", "neutral", "a x b a c d", "a b c d"))
    assert (found["spearman"], found["position_accuracy"]) == (1, 1)
    assert (counts["repeated"], counts["unknown"], counts["missing"]) == (1, 1, 0)


def test_a_most_voted_viewpoint_that_is_not_named_or_beyond_the_tenth_place_adds_nothing_to_mrr(ranked):
    assert ranking(ranked("t", "neutral", "b", "a b"))[0]["mrr_at_10"] == 0
    names = "abcdefghijklmnop"
    for place, expected in ((10, 0.1), (11, 0)):
        reply = [*names[1:place], "a", *names[place:]]
        assert ranking(ranked("t", "neutral", " ".join(reply), " ".join(names)))[0]["mrr_at_10"] == pytest.approx(
            expected
        )


def test_a_reply_without_a_ranking_is_left_out_and_counted(ranked):
    table = pl.concat(
        [ranked("t", "neutral", None, "a b"), ranked("u", "neutral", "x", "a b"), ranked("v", "neutral", "b a", "a b")]
    )
    found, counts = ranking(table)
    assert found["spearman"] == -1
    assert found["top_1"] == 0
    assert (counts["replies"], counts["unreadable"], counts["missing"]) == (3, 2, 0)


def test_two_viewpoints_are_the_fewest_that_correlate(ranked):
    found, _ = ranking(ranked("t", "neutral", "a", "a"))
    assert isnan(found["spearman"])
    assert isnan(found["kendall"])
    assert found["top_1"] == 1


def test_correlations_agree_with_scipy_and_the_rest_with_an_information_retrieval_library(ranked):
    ir_measures = pytest.importorskip("ir_measures")
    chance, tables, qrels, run, rho, tau = Random(8), [], [], [], [], []
    for number in range(60):
        true = [f"{number}-{place}" for place in range(chance.randrange(3, 14))]
        reply = chance.sample(true, chance.randrange(1, len(true) + 1))
        tables.append(ranked(f"t{number}", "neutral", " ".join(reply), " ".join(true)))
        behind = (len(reply) + 1 + len(true)) / 2
        ranks = [reply.index(name) + 1 if name in reply else behind for name in true]
        rho.append(spearmanr(range(len(true)), ranks).statistic)
        tau.append(kendalltau(range(len(true)), ranks).statistic)
        qrels.append(ir_measures.Qrel(f"t{number}", true[0], 1))
        run += [ir_measures.ScoredDoc(f"t{number}", name, -float(place)) for place, name in enumerate(reply)]
    found, _ = ranking(pl.concat(tables))
    assert found["spearman"] == pytest.approx(np.mean(rho))
    assert found["kendall"] == pytest.approx(np.mean(tau))
    theirs = ir_measures.calc_aggregate([ir_measures.RR @ 10, ir_measures.P @ 1], qrels, run)
    assert found["mrr_at_10"] == pytest.approx(theirs[ir_measures.RR @ 10])
    assert found["top_1"] == pytest.approx(theirs[ir_measures.P @ 1])


@pytest.mark.parametrize(("true", "said"), [("a a", "names a viewpoint twice"), ("", "names no viewpoint")])
def test_an_invalid_true_ranking_is_refused(ranked, true, said):
    with pytest.raises(InputError, match=said):
        analyze(rankings=ranked("t", "neutral", "a", true))


def pairs(*rows):
    return pl.DataFrame(
        rows, schema=["thread", "condition", "correct", "first"], orient="row", infer_schema_length=None
    )


def accuracies(found):
    """Over all comparisons, those with the more popular one first and second, and the difference of these."""
    names = ("accuracy", "accuracy_first", "accuracy_second", "first_pull")
    return [found.estimate(f"pairwise_{name}", condition="c") for name in names]


def test_accuracy_is_over_comparisons_and_its_interval_over_threads():
    table = pairs(("t", "c", True, True), ("t", "c", False, False), ("t", "c", True, True), ("u", "c", True, False))
    right, first, second, pull = accuracies(analyze(pairs=table, resamples=200))
    assert (right.value, right.n) == (0.75, 4)
    assert (first.value, second.value) == (1, 0.5)
    assert pull.value == 0.5
    assert right.method == "no interval: too few threads (2; five are needed)"


def test_a_model_that_always_takes_the_first_named_has_a_position_bias_of_1():
    table = pairs(*((f"t{number}", "c", first, first) for number in range(5) for first in (True, False)))
    right, _, _, pull = accuracies(analyze(pairs=table, resamples=50))
    assert (right.value, pull.value) == (0.5, 1)


def test_answers_that_cannot_be_read_are_left_out_and_counted():
    table = pairs(("t", "c", True, True), ("t", "c", None, False), ("u", "c", True, None))
    found = analyze(pairs=table, resamples=20)
    right, *_ = accuracies(found)
    assert (right.value, right.n) == (1, 2)
    counts = found.counts["pairwise"][0]
    assert (counts["answers"], counts["unreadable"]) == (3, 1)


def test_position_bias_has_a_reason_in_its_place_without_the_order():
    found = analyze(pairs=pairs(("t", "c", True, True)).drop("first"), resamples=20)
    assert not found.rows_of("pairwise_first_pull")
    assert any(row["what"] == "first_pull" and "named first" in row["why"] for row in found.counts["not_computed"])


def test_random_pairs_are_an_experiment_of_their_own():
    table = pairs(("t", "c", True, True), ("t", "c", False, True)).with_columns(
        experiment=pl.Series(["pairwise", "pairwise-gap"])
    )
    found = analyze(pairs=table, resamples=20)
    assert [found.estimate(f"{pairs}_accuracy", condition="c").value for pairs in ("pairwise", "pairwise_gap")] == [
        1,
        0,
    ]
