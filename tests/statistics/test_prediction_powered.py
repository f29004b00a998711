"""Numbers of a judge, corrected with human labels: by hand, and their coverage on data of known truth."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np
import pytest
from numpy.typing import NDArray

from overton.statistics.label_draws import JudgeAndHumanValues, LabelDraw
from overton.statistics.prediction_powered import NEEDED, JudgeAndHuman, correct_by_labels, difference

Array = NDArray[np.float64]


def plain(labelled: list[bool] | NDArray[np.bool_], *, these: bool = True) -> LabelDraw:
    shown = np.array(labelled)
    return LabelDraw(shown, np.full(len(shown), shown.mean()), np.arange(len(shown)), these)


def share(people: Array, judged: Array) -> JudgeAndHumanValues:
    every = np.ones(len(people))
    return JudgeAndHumanValues(people, judged, every, every)


def alternating(rows: int, labels: int) -> NDArray[np.bool_]:
    shown = np.zeros(rows, bool)
    shown[np.linspace(0, rows - 1, labels).astype(int)] = True
    return shown


def test_proportion_weights_human_labels_by_the_judges_labels() -> None:
    # 20 of 40 labelled rows are judged 1, of which people confirm 15; of the others they find 2. Of all 200 rows the
    # judge calls 120 so: 120 * 15/20 + 80 * 2/20 = 98.
    judged = np.array([1.0] * 20 + [0.0] * 20 + [1.0] * 100 + [0.0] * 60)
    people = np.array([1.0] * 15 + [0.0] * 5 + [1.0] * 2 + [0.0] * 18 + [0.0] * 160)
    found, _ = correct_by_labels(plain([True] * 40 + [False] * 160), share(people, judged), [])
    assert found.judge == 0.6
    assert found.labelled.value == pytest.approx(17 / 40)
    assert found.corrected.value == pytest.approx(98 / 200)


def test_a_judge_without_any_relation_to_people_changes_nothing() -> None:
    judged = np.tile([1.0, 0.0], 100)
    people = np.repeat([1.0, 0.0], 100)
    shown = np.zeros(200, bool)
    shown[[*range(30), *range(100, 130)]] = True
    found, _ = correct_by_labels(plain(shown), share(people, judged), [])
    assert found.corrected.value == pytest.approx(found.labelled.value)
    assert found.corrected.high - found.corrected.low < 1.1 * (found.labelled.high - found.labelled.low)


def test_a_limit_of_a_mean_that_the_range_cuts_off_is_undetermined() -> None:
    people = np.array([1.0, 1.0, 1.0, 0.2, 1.0, 1.0, 0.9, 1.0])
    every = np.ones(8)
    labels = JudgeAndHumanValues(people, people, every, every, share=False)
    found, _ = correct_by_labels(plain([True] * 8, these=False), labels, [])
    assert (found.labelled.high, found.labelled.undetermined) == (1.0, ("high",))


def test_from_twenty_labels_on_there_is_a_number_and_from_fifty_an_interval() -> None:
    people = np.tile([1.0, 0.0, 0.0, 0.0], 50)
    few, some, enough = (
        correct_by_labels(plain(alternating(200, many)), share(people, people), [])[0].corrected
        for many in (19, 49, 50)
    )
    assert np.isnan(few.value)
    assert some.value == pytest.approx(0.25)
    assert np.isnan(some.low)
    assert some.method == "no interval: too few labels (49; 50 are needed)"
    assert enough.low < 0.25 < enough.high


def test_a_judge_that_is_always_right_gives_its_own_share_yet_not_with_certainty() -> None:
    people = np.tile([1.0, 0.0, 0.0, 0.0], 50)
    found, _ = correct_by_labels(plain(alternating(200, 50)), share(people, people), [])
    assert found.corrected.value == pytest.approx(0.25)
    assert found.corrected.low < 0.24
    assert found.corrected.high > 0.26


def test_a_mean_is_of_the_rows_that_count() -> None:
    numbers = np.tile([1.0, 5.0, 3.0, 0.0], 50)
    counts = np.tile([1.0, 1.0, 1.0, 0.0], 50)
    labels = JudgeAndHumanValues(numbers, numbers, counts, counts, lowest=1, highest=5, share=False)
    found, _ = correct_by_labels(plain(alternating(200, 80)), labels, [])
    assert found.judge == found.corrected.value == pytest.approx(3.0)


def test_labels_of_all_rows_are_exact_for_these_rows_and_an_estimate_for_others() -> None:
    people = np.tile([1.0, 0.0], 50)
    labels = share(people, 1 - people)
    these, _ = correct_by_labels(plain([True] * 100), labels, [])
    others, _ = correct_by_labels(plain([True] * 100, these=False), labels, [])
    assert (these.corrected.low, these.corrected.high) == (0.5, 0.5)
    assert others.corrected.value == 0.5
    assert others.corrected.low < 0.42
    assert others.corrected.high > 0.58


def test_labels_alone_that_are_all_alike_count_as_many_rows_as_they_are_or_clusters() -> None:
    none = share(np.zeros(100), np.zeros(100))
    alone = correct_by_labels(plain([True] * 50 + [False] * 50, these=False), none, [])[0].labelled
    assert 0.06 < alone.high < 0.09  # of 50 rows without any, as Wilson has it
    talks = LabelDraw(np.arange(100) < 50, np.full(100, 0.5), np.arange(100) // 5)
    assert 0.27 < correct_by_labels(talks, none, [])[0].labelled.high < 0.34  # of ten conversations


def test_rows_drawn_more_often_weigh_less() -> None:
    # Ten rows in a hundred are of a kind that was drawn whole; of the others every tenth was.
    kind = np.arange(1000) < 100
    shown = kind | (np.arange(1000) % 10 == 0)
    draw = LabelDraw(shown, np.where(kind, 1.0, 0.1), np.arange(1000), True)
    people, judged = kind.astype(float), np.zeros(1000)
    found, _ = correct_by_labels(draw, share(people, judged), [])
    assert found.labelled.value == pytest.approx(0.1)


@pytest.mark.parametrize("labels", [0, 1, NEEDED - 1])
def test_few_labels_correct_nothing_and_say_so(labels: int) -> None:
    people = np.tile([1.0, 0.0], 50)
    shown = np.arange(100) < labels
    found, _ = correct_by_labels(plain(shown), share(people, people), [])
    assert isnan(found.corrected.value)
    assert f"too few labels ({labels}; {NEEDED} are needed" in found.corrected.method
    assert found.judge == 0.5


def test_whole_clusters_count_as_one_draw_each() -> None:
    cluster = np.repeat(np.arange(100), 5)
    people = np.repeat(np.tile([1.0, 0.0], 50), 5)
    shown = np.repeat(np.arange(100) % 5 == 0, 5)
    alone = LabelDraw(shown, np.full(500, 0.2), np.arange(500), True)
    together = replace(alone, cluster=cluster)
    assert together.whole_clusters
    wide, narrow = (correct_by_labels(draw, share(people, np.zeros(500)), [])[0].labelled for draw in (together, alone))
    assert (wide.high - wide.low) > 1.9 * (narrow.high - narrow.low)


def test_differences_have_the_limits_that_both_sides_give() -> None:
    people, judged = np.tile([1.0, 0.0, 0.0], 100), np.tile([1.0, 0.0, 0.0, 1.0], 75)
    half = np.arange(300) < 150
    _, (one, other) = correct_by_labels(plain(alternating(300, 90)), share(people, judged), [half, ~half])
    found = difference(one.corrected, other.corrected)
    assert found.value == pytest.approx(one.corrected.value - other.corrected.value)
    assert found.low < found.value < found.high
    down, up = one.corrected.value - one.corrected.low, other.corrected.high - other.corrected.value
    assert found.value - found.low == pytest.approx(np.hypot(down, up))


def test_unlabelled_group_has_no_number() -> None:
    people = np.tile([1.0, 0.0], 100)
    group = np.arange(200) >= 150
    _, (found,) = correct_by_labels(plain(np.arange(200) < 60), share(people, people), [group])
    assert isnan(found.corrected.value)
    assert isnan(difference(found.corrected, found.corrected).value)


def test_sample_without_other_possible_rows_has_no_interval() -> None:
    people = np.tile([1.0, 0.0], 30)
    draw = LabelDraw(np.arange(60) < 30, np.ones(60), np.arange(60), True)
    found, _ = correct_by_labels(draw, share(people, people), [])
    assert found.corrected.value == 0.5
    assert isnan(found.corrected.low)
    assert found.corrected.method.startswith("no interval: ")


def simulated(
    chance: np.random.Generator, errors: float, prevalence: float, clusters: bool
) -> tuple[JudgeAndHumanValues, Array]:
    """Rows drawn from many like them: 60 conversations of ten turns, a judge that errs so often."""
    lean = np.repeat(chance.beta(0.8, 0.8 * (1 - prevalence) / prevalence, 60), 10) if clusters else prevalence
    people = (chance.random(600) < lean).astype(float)
    wrong = chance.random(600) < errors
    return share(people, np.where(wrong, 1 - people, people)), np.repeat(np.arange(60), 10)


@pytest.mark.parametrize(
    ("errors", "prevalence", "clusters", "whole"),
    [(0.05, 0.4, False, False), (0.2, 0.1, False, False), (0.1, 0.4, True, False), (0.1, 0.4, True, True)],
)
def test_intervals_cover_the_share_of_rows_like_these_as_often_as_they_say(
    errors: float, prevalence: float, clusters: bool, whole: bool
) -> None:
    chance = np.random.default_rng(7)
    held: list[bool] = []
    for _ in range(300):
        labels, cluster = simulated(chance, errors, prevalence, clusters)
        if whole:
            shown = np.isin(cluster, chance.choice(60, 15, replace=False))
        else:
            shown = np.isin(np.arange(600), chance.choice(600, 150, replace=False))
        groups = cluster if clusters else np.arange(600)
        found: JudgeAndHuman = correct_by_labels(LabelDraw(shown, np.full(600, 0.25), groups, False), labels, [])[0]
        held.append(found.corrected.low <= prevalence <= found.corrected.high)
    # 300 intervals of 95%: a standard error of 1.3 points.
    assert 0.91 <= np.mean(held) <= 0.99
