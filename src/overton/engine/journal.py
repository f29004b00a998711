"""The durable record of every call's outcome. One thread appends rows, and rows never change. They are found by their
calls' identities."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from contextlib import closing, suppress
from enum import Enum
from pathlib import Path
from time import monotonic

from filelock import FileLock, Timeout

from overton.calls import Failure
from overton.engine.budget import Reserve, Spending
from overton.engine.journal_file import (
    JournalEntry,
    JournalMark,
    SpentRow,
    connect,
    damage_as_bad_input,
    disk_error,
    insert,
    is_of_disk,
    is_one_of,
    keep,
    name_file_in_errors,
    rows_of,
    state_of,
)
from overton.engine.journal_reader import NOTE, JournalReader
from overton.errors import DiskError, JournalError, RunLocked

_MIN_COMMIT_INTERVAL_S = 0.02
"""The minimum time between commits, in seconds; outcomes that arrive in between share a commit."""
_ROWS_PER_INSERT = 200
_MAX_BACKLOG = 20_000


class _Signal(Enum):
    """Signals to the writer, besides outcomes."""

    RENEW = 0
    END = 1


class Journal(JournalReader):
    """A run's journal, which only one process at a time can open. It is also the ledger of the run's spending.

    While open, the journal is a SQLite file in WAL mode (`synchronous=FULL`). Once finished, it is a single ordinary
    file. Appending only puts an outcome into a queue. A separate thread writes and commits groups of outcomes. Memory
    grows only with an index. For each shared call and each call of earlier sessions, the index has 16 bytes of digest
    and a row number. Do not put a journal on a network file system, where SQLite's locks cannot be trusted.

    In tests with 120 kills on two busy cores, the oldest lost reply was 28 ms old. In a study whose trials share calls,
    the oldest was 52 ms old.

    `full` is set once the disk is full. Outcomes are then written into the space that `set_aside` reserved, until that
    is full, too. Callers should then stop sending.

    `since` is the journal's state according to the run's manifest. If it is None, the journal may be new. Each row is
    checked when the journal is opened, and again when the row is recalled.

    Raises:
        RunLocked: another process has the journal open.
        JournalError: the file is not a journal, has another format, is damaged, or does not match `since`.
    """

    def __init__(self, path: Path, *, retry_failed: bool = False, since: JournalMark | None = None) -> None:
        self._lock = FileLock(path.with_suffix(".lock"))
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunLocked(f"{path.parent} is in use by another process; wait for it or stop it") from None
        except OSError as error:
            raise JournalError(f"{path.parent} cannot be written to: {error.strerror}") from error
        self.path = path
        self.commits = 0
        self._queue: queue.SimpleQueue[JournalEntry | _Signal] = queue.SimpleQueue()
        self._appended = 0
        self._written = 0
        self._closed = False
        self._error: Exception | None = None
        self._rows: dict[bytes, int] = {}
        self._failures: set[bytes] = set()
        self._notes: dict[bytes, int] = {}
        self._reserve = Reserve(path.with_name("journal.reserve"))
        self._reserve.free()  # a killed session may have left the reserve
        self.full: DiskError | None = None
        try:
            with damage_as_bad_input():
                self._check_file_exists(since)
                self._reader = connect(path)
                try:
                    self._mark, self.left = self._read_rows(retry_failed, since or JournalMark())
                except JournalError:
                    self._reader.close()
                    raise
        except JournalError:
            self._lock.release()
            raise
        self.allowed = self.left or Spending()
        self._proposed = self._written_bound = self.left
        self._next_commit_at = 0.0  # the time before which no commit is made, unless a caller waits
        self._renewing = False
        self._commit_wanted = threading.Event()
        self._committed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writer = threading.Thread(target=self._write_batches, name="journal", daemon=True)
        self._writer.start()

    @property
    def failed(self) -> int:
        """The number of calls, in all sessions, whose last outcome is a failure."""
        return len(self._failures)

    @property
    def written(self) -> int:
        """The number of outcomes that this session has committed."""
        return self._written

    @property
    def mark(self) -> JournalMark:
        """The journal's current number of outcomes, and the checksum of the last."""
        return self._mark

    def has(self, slot: bytes) -> bool:
        """Whether the slot has an outcome from an earlier session or, for a shared call, from this session."""
        return slot in self._rows

    def set_aside(self, size: int) -> None:
        """Reserve disk space for the replies that are still in flight when the disk becomes full.

        Raises:
            DiskError: there is too little.
        """
        self._reserve.take(size)

    async def append(self, entry: JournalEntry) -> None:
        """Pass an outcome to the writing thread. This returns at once unless the disk is far behind.

        Raises:
            JournalError: the journal is closed, or an earlier outcome could not be written (for example, because the
                disk was full). No further outcomes are then written.
        """
        if self._closed:
            raise JournalError(f"{self.path} is closed: the outcome of a call in {entry.place.trial} arrived too late")
        while self._appended - self._written > _MAX_BACKLOG and self._error is None:  # noqa: ASYNC110 (a thread empties it)
            await asyncio.sleep(_MIN_COMMIT_INTERVAL_S)
        if self._error is not None:
            raise self._write_error()
        self._appended += 1
        (self._failures.add if isinstance(entry.outcome, Failure) else self._failures.discard)(entry.identity.slot)
        self._queue.put(entry)

    async def keep(self, entry: JournalEntry) -> None:
        """Append an entry, and wait until it is on disk.

        Raises:
            JournalError: see `append`.
        """
        await self.append(entry)
        place = self._appended
        while self._written < place:
            await self._wait_for_commit()

    def propose(self, most: Spending, *, soon: bool) -> None:
        """See `Ledger`."""
        self._proposed = most
        if soon and not self._renewing:
            self._renewing = True
            self._queue.put(_Signal.RENEW)

    async def allow(self, level: Spending) -> None:
        """See `Ledger`."""
        while not level.within(self.allowed):
            await self._wait_for_commit()

    def lower(self, most: Spending) -> None:
        """See `Ledger`."""
        self._proposed = most
        self.allowed = Spending(min(self.allowed.requests, most.requests), min(self.allowed.cost, most.cost))

    async def _wait_for_commit(self) -> None:
        if self._error is not None:
            raise self._write_error()
        self._loop = asyncio.get_running_loop()
        self._committed.clear()
        if not self._commit_wanted.is_set():
            self._commit_wanted.set()
            self._queue.put(_Signal.RENEW)
        await self._committed.wait()

    def settle(self, spent: Spending) -> None:
        """Replace the bound on spending by the exact amount. No call may be in flight any more."""
        self._proposed = spent

    def finish(self) -> None:
        """Write the remaining outcomes and leave WAL mode, so that the file can be copied. The file stays locked.

        Raises:
            JournalError: not everything could be written.
        """
        if not self._closed:
            self._closed = True
            self._queue.put(_Signal.END)
            self._commit_wanted.set()
            self._writer.join()
            self._reader.close()
            if self._error is None:
                self._leave_wal()
                self._reserve.free()  # nothing removes it from a finished run if the process is killed before `close`
        if self._error is not None:
            raise self._write_error()

    def close(self) -> None:
        """Finish and unlock.

        Raises:
            JournalError: see `finish`.
        """
        try:
            self.finish()
        finally:
            self._reserve.free()
            self._lock.release()

    def _check_file_exists(self, since: JournalMark | None) -> None:
        if since is not None and not (self.path.is_file() and self.path.stat().st_size):
            raise self._mismatch_error("is missing or empty", since)

    def _read_rows(self, retry_failed: bool, since: JournalMark) -> SpentRow:
        """Index all rows: the row of each slot's last outcome, and the slots whose last outcome is a failure."""
        count = checksum = 0
        with name_file_in_errors(self.path):
            note = NOTE.encode()
            for row in rows_of(self._reader, self.path):
                count = row.row
                if count == since.outcomes:
                    checksum = row.checksum
                if row.speaker.startswith(note):
                    self._notes[row.slot] = row.row
                    continue
                (self._failures.add if row.failed else self._failures.discard)(row.slot)
                if not (row.failed and retry_failed):
                    self._rows[row.slot] = row.row
            if count < since.outcomes:
                raise self._mismatch_error(f"has {count:,} outcomes", since)
            if since.last not in (0, checksum):
                raise self._mismatch_error("has different outcomes", since)
            return state_of(self._reader, self.path)

    def _mismatch_error(self, what: str, since: JournalMark) -> JournalError:
        return JournalError(
            f"{self.path} {what}, but the run had journaled {since.outcomes:,} outcomes when its manifest was written."
            " The file was truncated, emptied or replaced. Restore the run's own file, or start a new run. No call was"
            " made."
        )

    def _leave_wal(self) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=1)) as connection:
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("PRAGMA journal_mode=DELETE")
            except sqlite3.Error as error:
                # If another process is reading the journal, or the disk is full, the journal stays in WAL mode. No row
                # is lost, and the next close tries again.
                if not (self.full or is_one_of(error, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)):
                    self._error = error

    def _write_error(self) -> JournalError:
        if self._error is not None and is_of_disk(self._error):
            return disk_error(self.path, self._error)
        if isinstance(self._error, DiskError):
            return self._error
        return JournalError(
            f"{self.path} could not be written: {self._error}. Free some space or repair the disk, then resume;"
            " everything written before is safe."
        )

    def _write_batches(self) -> None:
        try:
            with closing(connect(self.path)) as connection:
                going = True
                while going:
                    batch, going = self._next_batch()
                    self._commit_or_free_reserve(connection, batch)
        except Exception as error:  # noqa: BLE001 (whatever ends this thread must reach the next caller of append)
            self._error = error
            self._wake_waiters()

    def _next_batch(self) -> tuple[list[JournalEntry], bool]:
        """Collect the entries that arrived since the last commit, once the interval is over or a caller waits. The
        second value is False at the end."""
        batch: list[JournalEntry] = []
        item = self._queue.get()
        self._commit_wanted.wait(max(0.0, self._next_commit_at - monotonic()))
        while item is not _Signal.END:
            if isinstance(item, JournalEntry):
                batch.append(item)
            if len(batch) == _MAX_BACKLOG:
                break
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
        return batch, item is not _Signal.END

    def _commit_or_free_reserve(self, connection: sqlite3.Connection, batch: list[JournalEntry]) -> None:
        """Commit a batch. If the disk is full, free the space that was set aside and commit again."""
        try:
            self._commit(connection, batch)
        except sqlite3.OperationalError as error:
            if not (is_of_disk(error) and self._reserve.free()):
                raise
            self.full = disk_error(self.path, error)
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._commit(connection, batch)

    def _commit(self, connection: sqlite3.Connection, batch: list[JournalEntry]) -> None:
        self._renewing = False
        self._commit_wanted.clear()
        allowed, mark, shared = self._proposed, self._mark, list[tuple[bytes, int]]()
        self._next_commit_at = monotonic() + _MIN_COMMIT_INTERVAL_S
        if not batch and allowed == self._written_bound:
            self.allowed = allowed or Spending()  # the bound may have been lowered and then raised again
            self._wake_waiters()
            return
        connection.execute("BEGIN")
        for start in range(0, len(batch), _ROWS_PER_INSERT):
            some = batch[start : start + _ROWS_PER_INSERT]
            shared += [
                (entry.identity.slot, row)
                for row, entry in enumerate(some, mark.outcomes + 1)
                if not entry.place.trial and not entry.place.speaker.startswith(NOTE)
            ]
            mark = insert(connection, mark, some)
        keep(connection, SpentRow(mark, allowed))
        connection.execute("COMMIT")
        self._mark, self._written_bound, self.allowed = mark, allowed, allowed or Spending()
        self._rows.update(shared)
        self._written += len(batch)
        self.commits += 1
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        loop, self._loop = self._loop, None
        if loop is not None:
            with suppress(RuntimeError):  # the event loop has ended, so no task waits any more
                loop.call_soon_threadsafe(self._committed.set)
