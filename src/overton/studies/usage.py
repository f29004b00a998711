"""Tokens of several replies together."""

from __future__ import annotations

from collections.abc import Sequence

from overton.calls import Reply, Usage

__all__ = ["total_usage"]


def total_usage(replies: Sequence[Reply]) -> Usage:
    """The sums over replies; None where no reply says how many, else those that do not say count as 0."""
    return Usage(
        _total([reply.usage.input_tokens for reply in replies]),
        _total([reply.usage.output_tokens for reply in replies]),
    )


def _total(counts: Sequence[int | None]) -> int | None:
    return sum(count or 0 for count in counts) if any(count is not None for count in counts) else None
