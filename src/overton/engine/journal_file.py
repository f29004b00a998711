"""The journal's file: its two tables, how rows are checked, and how damage is reported.

The table `calls` has one row per outcome and only grows. The table `spent` has a single row with the number of rows in
`calls` and the amount that the run may have spent. Every row has a checksum of all its values, including its row
number. So a changed, missing or moved row is noticed. This protects against accidents, not against someone who
recomputes the checksums. The file `journal.db-wal`, which a killed session leaves, belongs to the journal.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from hashlib import blake2b
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from overton.calls import Failure, Reply
from overton.engine.budget import Spending
from overton.engine.identity import CallKey, Identity
from overton.errors import DamagedJournal, DiskError, JournalError, Unreadable
from overton.untrusted import decode_json

FORMAT = 2
"""The format number; journals of any other format are refused. Format 1, from before the first release, had neither
checksums nor `spent`."""

_SCHEMA = (
    """
CREATE TABLE calls (
    row      INTEGER PRIMARY KEY, -- from 1, in the order in which outcomes came; of two for one slot the later counts
    slot     BLOB    NOT NULL,    -- digest of trial, speaker, number, answerer
    content  BLOB    NOT NULL,    -- digests of messages, settings, form
    trial    TEXT    NOT NULL,
    speaker  TEXT    NOT NULL,
    number   INTEGER NOT NULL,
    answerer TEXT    NOT NULL,
    failed   INTEGER NOT NULL,    -- 1 where the call failed for good
    outcome  TEXT    NOT NULL,    -- a reply or a failure, as JSON
    checksum INTEGER NOT NULL     -- CRC-32 of all the others
)
""",
    """
