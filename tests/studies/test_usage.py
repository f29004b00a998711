"""Tokens of several replies together."""

from __future__ import annotations

from overton.calls import Reply, Usage
from overton.studies.readable import total_usage


def test_tokens_are_summed_where_any_reply_says_how_many() -> None:
    replies = [Reply("a", usage=Usage(3, None)), Reply("b"), Reply("c", usage=Usage(4, None))]
    assert total_usage(replies) == Usage(7, None)
    assert total_usage([]) == Usage(None, None)
