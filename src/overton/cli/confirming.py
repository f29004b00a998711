"""A person at a terminal is asked whether a run may reach what its folder names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from overton.cli.output import answer, say
from overton.hosts.local import Confirm
from overton.untrusted import visible_line

__all__ = ["confirmation"]


def confirmation() -> Confirm | None:
    """What asks the person who is at the terminal, None where nobody is."""
    return _asked if sys.stdin.isatty() and sys.stderr.isatty() else None


def _asked(run: Path, would: Sequence[str]) -> bool:
    say(visible_line(f"The run in {run} names what this machine has not used before:"))
    for sentence in would:
        say(f"  {sentence}")
    say("Whoever made this folder, or changed it, chose that. If it was not you, do you trust them with it?")
    return answer("Go on? [y/N] ").lower() in ("y", "yes")
