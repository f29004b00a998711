"""The journal's file: one table, whose rows are only ever added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from overton.calls import Failure, Reply
from overton.engine.identity import Identity, Place
from overton.errors import JournalError

__all__ = ["Entry", "connect", "decode", "entries", "index", "insert", "is_one_of"]

FORMAT = 1
_COLUMNS = ("slot", "content", "trial", "speaker", "number", "answerer", "failed", "outcome")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (
    row      INTEGER PRIMARY KEY, -- in the order in which outcomes came; of two for one slot the later one counts
    slot     BLOB    NOT NULL,    -- digest of trial, speaker, number, answerer
    content  BLOB    NOT NULL,    -- digests of messages, settings, form
    trial    TEXT    NOT NULL,
    speaker  TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    answerer TEXT    NOT NULL,
    failed   INTEGER NOT NULL,    -- 1 where the call failed for good
    outcome  TEXT    NOT NULL     -- a reply or a failure, as JSON
)
"""

_reply = msgspec.json.Decoder(Reply)
_failure = msgspec.json.Decoder(Failure)
_encode = msgspec.json.Encoder().encode


class Entry(NamedTuple):
    """One outcome and where it belongs."""

    identity: Identity
    place: Place
    outcome: Reply | Failure


def entries(path: Path) -> Iterator[Entry]:
    """All entries of a closed journal in the order written, without locking it or changing it.

    Raises:
        JournalError: it cannot be read.
    """
    if not path.is_file():
        raise JournalError(f"{path}: no such journal")
    connection = _reader(path)
    try:
        for slot, content, *place, failed, outcome in connection.execute(
            f"SELECT {', '.join(_COLUMNS)} FROM calls ORDER BY row"
        ):
            yield Entry(Identity(slot, content), Place(*place), decode(failed, outcome))
    except (sqlite3.Error, msgspec.DecodeError) as error:
        left = (
            " (a killed session left it: 'overton resume' puts it in order)"
            if is_one_of(error, sqlite3.SQLITE_READONLY)
            else ""
        )
        raise JournalError(f"{path} cannot be read as a journal: {error}{left}") from error
    finally:
        connection.close()


def is_one_of(error: Exception, *codes: int) -> bool:
    """Whether SQLite gave one of these primary result codes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes


def decode(failed: object, outcome: str) -> Reply | Failure:
    """The outcome that a row holds.

    Raises:
        msgspec.DecodeError: it is damaged.
    """
    return _failure.decode(outcome) if failed else _reply.decode(outcome)


def _reader(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error as error:
        raise JournalError(f"{path} cannot be opened: {error}") from error


def connect(path: Path) -> sqlite3.Connection:
    """Open a journal to write it, made if it is not there.

    Raises:
        JournalError: it is of another format.
        sqlite3.Error: it is damaged, or no journal.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30)
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version not in (0, FORMAT):
            raise JournalError(f"{path} was written by another version of Overton (journal format {version})")
        connection.execute(_SCHEMA)
        connection.execute(f"PRAGMA user_version={FORMAT}")
    except (sqlite3.Error, JournalError):
        connection.close()
        raise
    return connection


def index(connection: sqlite3.Connection, retry_failed: bool) -> tuple[dict[bytes, int], set[bytes]]:
    """The row of each slot's outcome, the later one where there are two; and the slots whose last one is a failure."""
    rows: dict[bytes, int] = {}
    failures: set[bytes] = set()
    for slot, row, failed in connection.execute("SELECT slot, row, failed FROM calls ORDER BY row"):
        (failures.add if failed else failures.discard)(slot)
        if not (failed and retry_failed):
            rows[slot] = row
    return rows, failures


def insert(connection: sqlite3.Connection, batch: list[Entry]) -> int:
    """Append outcomes; gives the row of the first."""
    # One statement for many rows: each statement hands the interpreter lock to and fro, and the other side is busy.
    done = connection.execute(_insertion(len(batch)), [value for entry in batch for value in _values(entry)])
    return int(done.lastrowid or 0) - len(batch) + 1


def _insertion(rows: int) -> str:
    marks = f"({', '.join('?' * len(_COLUMNS))})"
    return f"INSERT INTO calls ({', '.join(_COLUMNS)}) VALUES {', '.join([marks] * rows)}"


def _values(entry: Entry) -> tuple[object, ...]:
    failed = isinstance(entry.outcome, Failure)
    return (entry.identity.slot, entry.identity.content, *entry.place, failed, _encode(entry.outcome).decode())
