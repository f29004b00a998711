"""Asks the user at a terminal whether a run may reach what its folder names."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from overton.cli.output import answer, say
from overton.runs.trust import Confirm
from overton.untrusted import visible_line


def confirmation() -> Confirm | None:
    """A function that asks the user at the terminal; None without a terminal."""
    return _ask_for_trust if sys.stdin.isatty() and sys.stderr.isatty() else None


def _ask_for_trust(run: Path, would: Sequence[str]) -> bool:
    say(visible_line(f"The run in {run} would use what this machine has not used before:"))
    for sentence in would:
        say(f"  {sentence}")
    say("Whoever made or changed this folder chose that. If it was not you, do you trust them with it?")
    return answer("Continue? [y/N] ").lower() in ("y", "yes")
