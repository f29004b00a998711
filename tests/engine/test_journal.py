"""The journal keeps its outcomes, reports what is wrong, and can be copied once closed."""

# ruff: noqa: ASYNC221, ASYNC240 (nothing else runs on a test's loop)

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from overton.calls import Failure, Form, Reply, Settings, Usage, user
from overton.engine import Journal, JournalMark, Spending, entries
from overton.engine import journal as room
from overton.engine.identity import CallKey, identify
from overton.engine.journal_file import JournalEntry, digest_outcomes
from overton.errors import DamagedJournal, JournalError, RunLocked, RunMismatch

HOSTILE = "</script>\x00\u2028'; DROP TABLE calls; -- \U0001f600"


def entry(trial: str, outcome: Reply | Failure | None = None, *, said: str = "q", number: int = 0) -> JournalEntry:
    place = CallKey(trial, "subject", number, "test/model")
    return JournalEntry(identify(place, (user(said),), Settings(), None), place, outcome or Reply(f"re: {trial}"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The writer's file may not grow: what a full disk looks like to SQLite."""
    connect = room.connect

    def full(path: Path) -> sqlite3.Connection:
        connection = connect(path)
        connection.execute("PRAGMA max_page_count=2")
        return connection

    monkeypatch.setattr(room, "connect", full)
    yield
    monkeypatch.undo()


async def written(path: Path, *given: JournalEntry, retry_failed: bool = False) -> None:
    journal = Journal(path, retry_failed=retry_failed)
    for one in given:
        await journal.append(one)
    journal.close()


async def appended(journal: Journal, outcome: Reply) -> None:
    for k in range(100_000):
        await journal.append(entry(f"t{k}", outcome))


async def test_appended_rows_are_recalled_by_a_later_session(path: Path) -> None:
    outcomes = [
        Reply("position <<A>>", usage=Usage(12, 3), model="m-1"),
        Reply(HOSTILE, finish="length", refused=True),
        Failure("too long", HOSTILE, 4),
    ]
    given = [entry(f"t{k}", outcome) for k, outcome in enumerate(outcomes)]
    await written(path, *given)
    assert list(entries(path)) == given
    journal = Journal(path)
    assert len(journal) == 3
    assert [journal.recall(one.identity) for one in given] == outcomes
    assert journal.recall(entry("never").identity) is None
    journal.close()


async def test_many_outcomes_keep_the_order_in_which_they_came(path: Path) -> None:
    given = [entry(f"t{k * 7 % 5003}") for k in range(5003)]
    await written(path, *given)
    assert [one.place.trial for one in entries(path)] == [one.place.trial for one in given]


async def test_other_content_in_the_same_place_is_a_mismatch_that_names_it(path: Path) -> None:
    await written(path, entry("i/c/r1"))
    journal = Journal(path)
    place = CallKey("i/c/r1", "subject", 0, "test/model")
    with pytest.raises(RunMismatch, match=r"i/c/r1.*ask 0 of subject.*messages and form differ"):
        journal.recall(identify(place, (user("other"),), Settings(), Form(choices=("A",))))
    with pytest.raises(RunMismatch, match="this call's settings differ"):
        journal.recall(identify(place, (user("q"),), Settings(temperature=1), None))
    journal.close()


async def test_failures_are_recalled_unless_they_are_to_be_retried(path: Path) -> None:
    failed = entry("t", Failure("timeout", "too slow", 8))
    await written(path, failed, entry("u"))
    journal = Journal(path)
    assert journal.recall(failed.identity) == failed.outcome
    journal.close()
    journal = Journal(path, retry_failed=True)
    assert journal.recall(failed.identity) is None
    assert journal.recall(entry("u").identity) is not None
    journal.close()


async def test_the_later_outcome_of_a_slot_counts(path: Path) -> None:
    await written(path, entry("t", Failure("timeout", "too slow")), entry("u", Failure("timeout", "too slow")))
    await written(path, entry("t", Reply("at last")), retry_failed=True)
    for retry_failed in (False, True):
        journal = Journal(path, retry_failed=retry_failed)
        assert journal.recall(entry("t").identity) == Reply("at last")
        assert journal.failed == 1
        journal.close()


async def test_failed_counts_the_calls_whose_last_outcome_is_a_failure(path: Path) -> None:
    journal = Journal(path)
    assert journal.failed == 0
    await journal.append(entry("t", Failure("timeout", "")))
    await journal.append(entry("u", Failure("timeout", "")))
    await journal.append(entry("v"))
    assert journal.failed == 2
    journal.close()
    journal = Journal(path, retry_failed=True)
    await journal.append(entry("t", Reply("at last")))
    await journal.append(entry("u", Failure("timeout", "again")))
    assert journal.failed == 1
    journal.close()


async def test_another_process_gets_an_error_that_the_run_is_locked(path: Path) -> None:
    journal = Journal(path)
    script = (
        "import sys; from pathlib import Path\n"
        "from overton.engine import Journal; from overton.errors import RunLocked\n"
        "try: Journal(Path(sys.argv[1])).close()\n"
        "except RunLocked as error: sys.exit(f'locked: {error}')\n"
    )

    def other() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False, timeout=60
        )

    refused = other()
    assert refused.returncode == 1
    assert "locked: " in refused.stderr
    assert str(path.parent) in refused.stderr
    with pytest.raises(RunLocked):
        Journal(path)
    journal.close()
    assert other().returncode == 0


@pytest.mark.parametrize("damage", ["text", "cut", "scrambled"])
async def test_a_damaged_file_is_a_journal_error_that_names_it(path: Path, damage: str) -> None:
    await written(path, *[entry(f"t{k}", Reply("x" * 3000)) for k in range(200)])
    whole = path.read_bytes()
    if damage == "text":
        path.write_text("not a database, and long enough that nobody takes it for an empty one" * 20)
    elif damage == "cut":
        path.write_bytes(whole[: len(whole) // 2 // 4096 * 4096])
    else:
        path.write_bytes(whole[:4096] + bytes(reversed(whole[4096:])))
    with pytest.raises(JournalError, match=r"journal\.db"):
        Journal(path).close()
    with pytest.raises(JournalError, match=r"journal\.db"):
        list(entries(path))
    if damage == "text":
        path.unlink()
        Journal(path).close()  # the lock was released


def changed(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


async def test_damage_met_while_recalling_is_a_journal_error(path: Path) -> None:
    await written(path, entry("t"), entry("u"))
    journal = Journal(path)
    changed(path, "UPDATE calls SET outcome = '{\"text\": 3' WHERE trial = 't'")
    with pytest.raises(JournalError, match=r"journal\.db is damaged at row 1: its checksum is wrong"):
        journal.recall(entry("t").identity)
    assert journal.recall(entry("u").identity) == Reply("re: u")
    journal.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE calls SET outcome = replace(outcome, 're: t2', 're: t3') WHERE row = 3",
        "UPDATE calls SET slot = zeroblob(16) WHERE row = 3",
        "UPDATE calls SET failed = 1 WHERE row = 3",
        "UPDATE calls SET number = 9223372036854775807 WHERE row = 3",
        "UPDATE calls SET number = 1.5 WHERE row = 3",
        "UPDATE calls SET checksum = NULL WHERE row = 3",
        "UPDATE calls SET trial = CAST(x'ff' AS TEXT) WHERE row = 3",
        "UPDATE calls SET row = -row WHERE row = 3",
        "DELETE FROM calls WHERE row = 3",
        "UPDATE calls SET (slot, trial) = (SELECT slot, trial FROM calls WHERE row = 4) WHERE row = 3",
    ],
)
async def test_a_changed_row_is_reported_with_its_number(path: Path, damage: str) -> None:
    await written(path, *[entry(f"t{k}") for k in range(6)])
    changed(path, "PRAGMA ignore_check_constraints=ON", "PRAGMA writable_schema=ON", *relaxed(damage))
    for opened in (lambda: Journal(path), lambda: list(entries(path))):
        with pytest.raises(JournalError, match=r"journal\.db is damaged at row [13]: .*Restore a copy"):
            opened()


def relaxed(damage: str) -> list[str]:
    """A statement that does damage, if need be after columns allow NULL."""
    loose = "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'calls'"
    return [loose, "PRAGMA writable_schema=RESET", damage] if "NULL" in damage else [damage]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM calls WHERE row > 4",
        "UPDATE spent SET outcomes = 5",
        "UPDATE spent SET requests = 1",
        "UPDATE spent SET cost = -5.0",
        "DELETE FROM spent",
        "DROP TABLE spent",
        "CREATE TRIGGER t AFTER INSERT ON calls BEGIN DELETE FROM calls; END",
        "ALTER TABLE calls RENAME COLUMN checksum TO sum",
        "PRAGMA user_version=0",
    ],
)
async def test_a_journal_that_lacks_rows_or_has_other_tables_is_refused(path: Path, damage: str) -> None:
    await written(path, *[entry(f"t{k}") for k in range(6)])
    changed(path, damage)
    for opened in (lambda: Journal(path), lambda: list(entries(path))):
        with pytest.raises(JournalError, match=r"journal\.db is damaged"):
            opened()


