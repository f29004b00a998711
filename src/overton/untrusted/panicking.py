"""Libraries in Rust that panic over bytes of others, told as an error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from overton.errors import Unreadable

__all__ = ["panics_told"]

_RUST = "pyo3_runtime"
"""The module that a panic says it is of. Each library has a class of its own there, and most of them no name for it."""


@contextmanager
def panics_told() -> Iterator[None]:
    """Turn a panic into `Unreadable`. It is no `Exception`: nothing else would stop it short of the process's end.

    Raises:
        Unreadable: there was one.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__module__ == _RUST:
            raise Unreadable("is damaged") from error
        raise
