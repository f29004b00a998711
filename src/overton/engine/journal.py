"""The durable record of every call's outcome: append-only, written by one thread, read back by identity."""

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
"""Least seconds between commits: outcomes that arrive in between share one."""
_ROWS_PER_INSERT = 200
_MAX_BACKLOG = 20_000


class _Signal(Enum):
    """Signals to the writer, besides outcomes."""

    RENEW = 0
    END = 1


class Journal(JournalReader):
    """A run's journal, open for one process at a time, and the ledger of what the run may have spent.

    A SQLite file in WAL mode while open (`synchronous=FULL`), a single ordinary file once finished. Appending costs
    the caller only a queue: a separate thread writes and commits groups. Memory grows only by the index of what an
    earlier session left and of what trials share: 16 bytes of digest and a row number per call. Not for network file
    systems, where SQLite's locks cannot be trusted.

    `full` is set once the disk was full: the outcome that did not fit was then written into the space that `set_aside`
    took, as others will be while it lasts. Nothing more should be sent.

    `since` is how far the run knows its journal to have come; without it the journal may be new. All rows are checked
    when it is opened, and again when they are recalled.

    Raises:
        RunLocked: another process has it open.
        JournalError: it is not a journal, has another format, is damaged, or is not the one of `since`.
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
        self._reserve.free()  # a killed session may have left it
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
        self._next_commit_at = 0.0  # when the next commit may be, if nothing waits for it
        self._renewing = False
        self._commit_wanted = threading.Event()
        self._committed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writer = threading.Thread(target=self._write_batches, name="journal", daemon=True)
        self._writer.start()

    @property
    def failed(self) -> int:
        """How many calls have a failure as their last outcome, over all sessions."""
        return len(self._failures)

    @property
    def written(self) -> int:
        """How many outcomes this session has committed."""
        return self._written

    @property
    def mark(self) -> JournalMark:
        """How far the journal has come."""
        return self._mark

    def has(self, slot: bytes) -> bool:
        """Whether an earlier session left an outcome in this slot or, for a shared call, this session committed one."""
        return slot in self._rows

    def set_aside(self, size: int) -> None:
        """Take up disk space for what is in flight when the disk becomes full.

        Raises:
            DiskError: there is too little.
        """
        self._reserve.take(size)

    async def append(self, entry: JournalEntry) -> None:
        """Pass an outcome to the writer; returns at once unless the disk is far behind.

        Raises:
            JournalError: an earlier outcome could not be written (disk full, say), so nothing more will be, or the
                journal is closed.
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
        """Append an entry and wait, no longer than needed, until it is on disk.

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
        """Nothing is in flight any more, and exactly this was spent: it replaces the bound."""
        self._proposed = spent

    def finish(self) -> None:
        """Write what is left and leave WAL mode, so that the file can be copied; it stays locked.

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
        """The row of each slot's outcome, the later one if there are two; the slots whose last one is a failure."""
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
            f"{self.path} {what}, but the run had journaled {since.outcomes:,} outcomes when its manifest was written:"
            " the file was cut, emptied or replaced. Restore the run's own, or start a new run; no call was made."
        )

    def _leave_wal(self) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None, timeout=1)) as connection:
            try:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("PRAGMA journal_mode=DELETE")
            except sqlite3.Error as error:
                # If it is being read just now it stays in WAL mode, which loses nothing; the next close tries again.
                # On a full disk, too.
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
        """Entries that arrived since the last commit, once the interval is over or a caller waits; False at the end."""
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
        """Commit a batch; on a full disk into the space set aside, once it is freed."""
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
            self.allowed = allowed or Spending()  # it may have been lowered and then raised to what it was
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
            with suppress(RuntimeError):  # its loop has ended, and its waiters with it
                loop.call_soon_threadsafe(self._committed.set)