CREATE TABLE spent (
    one      INTEGER PRIMARY KEY, -- 1: there is one row
    outcomes INTEGER NOT NULL,    -- rows of calls
    last     INTEGER NOT NULL,    -- the checksum of the last of them, 0 where there is none
    requests INTEGER,             -- the most that may have been sent in all sessions; NULL where none kept count
    cost     REAL,                -- the most US dollars that they may have cost
    checksum INTEGER NOT NULL     -- CRC-32 of all the others
)
""",
)
_CALLS_COLUMNS = ("row", "slot", "content", "trial", "speaker", "number", "answerer", "failed", "outcome", "checksum")
_DIGESTED_COLUMNS = _CALLS_COLUMNS[1:-1]
_SPENT_COLUMNS = ("one", "outcomes", "last", "requests", "cost", "checksum")
_PLACEHOLDERS = f"({', '.join('?' * len(_CALLS_COLUMNS))})"
_SELECT_ROWS = f"SELECT {', '.join(_CALLS_COLUMNS)} FROM calls"
_COLUMN_TYPES = (int, bytes, bytes, bytes, bytes, int, bytes, int, bytes, int)

_reply_decoder = msgspec.json.Decoder(Reply)
_failure_decoder = msgspec.json.Decoder(Failure)
_encode = msgspec.json.Encoder().encode


class JournalEntry(NamedTuple):
    """An outcome, with the identity and address of its call."""

    identity: Identity
    place: CallKey
    outcome: Reply | Failure


class Row(NamedTuple):
    """A row of `calls` as stored. Texts are bytes, because checksums are checked before texts are decoded."""

    row: int
    slot: bytes
    content: bytes
    trial: bytes
    speaker: bytes
    number: int
    answerer: bytes
    failed: int
    outcome: bytes
    checksum: int


class JournalMark(NamedTuple):
    """The state of a journal: its number of outcomes, and the checksum of the last outcome (0 if there is none)."""

    outcomes: int = 0
    last: int = 0


class SpentRow(NamedTuple):
    """The content of `spent`: the state of the journal, and an upper bound of the run's spending. The bound is None if
    no session recorded one."""

    mark: JournalMark
    spent: Spending | None


def connect(path: Path) -> sqlite3.Connection:
    """Open a journal for writing. Create it if it is missing.

    Raises:
        JournalError: it is damaged, not a journal, or of another format.
    """
    with name_file_in_errors(path), ExitStack() as undone:
        connection = _configure(sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30))
        undone.enter_context(closing(connection))
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        if not has_tables(connection, path):
            _make_tables(connection)
        undone.pop_all()
    return connection


def entries(path: Path) -> Iterator[JournalEntry]:
    """All entries of a closed journal, in the order in which they were written. This neither locks nor changes the
    journal.

    Raises:
        JournalError: the journal cannot be read or is damaged; the message names the row.
    """
    if not path.is_file():
        raise DamagedJournal(f"{path}: no such journal")
    with damage_as_bad_input(), name_file_in_errors(path), closing(open_read_only(path)) as connection:
        connection.execute("BEGIN")  # a snapshot, so concurrent writes change nothing here
        if not has_tables(connection, path):
            raise JournalError(f"{path} is empty. {_ADVICE}")
        for row in rows_of(connection, path):
            place = CallKey(row.trial.decode(), row.speaker.decode(), row.number, row.answerer.decode())
            yield JournalEntry(Identity(row.slot, row.content), place, decode_outcome(row, path))


def digest_outcomes(path: Path) -> str:
    """A hexadecimal digest of all outcomes of a closed journal. The outcomes are read in the order of their slots, so
    the digest does not depend on their order of arrival.

    Raises:
        JournalError: it cannot be read.
    """
    made = blake2b(digest_size=16)
    columns = ", ".join(_DIGESTED_COLUMNS)
    with name_file_in_errors(path), closing(open_read_only(path)) as connection:
        for values in connection.execute(f"SELECT {columns} FROM calls ORDER BY slot, row"):
            # repr() is the quickest way to keep adjacent values apart.
            made.update(repr(values).encode())
    return made.hexdigest()


@contextmanager
def damage_as_bad_input() -> Iterator[None]:
    """Turn errors about a damaged journal into errors of bad input, for checks before the first call. Disk errors stay
    as they are.

    Raises:
        DamagedJournal: the journal is damaged.
    """
    try:
        yield
    except DiskError:
        raise
    except JournalError as error:
        raise DamagedJournal(str(error)) from error


@contextmanager
def name_file_in_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors about a damaged file into errors that name the file."""
    try:
        yield
    except (sqlite3.Error, UnicodeError, OverflowError, MemoryError) as error:
        if is_of_disk(error):
            raise disk_error(path, error) from error
        advice = ""
        if is_one_of(error, sqlite3.SQLITE_READONLY):
            advice = " (a killed session left it so: 'overton resume' repairs it)"
        elif not isinstance(error, sqlite3.Error) or is_one_of(error, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            advice = f". {_ADVICE}"
        raise JournalError(f"{path} cannot be read as a journal: {error}{advice}") from error


_MIN_FREE_BYTES = 1 << 20
"""Free bytes below which a disk counts as full. This limit is needed because SQLite sometimes reports a full disk as
another error."""


def is_of_disk(error: Exception) -> bool:
    """Whether SQLite could not write because the disk is full or has failed."""
    read = (sqlite3.SQLITE_IOERR_READ, sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS)
    full = is_one_of(error, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
    return full and getattr(error, "sqlite_errorcode", 0) not in read


def disk_error(path: Path, error: Exception) -> DiskError:
    """The error, in one sentence, for a journal that cannot be written."""
    full = is_one_of(error, sqlite3.SQLITE_FULL) or disk_usage(path.parent).free < _MIN_FREE_BYTES
    what = "the disk is full" if full else f"the disk cannot be written to ({error})"
    return DiskError(
        f"{path.parent}: {what}. Free some space or repair the disk, then resume; every reply in {path.name} is kept."
    )


def is_one_of(error: Exception, *codes: int) -> bool:
    """Whether SQLite returned one of these primary result codes."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes


def rows_of(connection: sqlite3.Connection, path: Path) -> Iterator[Row]:
    """All rows. Each row is checked, and no row may be missing or extra.

    Raises:
        JournalError: a row is damaged or missing.
    """
    mark = JournalMark()
    for number, values in enumerate(connection.execute(f"{_SELECT_ROWS} ORDER BY row"), 1):
        row = _check_row(values, number, path)
        mark = JournalMark(number, row.checksum)
        yield row
    if (counted := state_of(connection, path).mark) != mark:
        counts = f"it has {mark.outcomes:,} outcomes, but its own count says {counted.outcomes:,}"
        raise JournalError(f"{path} is damaged: {counts}. {_ADVICE}")


def row_at(connection: sqlite3.Connection, number: int, path: Path) -> Row:
    """One row, checked.

    Raises:
        JournalError: it is damaged or missing.
    """
    with name_file_in_errors(path):
        values = connection.execute(f"{_SELECT_ROWS} WHERE row = ?", (number,)).fetchone()
    return _check_row(values or (), number, path)


def decode_outcome(row: Row, path: Path) -> Reply | Failure:
    """The outcome in a row.

    Raises:
        JournalError: it is damaged.
    """
    try:
        return (
            decode_json(row.outcome, _failure_decoder.decode)
            if row.failed
            else decode_json(row.outcome, _reply_decoder.decode)
        )
    except Unreadable as error:
        raise _damage_error(path, row.row, f"its outcome {error.reason}") from None


def insert(connection: sqlite3.Connection, mark: JournalMark, batch: Sequence[JournalEntry]) -> JournalMark:
    """Append outcomes to a journal whose state is `mark`, and return its new state."""
    values: list[str | bytes | int] = []
    for number, entry in enumerate(batch, mark.outcomes + 1):
        checksum = _add_values(values, number, entry)
    # Insert many rows in one statement. Each statement releases the interpreter lock, and getting it back takes long
    # while the other thread is busy.
    marks = ", ".join([_PLACEHOLDERS] * len(batch))
    connection.execute(f"INSERT INTO calls ({', '.join(_CALLS_COLUMNS)}) VALUES {marks}", values)
    return JournalMark(mark.outcomes + len(batch), checksum)


def state_of(connection: sqlite3.Connection, path: Path) -> SpentRow:
    """The content of `spent`.

    Raises:
        JournalError: it is damaged.
    """
    found = connection.execute(f"SELECT {', '.join(_SPENT_COLUMNS)} FROM spent").fetchall()
    if len(found) == 1:
        key, outcomes, last, requests, cost, checksum = found[0]
        if checksum == _spent_checksum(outcomes, last, requests, cost) and key == 1:
            return SpentRow(JournalMark(outcomes, last), None if requests is None else Spending(requests, cost))
    raise JournalError(f"{path} is damaged: its own record of outcomes and spending is unreadable. {_ADVICE}")


def keep(connection: sqlite3.Connection, state: SpentRow) -> None:
    """Replace the content of `spent` with this state."""
    requests, cost = state.spent or (None, None)
    values = (*state.mark, requests, cost if cost is None else float(cost))
    connection.execute(
        f"INSERT OR REPLACE INTO spent ({', '.join(_SPENT_COLUMNS)}) VALUES (1, ?, ?, ?, ?, ?)",
        (*values, _spent_checksum(*values)),
    )


_ADVICE = "Restore a copy of the file; its content cannot be recovered without one."


def _damage_error(path: Path, row: int, what: str) -> JournalError:
    return JournalError(f"{path} is damaged at row {row}: {what}. {_ADVICE}")


def _check_row(values: tuple[Any, ...], number: int, path: Path) -> Row:
    if tuple(map(type, values)) != _COLUMN_TYPES:
        raise _damage_error(path, number, "it is missing, or has values of another type")
    row = Row._make(values)
    if row.row != number:
        raise _damage_error(path, number, f"row {row.row} is in its place")
    if row.checksum != _row_checksum(values[:-1]):
        raise _damage_error(path, number, "its checksum is wrong")
    return row


def _add_values(values: list[str | bytes | int], number: int, entry: JournalEntry) -> int:
    """Add the values of a new row to a list, and return the row's checksum."""
    slot, content, place, outcome = entry.identity.slot, entry.identity.content, entry.place, _encode(entry.outcome)
    trial, speaker, answerer = place.trial.encode(), place.speaker.encode(), place.answerer.encode()
    failed = isinstance(entry.outcome, Failure)
    checksum = _row_checksum((number, slot, content, trial, speaker, place.number, answerer, failed, outcome))
    values += (number, slot, content, *place, failed, outcome.decode(), checksum)
    return checksum


def _row_checksum(values: tuple[Any, ...]) -> int:
    """The checksum of a row's other values. Texts are bytes, and the length of each keeps adjacent values apart."""
    row, slot, content, trial, speaker, number, answerer, failed, outcome = values
    lengths = len(slot), len(content), len(trial), len(speaker), len(answerer)
    head = b"%d %d %d %d %d %d %d %d " % (row, number, failed, *lengths)
    return crc32(outcome, crc32(head + slot + content + trial + speaker + answerer))


def _spent_checksum(*values: object) -> int:
    return crc32(repr(values).encode())


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a journal for reading, without locking out writers."""
    where = f"{path.absolute().as_uri()}?mode=ro"
    return _configure(sqlite3.connect(where, uri=True, isolation_level=None, check_same_thread=False))


def _configure(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Make SQLite check all data that it reads, run no code from the file, and return texts as bytes."""
    connection.text_factory = bytes
    connection.execute("PRAGMA cell_size_check=ON")
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def has_tables(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether a journal already has its tables.

    Raises:
        JournalError: it has another format or is not a journal.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, FORMAT):
        raise JournalError(f"{path} was written by another version of Overton (journal format {version})")
    tables = {name: _columns(connection, name) for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if tables != ({b"calls": _CALLS_COLUMNS, b"spent": _SPENT_COLUMNS} if version else {}):
        raise JournalError(f"{path} is damaged or not a journal: it has other tables. {_ADVICE}")
    return bool(version)


def _columns(connection: sqlite3.Connection, table: bytes) -> tuple[str, ...]:
    found = connection.execute("SELECT name FROM pragma_table_info(?)", (table.decode(),))
    return tuple(name.decode() for (name,) in found)


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables and write the format number, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for table in _SCHEMA:
        connection.execute(table)
    keep(connection, SpentRow(JournalMark(), None))
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.execute("COMMIT")
