"""A Rust library's panic becomes an error of ours; every other error passes through."""

from __future__ import annotations

import polars as pl
import pytest

from overton.errors import Unreadable
from overton.untrusted import panics_as_unreadable


def test_a_panic_is_reported_as_damage() -> None:
    assert not issubclass(pl.exceptions.PanicException, Exception)
    with pytest.raises(Unreadable, match="is damaged"), panics_as_unreadable():
        raise pl.exceptions.PanicException("index out of bounds")


@pytest.mark.parametrize("other", [KeyboardInterrupt, SystemExit, ValueError])
def test_other_exceptions_pass_through(other: type[BaseException]) -> None:
    with pytest.raises(other), panics_as_unreadable():
        raise other
