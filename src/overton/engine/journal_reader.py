"""Outcomes read back from a journal by identity: by the session that writes it, or by anyone else meanwhile."""

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
"""The prefix of speakers whose rows are not calls but the engine's own notes; no role is called this."""


class JournalReader:
    """The outcomes of a journal, each found by its identity, and the engine's notes.

    Here the journal is as it was when this was opened: nothing is locked or changed, and a session may go on writing.
    A journal without any outcome, or whose file is still to be made, is empty. To be closed soon: while it is open, the
    session that writes cannot shorten its files.

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
            self._reader.execute("BEGIN")  # concurrent writes do not change what is seen
            if has_tables(self._reader, path):
                for row in rows_of(self._reader, path):
                    found = self._notes if row.speaker.startswith(NOTE.encode()) else self._rows
                    found[row.slot] = row.row
            undone.pop_all()

    def __len__(self) -> int:
        """How many outcomes can be recalled: in a session, those that earlier ones left."""
        return len(self._rows)

    def notes(self) -> list[JournalEntry]:
        """The engine's own notes from earlier sessions, the last of each slot, in row order.

        Raises:
            JournalError: it is damaged.
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
        """The outcome journaled for `identity`, None if the journal does not contain it.

        Raises:
            RunMismatch: another call was made in its place.
            JournalError: it is damaged.
        """
        number = self._rows.get(identity.slot)
        if number is None:
            return None
        row = row_at(self._reader, number, self.path)
        if row.content != identity.content:
            parts = " and ".join(differing_parts(row.content, identity.content))
            where = f"trial {row.trial.decode()}, ask {row.number} of {row.speaker.decode()}"
            raise RunMismatch(
                f"{self.path.parent}: {where}: its {parts} differ from those of the call made when this run started."
                " Use the version, prompts, items and settings that it started with, or start a new run."
            )
        return decode_outcome(row, self.path)

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
