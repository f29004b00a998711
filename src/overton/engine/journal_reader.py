"""A reader that finds a journal's outcomes by call identity. It serves the session that writes the journal, and other
processes at the same time."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing
from pathlib import Path

from overton.calls import Failure, Reply
from overton.engine.identity import CallKey, Identity, differing_parts
from overton.engine.journal_file import (
    JournalEntry,
    damage_as_bad_input,
    decode_outcome,
    has_tables,
    name_file_in_errors,
    open_read_only,
    row_at,
    rows_of,
)
from overton.errors import RunMismatch

NOTE = "~"
"""The prefix of the speaker in rows that are the engine's own notes, not calls. No role's name begins with it."""


class JournalReader:
    """The outcomes of a journal, each found by its identity, and the engine's notes.

    The reader shows the journal as it was when the reader was opened. It locks and changes nothing, so a session may go
    on writing. A journal whose file does not exist yet reads as empty. Close the reader soon, because the writing
    session cannot shorten its files while the reader is open.

    Raises:
        DamagedJournal: it cannot be read, has another format or is damaged.
    """

    path: Path
    _reader: sqlite3.Connection
    _rows: dict[bytes, int]
    _notes: dict[bytes, int]

    def __init__(self, path: Path) -> None:
        self.path, self._rows, self._notes = path, {}, {}
        with damage_as_bad_input(), name_file_in_errors(path), ExitStack() as undone:
            self._reader = open_read_only(path) if path.exists() else sqlite3.connect(":memory:")
            undone.enter_context(closing(self._reader))
            self._reader.execute("BEGIN")  # a snapshot, so concurrent writes change nothing here
            if has_tables(self._reader, path):
                for row in rows_of(self._reader, path):
                    found = self._notes if row.speaker.startswith(NOTE.encode()) else self._rows
                    found[row.slot] = row.row
            undone.pop_all()

    def __len__(self) -> int:
        """The number of outcomes that can be recalled. In a session, these are the outcomes of earlier sessions."""
        return len(self._rows)

    def notes(self) -> list[JournalEntry]:
        """The engine's own notes from earlier sessions: the last note of each slot, in row order.

        Raises:
            JournalError: the journal is damaged.
        """
        rows = (row_at(self._reader, number, self.path) for number in sorted(self._notes.values()))
        return [
            JournalEntry(
                Identity(row.slot, row.content),
                CallKey(row.trial.decode(), row.speaker.decode(), row.number, row.answerer.decode()),
                decode_outcome(row, self.path),
            )
            for row in rows
        ]

    def recall(self, identity: Identity) -> Reply | Failure | None:
        """The journaled outcome of the call with this identity, None if the journal has none.

        Raises:
            RunMismatch: the journal has a call with this address but other content.
            JournalError: the journal is damaged.
        """
        number = self._rows.get(identity.slot)
        if number is None:
            return None
        row = row_at(self._reader, number, self.path)
        if row.content != identity.content:
            parts = " and ".join(differing_parts(row.content, identity.content))
            where = f"trial {row.trial.decode()}, ask {row.number} of {row.speaker.decode()}"
            raise RunMismatch(
                f"{self.path.parent}: {where}: this call's {parts} differ from the run's journal."
                " Use the version, prompts, items and settings with which the run started, or start a new run."
            )
        return decode_outcome(row, self.path)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
