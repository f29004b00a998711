"""Several strands of asking side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from overton.errors import Stopped

__all__ = ["side_by_side"]

T = TypeVar("T")


async def side_by_side(strands: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What the strands give, in their order. All end before the first error is raised, so that nothing paid is lost.

    Strands that ask one role more than once need a speaker each, or their calls would be numbered as they happen.
    """
    outcomes = await asyncio.gather(*strands, return_exceptions=True)
    errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if errors:
        raise min(errors, key=lambda error: isinstance(error, Stopped))  # what is wrong with the run before its stop
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
