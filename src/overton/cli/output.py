"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["notes", "print_json", "results", "say"]

_PIPED_WIDTH = 120
"""Columns of a table that goes to a file or another program, which has no width of its own."""


def results() -> Console:
    """Standard output: tables and paths, what a script would read."""
    from rich.console import Console

    wide = None if sys.stdout.isatty() else _PIPED_WIDTH
    return Console(highlight=False, width=wide)


def notes() -> Console:
    """Standard error: progress, warnings, errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print a sentence for the person, as it is: names and messages may hold what looks like markup."""
    notes().print(text, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value of plain types and structs as JSON."""
    import msgspec

    encoded = msgspec.json.encode(value) if not isinstance(value, bytes) else value
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
