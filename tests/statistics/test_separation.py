import numpy as np
from numpy.typing import NDArray

from overton.statistics.logit import separated_rows


def separated(outcomes: list[int], values: list[float]) -> NDArray[np.bool_]:
    n = len(outcomes)
    design = np.array(values).reshape(n, 1)
    return separated_rows(np.array(outcomes, float), np.ones(n), design, np.zeros(n, np.int64), 1)


def test_overlapping_answers_are_not_separated() -> None:
    assert not separated([0, 1, 0, 1], [1, 2, 3, 4]).any()


def test_answers_divided_by_a_threshold_are_all_separated() -> None:
    assert separated([0, 0, 1, 1], [1, 2, 3, 4]).all()


def test_answers_at_the_threshold_itself_are_not() -> None:
    assert separated([0, 0, 1, 1, 1], [1, 2, 2, 3, 4]).tolist() == [True, False, False, True, True]


def test_rows_with_both_answers_hold_the_direction_back() -> None:
    found = separated_rows(
        np.array([0.0, 1.0, 2.0]), np.array([2.0, 2.0, 2.0]), np.array([[1.0], [1.0], [2.0]]), np.zeros(3, np.int64), 1
    )
    assert found.tolist() == [False, False, True]


def test_a_group_of_equal_answers_is_separated_alone() -> None:
    found = separated_rows(
        np.array([1.0, 0.0, 1.0, 0.0, 1.0, 1.0]),
        np.ones(6),
        np.array([[1.0], [2.0], [3.0], [4.0], [1.0], [2.0]]),
        np.array([0, 0, 0, 0, 1, 1]),
        2,
    )
    assert found.tolist() == [False] * 4 + [True] * 2
