"""A journal is read as it is at one moment, whoever writes it, and nothing of it changes."""

# ruff: noqa: ASYNC240 (nothing else runs on a test's loop)

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from tests.engine.test_journal import entry, written

from overton.calls import Failure, Reply
from overton.engine import Journal, JournalReader
from overton.errors import DamagedJournal, RunMismatch


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def test_a_reader_has_the_outcomes_committed_before_it_was_opened(path: Path) -> None:
    first, failed, later = entry("t1"), entry("t2", Failure("timeout", "gone", 2)), entry("t3")
    with closing(Journal(path)) as journal:
        await journal.keep(first)
        await journal.keep(failed)
        with closing(JournalReader(path)) as reader:
            await journal.keep(later)
            assert len(reader) == 2
            assert reader.recall(first.identity) == first.outcome
            assert reader.recall(failed.identity) == failed.outcome
            assert reader.recall(later.identity) is None
        with closing(JournalReader(path)) as reader:
            assert reader.recall(later.identity) == later.outcome
    assert not path.with_suffix(".db-wal").exists()


async def test_the_last_of_two_outcomes_counts_and_notes_are_apart(path: Path) -> None:
    note = entry("")
    note = note._replace(place=note.place._replace(speaker="~round"))
    await written(path, entry("t1", Failure("timeout", "gone")), entry("t1", Reply("late")), note)
    before = path.read_bytes()
    with closing(JournalReader(path)) as reader:
        assert reader.recall(entry("t1").identity) == Reply("late")
        assert [found.place.speaker for found in reader.notes()] == ["~round"]
        assert len(reader) == 1
    assert path.read_bytes() == before


async def test_another_call_in_a_slot_and_damage_are_errors(path: Path) -> None:
    await written(path, entry("t1"))
    with closing(JournalReader(path)) as reader, pytest.raises(RunMismatch, match="messages differ"):
        reader.recall(entry("t1", said="something else").identity)
    path.write_bytes(path.read_bytes().replace(b"re: t1", b"re: t2"))
    with pytest.raises(DamagedJournal, match="checksum"):
        JournalReader(path)


async def test_a_journal_that_has_not_begun_is_empty_and_is_not_made(path: Path) -> None:
    for _ in range(2):
        with closing(JournalReader(path)) as reader:
            assert (len(reader), reader.notes(), reader.recall(entry("t1").identity)) == (0, [], None)
        assert not path.exists() or not path.stat().st_size
        path.write_bytes(b"")
