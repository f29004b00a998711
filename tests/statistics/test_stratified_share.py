"""Shares corrected by labels that were drawn with unequal chances: by hand, and on rows of known truth."""

from __future__ import annotations

from dataclasses import replace
from math import hypot, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
from overton.statistics.prediction_powered import correct_by_labels
from overton.statistics.proportions import wilson_limits
from overton.statistics.stratified_share import strata_of, stratified_share

Array = NDArray[np.float64]


def share(people: Array, judged: Array) -> JudgeAndHumanValues:
    every = np.ones(len(people))
    return JudgeAndHumanValues(people, judged, every, every)


def rows(*kinds: tuple[int, int, int, float]) -> tuple[LabelDraw, JudgeAndHumanValues]:
    """For each judged label (rows, labelled rows, those with the human label, judge's number), with its probability."""
    labelled = np.concatenate([np.arange(many) < drawn for many, drawn, _, _ in kinds])
    people = np.concatenate([np.arange(many) < right for many, _, right, _ in kinds]).astype(float)
    judged = np.concatenate([np.full(many, number) for many, _, _, number in kinds])
    chance = np.concatenate([np.full(many, max(drawn, 1) / many) for many, drawn, _, _ in kinds])
    label = np.repeat(np.arange(len(kinds)), [many for many, *_ in kinds])
    return LabelDraw(labelled, chance, np.arange(len(labelled)), True, label), share(people, judged)


def test_limits_are_those_of_each_stratum_added_up() -> None:
    # Of 100 rows judged 1 half are labelled, 40 of 50 rightly; of 900 judged 0 a ninth, with 2 errors in 100.
    draw, labels = rows((100, 50, 40, 1.0), (900, 100, 2, 0.0))
    found, _ = correct_by_labels(draw, labels, [])
    assert found.corrected.value == pytest.approx(0.1 * 0.8 + 0.9 * 0.02)
    of_ones = [float(one) for one in wilson_limits(0.8, 50 / (1 - 0.5))]
    of_zeros = [float(one) for one in wilson_limits(0.02, 100 / (1 - 1 / 9))]
    assert found.corrected.low == pytest.approx(0.098 - hypot(0.1 * (0.8 - of_ones[0]), 0.9 * (0.02 - of_zeros[0])))
    assert found.corrected.high == pytest.approx(0.098 + hypot(0.1 * (of_ones[1] - 0.8), 0.9 * (of_zeros[1] - 0.02)))
    assert found.corrected.method == "by stratum of the judge's labels"
    assert found.labelled.value == pytest.approx(0.098)
    assert found.labelled.high == pytest.approx(found.corrected.high)


def test_a_stratum_that_is_labelled_completely_is_known() -> None:
    draw, labels = rows((50, 50, 40, 1.0), (950, 100, 0, 0.0))
    found = correct_by_labels(draw, labels, [])[0].corrected
    assert found.low == pytest.approx(found.value) == pytest.approx(0.04)
    assert found.high == pytest.approx(0.04 + 0.95 * float(wilson_limits(0, 100 / (1 - 100 / 950))[1]))


def test_rows_like_these_are_uncertain_even_if_all_of_these_are_labelled() -> None:
    draw, labels = rows((50, 50, 40, 1.0), (950, 100, 0, 0.0))
    found = correct_by_labels(replace(draw, these=False), labels, [])[0].corrected
    assert found.low < 0.032
    assert found.error is not None
    assert found.error > np.sqrt(0.04 * 0.96 / 1000)


def test_of_a_stratum_without_labels_nothing_is_known() -> None:
    draw, labels = rows((100, 0, 0, 1.0), (450, 60, 0, 0.0), (450, 30, 0, 0.0))
    found = correct_by_labels(draw, labels, [])[0].corrected
    assert found.value == pytest.approx(0.1)  # what the judge says of it
    assert found.low == pytest.approx(0.0)
    assert found.high > 0.1


def test_a_stratum_without_an_error_still_may_have_some() -> None:
    draw, labels = rows((100, 50, 50, 1.0), (900, 50, 0, 0.0))
    found = correct_by_labels(draw, labels, [])[0].corrected
    assert found.high > 0.1 + 0.9 * 0.06


def test_a_group_without_labels_of_one_stratum_has_a_wide_interval_and_one_without_any_has_no_number() -> None:
    draw, labels = rows((100, 50, 40, 1.0), (900, 100, 2, 0.0))
    place = np.arange(1000)
    inside = (place < 20) | (place >= 920)  # 20 rows judged 1, all labelled, and 80 judged 0, none of them
    nobody = place >= 950
    _, (one, other) = correct_by_labels(draw, labels, [inside, nobody])
    assert one.corrected.value == pytest.approx(0.2 * 1 + 0.8 * 0.02)
    assert one.corrected.high == pytest.approx(1.0)
    assert isnan(other.corrected.value)


