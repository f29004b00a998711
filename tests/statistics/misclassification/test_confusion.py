"""A judge's errors, counted and undone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from overton.statistics.misclassification import DoublyLabelled, error_weights

# Of twenty rows that are 0 the judge calls four 1; of ten that are 1, two 0.
TRUE = [0] * 20 + [1] * 10
JUDGED = [0] * 16 + [1] * 4 + [1] * 8 + [0] * 2


def readings(true: list[int] = TRUE, judged: list[int] = JUDGED, labels: int = 2, outcomes: int = 2) -> DoublyLabelled:
    many = len(true)
    return DoublyLabelled(np.eye(labels)[true], np.array(judged), np.ones(many), np.arange(many), outcomes)


def test_the_confusion_is_the_share_of_each_reading_of_a_true_label() -> None:
    assert readings().counts.tolist() == [[16, 4], [2, 8]]
    assert readings().confusions(draws=5)[0] == pytest.approx(np.array([[0.8, 0.2], [0.2, 0.8]]), abs=1e-3)


def test_rows_count_as_many_times_as_they_represent_rows() -> None:
    weight = np.ones(30)
    weight[16:20] = 4  # the two errors were as likely to be drawn as a quarter of the others
    found = replace(readings(), weight=weight).confusions(draws=1)[0]
    assert found[0] == pytest.approx([0.5, 0.5], abs=1e-3)


def test_people_who_differ_count_in_parts() -> None:
    people = np.array([[0.5, 0.5]])
    assert DoublyLabelled(people, np.array([1]), np.ones(1), np.zeros(1, int), 2).counts.tolist() == [
        [0, 0.5],
        [0, 0.5],
    ]


def test_draws_lie_around_the_confusion_and_allow_for_unseen_errors() -> None:
    perfect = readings([0] * 60 + [1] * 40, [0] * 60 + [1] * 40).confusions(draws=2_000)
    assert perfect[0][0, 1] < 1e-3
    assert 0.01 < np.quantile(perfect[1:, 0, 1] * 0.6 + perfect[1:, 1, 0] * 0.4, 0.975) < 0.05
    drawn = readings().confusions(draws=2_000)[1:, 0, 1]
    assert drawn.mean() == pytest.approx(0.2, abs=0.03)
    assert drawn.std() == pytest.approx(np.sqrt(0.2 * 0.8 / 21), abs=0.02)  # Dirichlet's


def test_a_label_that_people_hardly_gave_borrows_all_labels_errors() -> None:
    found = readings([0] * 40 + [1] * 40 + [2], [0] * 36 + [1] * 4 + [1] * 36 + [0] * 4 + [0], 3, 3).confusions(
        draws=1
    )[0]
    # One row that is misread, and nine with the rate of all: 72.5 of 82 rows are right.
    assert found[2, 2] == pytest.approx(0.9 * 72.5 / 82, abs=1e-3)


def test_rows_of_one_group_are_drawn_together() -> None:
    alone = readings().confusions(draws=2_000)[1:, 0, 1].std()
    grouped = replace(readings(), group=np.array([0] * 16 + [1] * 4 + [2] * 10)).confusions(draws=2_000)
    assert grouped[1:, 0, 1].std() > 1.5 * alone


@pytest.mark.parametrize("outcomes", [2, 3])
def test_error_weights_average_to_the_truth_with_and_without_unread_labels(outcomes: int) -> None:
    judged = [*JUDGED[:-1], outcomes - 1]
    both = readings(judged=judged, outcomes=outcomes)
    given = np.bincount(judged, minlength=outcomes).astype(float)
    weights = error_weights(both, given, draws=20, seed=3).weights
    for confusion, own in zip(both.confusions(20, 3), weights, strict=True):
        assert confusion @ own == pytest.approx(np.eye(2), abs=1e-9)


def test_the_mean_weight_is_rogan_and_gladens_share() -> None:
    # 30 of 100 rows are judged 1: (0.3 - 0.2) / (0.8 - 0.2) are.
    weights = error_weights(readings(), np.array([70.0, 30.0])).weights[0]
    assert 0.7 * weights[0, 1] + 0.3 * weights[1, 1] == pytest.approx(1 / 6, abs=2e-3)


def test_rows_that_people_labelled_have_their_value() -> None:
    judged = np.array([[0, 1], [1, 1]])
    (made,) = error_weights(readings(), np.ones(2), draws=4).of(
        judged, (np.array([1]), np.array([0])), np.array([[0.25, 0.75]])
    )
    assert made.shape == (5, 2, 2, 2)
    assert (made[:, 1, 0] == [0.25, 0.75]).all()
    assert (made[:, 1, 1] == made[:, 0, 1]).all()


def test_draws_come_in_parts_that_fit_in_memory() -> None:
    found = error_weights(readings(), np.ones(2), draws=9)
    parts = list(found.of(np.zeros(50, int), (np.zeros(0, int),), np.zeros((0, 2)), most=300))
    assert [len(one) for one in parts] == [3, 3, 3, 1]


def test_a_judge_that_always_says_the_same_undoes_nothing() -> None:
    assert "hardly distinguishes the labels" in error_weights(readings(judged=[0] * 30), np.array([30.0, 0.0])).why
