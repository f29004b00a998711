"""What commands print: results on standard output, everything else on standard error."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console

__all__ = ["notes", "print_json", "results", "say"]

results = Console(highlight=False)
"""Standard output: tables and paths, what a script would read."""

notes = Console(stderr=True, highlight=False)
"""Standard error: progress, warnings, errors."""


def say(text: str) -> None:
    """Print a sentence for the person, as it is: names and messages may hold what looks like markup."""
    notes.print(text, markup=False, soft_wrap=True)


def print_json(value: Any) -> None:
    """Print a value of plain types and structs as JSON."""
    import msgspec

    encoded = msgspec.json.encode(value) if not isinstance(value, bytes) else value
    sys.stdout.write(msgspec.json.format(encoded, indent=2).decode() + "\n")
