"""The same work on many blocks, on all cores: NumPy lets go of Python's lock while it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import cpu_count
from typing import Any, TypeVar

__all__ = ["each", "one_thread_each"]

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")

_LIMITS = find_spec("threadpoolctl") is not None
"""Threads that each call a linear algebra library with threads of its own wait for each other, and take longer than one
alone. So blocks share the cores only where that library can be told to leave them alone."""


def each(work: Callable[[A, B], T], first: Sequence[A], second: Sequence[B]) -> list[T]:
    """`work` of the members of two sequences of equal length, in their order, whatever finishes first."""
    cores = min(cpu_count(), len(first)) if _LIMITS else 1
    if cores < 2:
        return [work(a, b) for a, b in zip(first, second, strict=True)]
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, first, second))


def one_thread_each() -> AbstractContextManager[Any]:
    """Within it, linear algebra uses one thread for each that calls it: the matrices here are small."""
    if not _LIMITS:
        return nullcontext()
    limits: AbstractContextManager[Any] = import_module("threadpoolctl").threadpool_limits(1, user_api="blas")
    return limits
