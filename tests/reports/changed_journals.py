"""Journals of runs with other outcomes than the ones that came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from overton.calls import Failure, Reply
from overton.engine import Journal, entries
from overton.engine.journal_file import JournalEntry

Change = Callable[[JournalEntry], Reply | Failure | None]
"""The outcome that takes an entry's place; None for no entry."""


def change_outcomes(run: Path, change: Change) -> None:
    """Write the journal of a run again, with changed outcomes."""
    file = run / "journal.db"
    changed = [(entry, change(entry)) for entry in entries(file)]
    file.unlink()

    async def write() -> None:
        with closing(Journal(file)) as journal:
            for entry, outcome in changed:
                if outcome is not None:
                    await journal.append(entry._replace(outcome=outcome))

    asyncio.run(write())
