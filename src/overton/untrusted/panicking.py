"""Rust libraries that panic over foreign bytes: panics become an error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from overton.errors import Unreadable

__all__ = ["panics_as_unreadable"]

_RUST = "pyo3_runtime"
"""The module that panics name as theirs. Each library has its own class there, mostly without exporting it."""


@contextmanager
def panics_as_unreadable() -> Iterator[None]:
    """Turn a panic into `Unreadable`. It is not an `Exception`: otherwise it would end the process.

    Raises:
        Unreadable: there was a panic.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ == _RUST:
            raise Unreadable("is damaged") from error
        raise