def test_the_judges_labels_with_one_value_and_one_chance_are_one_stratum() -> None:
    label = np.repeat([0, 1, 2, 3], 10)
    judged = (label == 0).astype(float)
    labelled = np.arange(40) % 2 == 0
    chance = np.repeat([0.2, 0.1, 0.1, 0.4], 10)
    draw = LabelDraw(labelled, chance, np.arange(40), True, label)
    assert strata_of(draw, share(judged, judged))[::10].tolist() == [2, 0, 0, 1]
    # Chances that vary within labels do not follow them, so only the value counts; nor can one row show a chance.
    varied = replace(draw, chance=np.where(np.arange(40) % 4 == 0, 0.5, 0.1))
    assert len(set(strata_of(varied, share(judged, judged)).tolist())) == 2
    single = replace(varied, labelled=labelled & ((label < 3) | (np.arange(40) == 30)))
    assert len(set(strata_of(single, share(judged, judged)).tolist())) == 2
    # A label without labelled rows joins the stratum with its value if there is only one, and is alone otherwise.
    nobody = replace(varied, labelled=labelled & (label < 3))
    assert strata_of(nobody, share(judged, judged))[30] == strata_of(nobody, share(judged, judged))[10]
    alone = replace(draw, labelled=labelled & (label > 0))
    assert (strata_of(alone, share(judged, judged)) == strata_of(alone, share(judged, judged))[0]).sum() == 10


def test_half_labels_of_two_people_vary_less_than_whole_ones() -> None:
    draw, labels = rows((100, 50, 40, 1.0), (900, 100, 20, 0.0))
    whole = correct_by_labels(draw, labels, [])[0].corrected
    halves = np.where(labels.judged == 0, np.where(np.arange(1000) < 140, 0.5, 0.0), labels.people)
    split = correct_by_labels(draw, replace(labels, people=halves), [])[0].corrected
    assert split.value == pytest.approx(whole.value)
    assert split.high - split.low < 0.9 * (whole.high - whole.low)


def test_labels_of_one_conversation_count_less_if_they_are_alike() -> None:
    random = np.random.default_rng(0)
    cluster = np.arange(1000) // 10
    label = random.integers(0, 2, 1000)
    errs = np.repeat(random.random(100) < 0.15, 10)
    labelled = random.random(1000) < np.where(label == 1, 0.4, 0.2)
    labels = share(np.where(errs, 1 - label, label).astype(float), label.astype(float))
    draw = LabelDraw(labelled, np.where(label == 1, 0.4, 0.2), np.arange(1000), False)
    apart, together = (
        correct_by_labels(one, labels, [])[0].corrected
        for one in (draw, replace(draw, cluster=cluster.astype(np.int64)))
    )
    assert together.value == pytest.approx(apart.value)
    assert together.high - together.low > 1.3 * (apart.high - apart.low)


def drawn(
    random: np.random.Generator, prevalence: float, errors: float, weights: str
) -> tuple[LabelDraw, JudgeAndHumanValues]:
    """A thousand rows, a hundred of them labelled: label by label, with weights by label, or with weights at random."""
    true = (random.random(1000) < prevalence).astype(float)
    judged = np.where(random.random(1000) < errors, 1 - true, true)
    if weights == "stratified":
        labelled, chance = np.zeros(1000, bool), np.zeros(1000)
        for label in (0, 1):
            inside = np.flatnonzero(judged == label)
            labelled[random.choice(inside, min(50, len(inside)), replace=False)] = True
            chance[inside] = min(50 / len(inside), 1)
    else:
        of = np.where(judged == 1, 1.0, 2.0) if weights == "negatives" else random.choice([1.0, 10.0], 1000)
        chance = 100 * of / of.sum()
        labelled = random.random(1000) < chance
    return LabelDraw(labelled, chance, np.arange(1000), True), share(true, judged)


@pytest.mark.parametrize(
    ("prevalence", "errors", "weights", "widest"),
    [(0.08, 0.05, "stratified", 0.085), (0.3, 0.15, "negatives", 0.16), (0.3, 0.15, "random", 0.26)],
)
def test_limits_cover_as_often_as_they_say(prevalence: float, errors: float, weights: str, widest: float) -> None:
    random = np.random.default_rng(3)
    held, width = [], []
    for _ in range(400):
        draw, labels = drawn(random, prevalence, errors, weights)
        found = correct_by_labels(draw, labels, [])[0].corrected
        held.append(found.low <= labels.people.mean() <= found.high)
        width.append(found.high - found.low)
    # 400 intervals of 95%: a standard error of 1.1 points.
    assert 0.92 <= np.mean(held) <= 0.99
    assert np.mean(width) < widest


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(6, 60), st.booleans(), st.booleans(), st.integers(1, 30)
)
def test_limits_surround_the_share_within_its_range(  # noqa: PLR0917
    seed: int, labels: int, many: int, these: bool, alone: bool, clusters: int
) -> None:
    random = np.random.default_rng(seed)
    label = random.integers(0, labels, many)
    labelled = random.random(many) < 0.6
    labelled[0] = True
    draw = LabelDraw(labelled, random.uniform(0.05, 1, many), random.integers(0, clusters, many), these, label)
    numbers = share(random.choice([0.0, 0.5, 1.0], many), (label == 0).astype(float))
    found = stratified_share(draw, numbers, strata_of(draw, numbers), 0.95, alone=alone)
    assert -1e-9 <= found.low <= found.value + 1e-9
    assert found.value - 1e-9 <= found.high <= 1 + 1e-9
    assert found.error >= 0
