"""The durable record of every call's outcome: append-only, written by one thread, read back by identity.

Its file is one table, whose rows are only ever added.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec
from filelock import FileLock, Timeout

from overton.calls import Failure, Reply
from overton.engine.identity import Identity, Place, differing_parts
from overton.errors import JournalError, RunLocked, RunMismatch

__all__ = ["Entry", "Journal", "connect", "entries"]

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
            yield Entry(Identity(slot, content), Place(*place), _decode(failed, outcome))
    except (sqlite3.Error, msgspec.DecodeError) as error:
        left = (
            " (a killed session left it: 'overton resume' puts it in order)"
            if _is_one_of(error, sqlite3.SQLITE_READONLY)
            else ""
        )
        raise JournalError(f"{path} cannot be read as a journal: {error}{left}") from error
    finally:
        connection.close()


def _is_one_of(error: Exception, *codes: int) -> bool:
    """Whether SQLite gave one of these primary result codes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes


def _decode(failed: object, outcome: str) -> Reply | Failure:
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


def _index(connection: sqlite3.Connection, retry_failed: bool) -> tuple[dict[bytes, int], set[bytes]]:
    """The row of each slot's outcome, the later one where there are two; and the slots whose last one is a failure."""
    rows: dict[bytes, int] = {}
    failures: set[bytes] = set()
    for slot, row, failed in connection.execute("SELECT slot, row, failed FROM calls ORDER BY row"):
        (failures.add if failed else failures.discard)(slot)
        if not (failed and retry_failed):
            rows[slot] = row
    return rows, failures


def _insert(connection: sqlite3.Connection, batch: list[Entry]) -> int:
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


_WINDOW = 0.02
"""Seconds that outcomes wait for others to share a commit: what a crash can lose besides the calls in flight."""
_BATCH = 200
_BACKLOG = 20_000


class Journal:
    """A run's journal, open for one process at a time.

    A SQLite file in WAL mode while open (`synchronous=FULL`), a single ordinary file once closed. Appending costs
    the caller nothing but a queue: a thread of its own writes and commits groups. Memory grows only by the index of
    what an earlier session left and of what trials share, 16 bytes of digest and a row number a call. Not for network
    file systems, where SQLite's locks cannot be trusted.

    Raises:
        RunLocked: another process has it open.
        JournalError: it is not a journal, is of another format, or is damaged.
    """

    def __init__(self, path: Path, *, retry_failed: bool = False) -> None:
        self._lock = FileLock(path.with_suffix(".lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunLocked(f"{path.parent} is being worked on by another process; wait for it or stop it") from None
        except OSError as error:
            raise JournalError(f"{path.parent} cannot be written to: {error.strerror}") from error
        self.path = path
        self._queue: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._appended = 0
        self._written = 0
        self._closed = False
        self._error: Exception | None = None
        try:
            self._reader = connect(path)
            self._rows, self._failures = _index(self._reader, retry_failed)
        except sqlite3.Error as error:
            self._lock.release()
            raise JournalError(f"{path} cannot be read as a journal: {error}") from error
        except JournalError:
            self._lock.release()
            raise
        self._writer = threading.Thread(target=self._write, name="journal", daemon=True)
        self._writer.start()

    def __len__(self) -> int:
        """How many outcomes an earlier session left that this one can use."""
        return len(self._rows)

    @property
    def failed(self) -> int:
        """How many calls have a failure as their last outcome, over all sessions."""
        return len(self._failures)

    @property
    def written(self) -> int:
        """How many outcomes this session has committed."""
        return self._written

    def holds(self, slot: bytes) -> bool:
        """Whether an earlier session left an outcome in this slot, or, of a shared call, this session committed one."""
        return slot in self._rows

    def recall(self, identity: Identity) -> Reply | Failure | None:
        """The outcome journaled for `identity`, None where the journal does not hold it (see `holds`).

        Raises:
            RunMismatch: something else was asked in its place.
            JournalError: it is damaged.
        """
        row = self._rows.get(identity.slot)
        if row is None:
            return None
        try:
            content, trial, speaker, number, failed, outcome = self._reader.execute(
                "SELECT content, trial, speaker, number, failed, outcome FROM calls WHERE row = ?", (row,)
            ).fetchone()
            known = _decode(failed, outcome)
        except (sqlite3.Error, msgspec.DecodeError) as error:
            raise JournalError(f"{self.path} is damaged at row {row}: {error}") from error
        if content != identity.content:
            parts = " and ".join(differing_parts(content, identity.content))
            raise RunMismatch(
                f"{self.path.parent}: trial {trial}, ask {number} of {speaker}: its {parts} differ from what was asked"
                " when this run began. Use the version, prompts, items and settings that it began with, or start"
                " a new run."
            )
        return known

    async def append(self, entry: Entry) -> None:
        """Hand an outcome to the writer; returns at once unless the disk is far behind.

        Raises:
            JournalError: an earlier outcome could not be written (disk full, say) and nothing more will be, or the
                journal is closed.
        """
        if self._closed:
            raise JournalError(f"{self.path} is closed: the outcome of a call in {entry.place.trial} came too late")
        while self._appended - self._written > _BACKLOG and self._error is None:  # noqa: ASYNC110 (a thread empties it)
            await asyncio.sleep(_WINDOW)
        if self._error is not None:
            raise self._failed()
        self._appended += 1
        (self._failures.add if isinstance(entry.outcome, Failure) else self._failures.discard)(entry.identity.slot)
        self._queue.put(entry)

    def close(self) -> None:
        """Write what is left, leave WAL mode so that the file can be copied as it is, and unlock.

        Raises:
            JournalError: not everything could be written.
        """
        self._closed = True
        self._queue.put(None)
        self._writer.join()
        self._reader.close()
        if self._error is None:
            self._leave_wal()
        self._lock.release()
        if self._error is not None:
            raise self._failed()

    def _leave_wal(self) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=1)) as connection:
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("PRAGMA journal_mode=DELETE")
            except sqlite3.Error as error:
                # Where someone reads it just now it stays in WAL mode, which loses nothing; the next close tries again.
                if not _is_one_of(error, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                    self._error = error

    def _failed(self) -> JournalError:
        return JournalError(
            f"{self.path} could not be written: {self._error}. Free some space or mend the disk, then resume;"
            " what was written before is safe."
        )

    def _write(self) -> None:
        try:
            with closing(connect(self.path)) as connection:
                while batch := self._next_batch():
                    shared: list[tuple[bytes, int]] = []
                    connection.execute("BEGIN")
                    for start in range(0, len(batch), _BATCH):
                        some = batch[start : start + _BATCH]
                        first = _insert(connection, some)
                        shared += [
                            (one.identity.slot, row) for row, one in enumerate(some, first) if not one.place.trial
                        ]
                    connection.execute("COMMIT")
                    self._rows.update(shared)
                    self._written += len(batch)
        except Exception as error:  # noqa: BLE001 (whatever ends this thread, whoever appends next must hear of it)
            self._error = error

    def _next_batch(self) -> list[Entry]:
        """What has come in since the last commit, after a moment for more; empty at the end."""
        entry = self._queue.get()
        if entry is None:
            return []
        time.sleep(_WINDOW)
        batch = [entry]
        while len(batch) < _BACKLOG:
            try:
                entry = self._queue.get_nowait()
            except queue.Empty:
                break
            if entry is None:
                self._queue.put(None)
                break
            batch.append(entry)
        return batch