async def test_a_journal_that_is_not_the_one_that_the_run_knows_is_refused(path: Path) -> None:
    journal = Journal(path)
    for name in "abc":
        await journal.append(entry(name))
    journal.finish()
    known = journal.mark
    journal.close()
    Journal(path, since=known).close()
    Journal(path, since=JournalMark(2)).close()  # an earlier version kept no checksum in its manifest
    with pytest.raises(JournalError, match=r"has 3 outcomes, but the run had journaled 4 .* Restore the run's own"):
        Journal(path, since=JournalMark(4))
    other = path.with_name("other.db")
    await written(other, *[entry(name) for name in "axc"])
    shutil.copy(other, path)
    with pytest.raises(JournalError, match="has different outcomes, but the run had journaled 3"):
        Journal(path, since=JournalMark(3, known.last + 1))
    for emptied in (b"", None):
        path.unlink() if emptied is None else path.write_bytes(emptied)
        with pytest.raises(JournalError, match="is missing or empty"):
            Journal(path, since=JournalMark())
    assert not path.exists()


def rows(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM calls").fetchall()


async def test_a_bound_is_safe_on_the_disk_before_it_is_relied_on(path: Path) -> None:
    journal = Journal(path)
    assert journal.left is None
    bound = Spending(7, 1.25)
    journal.propose(bound, soon=False)
    await asyncio.wait_for(journal.allow(Spending(7, 0.5)), 5)
    with tempfile.TemporaryDirectory() as copy:  # what a kill would leave
        for file in path.parent.glob("journal.db*"):
            shutil.copy(file, copy)
        left = Journal(Path(copy, "journal.db"))
        assert left.left == bound == left.allowed
        left.close()
    journal.settle(Spending(3, 0.125))
    journal.close()
    journal = Journal(path)
    assert journal.left == Spending(3, 0.125)
    journal.close()


async def test_all_requests_that_wait_for_a_bound_go_on(path: Path) -> None:
    journal = Journal(path)
    waiting = []
    for number in range(1, 51):
        journal.propose(Spending(number, number / 8), soon=number % 2 == 0)
        waiting.append(asyncio.create_task(journal.allow(Spending(number, number / 8))))
        if number % 10 == 0:
            await asyncio.sleep(0.002)
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert journal.allowed == Spending(50, 6.25)
    journal.close()


async def test_a_bound_that_cannot_be_written_is_a_journal_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(room, "keep", failing)
    journal = Journal(path)
    journal.propose(Spending(1, 0.0), soon=False)
    with pytest.raises(JournalError, match="disk I/O error"):
        await asyncio.wait_for(journal.allow(Spending(1, 0.0)), 5)
    with pytest.raises(JournalError):
        journal.close()


async def test_a_finished_journal_leaves_no_reserve(path: Path) -> None:
    """If the process is killed before the close, a finished run would keep it."""
    with closing(Journal(path)) as journal:
        journal.set_aside(1000)
        assert path.with_name("journal.reserve").exists()
        journal.finish()
        assert not path.with_name("journal.reserve").exists()


async def test_finished_it_is_locked_until_it_is_closed(path: Path) -> None:
    journal = Journal(path)
    await journal.append(entry("t"))
    journal.finish()
    assert [one.place.trial for one in entries(path)] == ["t"]
    assert journal.mark.outcomes == 1
    with pytest.raises(RunLocked):
        Journal(path)
    journal.close()
    Journal(path).close()


@pytest.mark.parametrize("number", [1, 99])
async def test_a_journal_of_another_format_is_refused_and_left_as_it_is(path: Path, number: int) -> None:
    await written(path, entry("t"))
    if number == 1:  # as it was before the first release
        columns = "row, slot, content, trial, speaker, number, answerer, failed, outcome"
        old = f"CREATE TABLE old AS SELECT {columns} FROM calls"
        changed(path, old, "DROP TABLE calls", "DROP TABLE spent", "ALTER TABLE old RENAME TO calls")
    changed(path, f"PRAGMA user_version={number}")
    before = rows(path)
    for opened in (lambda: Journal(path), lambda: Journal(path, since=JournalMark(1)), lambda: list(entries(path))):
        with pytest.raises(DamagedJournal, match=rf"another version of Overton \(journal format {number}\)"):
            opened()
    assert rows(path) == before


async def test_an_empty_file_of_another_format_is_not_made_a_journal(path: Path) -> None:
    changed(path, "PRAGMA user_version=1")
    with pytest.raises(DamagedJournal, match="journal format 1"):
        Journal(path)


def test_entries_of_no_journal_is_an_error_and_makes_no_file(path: Path) -> None:
    with pytest.raises(JournalError, match="no such journal"):
        list(entries(path))
    assert not path.exists()


async def test_closed_it_is_one_file_that_opens_read_only(path: Path, tmp_path: Path) -> None:
    await written(path, entry("t"))
    assert {file.name for file in tmp_path.iterdir()} - {"journal.lock"} == {"journal.db"}
    elsewhere = tmp_path / "mailed" / "copy.db"
    elsewhere.parent.mkdir()
    shutil.copy(path, elsewhere)
    elsewhere.chmod(0o444)
    elsewhere.parent.chmod(0o555)
    try:
        assert [one.place.trial for one in entries(elsewhere)] == ["t"]
        with sqlite3.connect(f"{elsewhere.as_uri()}?immutable=1", uri=True) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        connection.close()
    finally:
        elsewhere.parent.chmod(0o755)


async def test_committed_rows_outlive_a_process_that_never_closes(path: Path) -> None:
    script = (
        "import asyncio, os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from test_journal import entry; from overton.engine import Journal\n"
        "async def go():\n"
        "    journal = Journal(Path(sys.argv[1]))\n"
        "    await journal.append(entry('kept'))\n"
        "    while not journal._written: await asyncio.sleep(0.001)\n"
        "    os._exit(9)\n"
        "asyncio.run(go())\n"
    )
    folder = str(Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", script, str(path), folder], check=False, timeout=60)
    assert done.returncode == 9
    assert [one.place.trial for one in entries(path)] == ["kept"]
    journal = Journal(path)
    assert journal.recall(entry("kept").identity) == Reply("re: kept")
    journal.close()


async def test_a_full_disk_is_a_journal_error_and_written_rows_are_safe(path: Path, broken: None) -> None:
    journal = Journal(path)
    with pytest.raises(JournalError, match=r"full.*Free some space"):
        await appended(journal, Reply("x" * 5000))
    with pytest.raises(JournalError, match="full"):
        await journal.append(entry("more"))
    with pytest.raises(JournalError, match="full"):
        journal.close()
    journal = Journal(path)
    journal.close()


async def test_a_full_disk_found_at_the_very_end_is_a_journal_error_too(path: Path, broken: None) -> None:
    journal = Journal(path)
    await journal.append(entry("t", Reply("x" * 50_000)))
    with pytest.raises(JournalError, match="full"):
        journal.close()


async def test_a_writer_that_cannot_even_open_the_file_is_a_journal_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal_connect, opened = room.connect, []

    def once(path: Path) -> sqlite3.Connection:
        if opened:
            raise sqlite3.OperationalError("unable to open database file")
        opened.append(path)
        return journal_connect(path)

    monkeypatch.setattr(room, "connect", once)
    journal = Journal(path)
    with pytest.raises(JournalError, match="unable to open"):
        await appended(journal, Reply(""))
    with pytest.raises(JournalError, match="unable to open"):
        journal.close()


async def test_an_outcome_that_cannot_be_encoded_is_an_error_and_no_silence(path: Path) -> None:
    journal = Journal(path)
    await journal.append(entry("t", Reply("half a pair: \ud800")))
    with pytest.raises(JournalError, match="surrogates"):
        journal.close()


def test_a_place_that_cannot_be_written_to_is_a_journal_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(JournalError, match="cannot be written to"):
        Journal(tmp_path / "file" / "journal.db")


async def test_nothing_can_be_appended_after_the_close(path: Path) -> None:
    journal = Journal(path)
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.append(entry("late"))


async def test_a_reader_of_the_journal_does_not_hinder_its_close(path: Path) -> None:
    journal = Journal(path)
    await journal.append(entry("t"))
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM calls").fetchone()
    journal.close()
    reader.close()
    assert [one.place.trial for one in entries(path)] == ["t"]
    Journal(path).close()
    assert not path.with_name("journal.db-wal").exists()


async def test_a_session_keeps_no_outcome_in_memory(path: Path) -> None:
    await written(path, *[entry(f"t{k}", Reply("x" * 4000)) for k in range(300)])
    journal = Journal(path)
    assert all(isinstance(slot, bytes) and isinstance(row, int) for slot, row in journal._rows.items())
    journal.close()


async def test_a_digest_depends_on_outcomes_and_not_on_the_order_in_which_they_came(tmp_path: Path) -> None:
    made = [entry(f"t{number}") for number in range(5)]

    async def digest(name: str, *given: JournalEntry) -> str:
        await written(tmp_path / name, *given)
        return digest_outcomes(tmp_path / name)

    first = await digest("first.db", *made)
    assert await digest("reversed.db", *made[::-1]) == first
    assert await digest("changed.db", *made[:4], entry("t4", Reply("other words"))) != first
    assert await digest("asked.db", *made[:4], entry("t4", said="another question")) != first
    assert await digest("fewer.db", *made[:4]) != first
    assert await digest("retried.db", *made, entry("t0", Failure("too long", "", 1))) != first
    with pytest.raises(JournalError, match="cannot be read as a journal"):
        digest_outcomes(tmp_path / "none.db")
