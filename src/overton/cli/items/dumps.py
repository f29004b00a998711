"""What was read of forum dumps, for the commands that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from overton.corpora.forum import Tally

__all__ = ["say_read"]


def say_read(tallies: Sequence[Tally]) -> None:
    """Say how much of the posts' and of the comments' dump was read, and why the rest was not."""
    from overton.cli.output import say

    for what, tally in zip(("posts", "comments"), tallies, strict=True):
        say(f"{what}: {tally.records:,} read of {tally.lines:,} lines")
        for skipped in tally.skipped.values():
            say(f"{what}: {skipped}")
