import numpy as np
import polars as pl

from overton.studies.groups import number_groups, numbers_of


def test_rows_are_grouped_in_the_order_of_their_values():
    groups = number_groups([np.array([2, -1, 2, 2]), np.array([7, 9, 7, 5])])
    assert groups.of.tolist() == [2, 0, 2, 1]
    assert groups.first.tolist() == [1, 3, 0]


def test_groups_are_the_same_if_numbers_are_far_apart():
    columns = [np.array([2**40, 0, 2**40, 5]), np.array([-(2**40), 3, -(2**40), 3]), np.array([1, 1, 1, 2**40])]
    assert number_groups(columns).of.tolist() == [2, 0, 2, 1]


def test_a_table_without_rows_has_no_groups():
    groups = number_groups([np.zeros(0, np.int64)])
    assert (len(groups.of), len(groups.first)) == (0, 0)


def test_values_are_numbered_in_their_order_with_null_first():
    letters = pl.Series(["b", None, "a"], dtype=pl.Enum(["a", "b"]))
    for column in (letters, pl.Series([2.5, None, 0.5]), pl.Series([-3, None, -4]), pl.Series([True, None, False])):
        numbers = numbers_of(column)
        assert numbers.argsort().tolist() == [1, 2, 0], column.dtype
    assert len(set(numbers_of(pl.Series([None, None], dtype=pl.String)))) == 1
