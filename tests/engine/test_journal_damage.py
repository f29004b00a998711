"""Any damage to a journal's file is reported or harmless: no outcome other than the stored one is ever returned."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from overton.calls import Failure, Reply, Settings, Usage, user
from overton.engine import Journal, JournalMark, entries
from overton.engine.identity import CallKey, identify
from overton.engine.journal_file import JournalEntry
from overton.errors import JournalError

PAGE = 4096
EACH = 60


def entry(number: int, chance: random.Random) -> JournalEntry:
    shared = number % 7 == 0
    place = CallKey("" if shared else f"t{number}", "subject", 0 if shared else number % 3, "test/model")
    text = f"re: {number} {'é' * chance.randrange(400)}" + "x" * chance.choice([0, 0, 0, 9_000])
    outcome = Failure("timeout", text, 3) if number % 11 == 0 else Reply(text, usage=Usage(number, 3), model="m-1")
    return JournalEntry(identify(place, (user(f"q{number}"),), Settings(), None), place, outcome)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[JournalEntry], JournalMark]:
    """A closed journal's file, its content, and how far its run knows it to have come."""
    path, chance = tmp_path_factory.mktemp("whole") / "journal.db", random.Random(1)
    given = [entry(number, chance) for number in range(80)]

    async def write() -> JournalMark:
        journal = Journal(path)
        for one in given:
            await journal.append(one)
        journal.finish()
        mark = journal.mark
        journal.close()
        return mark

    mark = asyncio.run(write())
    return path.read_bytes(), given, mark


Damage = Callable[[bytearray, random.Random], None]


def flip_a_bit(file: bytearray, chance: random.Random) -> None:
    file[chance.randrange(len(file))] ^= 1 << chance.randrange(8)


def change_a_byte_of_a_head(file: bytearray, chance: random.Random) -> None:
    """In the head of the file or of a page, where a little damage does much harm."""
    page = chance.randrange(len(file) // PAGE)
    file[page * PAGE + chance.randrange(120)] = chance.randrange(256)


def cut_it(file: bytearray, chance: random.Random) -> None:
    del file[chance.choice([chance.randrange(len(file)), chance.randrange(len(file) // PAGE) * PAGE]) :]


def zero_a_page(file: bytearray, chance: random.Random) -> None:
    page = chance.randrange(len(file) // PAGE) * PAGE
    file[page : page + PAGE] = bytes(PAGE)


def swap_pages(file: bytearray, chance: random.Random) -> None:
    one, other = (number * PAGE for number in chance.sample(range(len(file) // PAGE), 2))
    file[one : one + PAGE], file[other : other + PAGE] = file[other : other + PAGE], file[one : one + PAGE]


def swap_cells(file: bytearray, chance: random.Random) -> None:
    """Two rows of a leaf swap places in the page's own directory."""
    leaves = [page for page in range(1, len(file) // PAGE) if file[page * PAGE] == 13]
    page = chance.choice(leaves) * PAGE
    cells = int.from_bytes(file[page + 3 : page + 5])
    if cells > 1:
        one, other = (page + 8 + 2 * number for number in chance.sample(range(cells), 2))
        file[one : one + 2], file[other : other + 2] = file[other : other + 2], file[one : one + 2]


def write_over(file: bytearray, chance: random.Random) -> None:
    start, size = chance.randrange(len(file)), chance.randrange(1, 600)
    file[start : start + size] = chance.randbytes(size)


def outcomes_of(path: Path, given: list[JournalEntry], mark: JournalMark) -> list[Reply | Failure | None]:
    journal = Journal(path, since=mark)
    try:
        return [journal.recall(one.identity) for one in given]
    finally:
        journal.close()


@pytest.mark.parametrize(
    "damage", [flip_a_bit, change_a_byte_of_a_head, cut_it, zero_a_page, swap_pages, swap_cells, write_over]
)
def test_damage_is_reported_or_harmless(
    tmp_path: Path, kept: tuple[bytes, list[JournalEntry], JournalMark], damage: Damage
) -> None:
    whole, given, mark = kept
    told, path = 0, tmp_path / "journal.db"
    for seed in range(EACH):
        file = bytearray(whole)
        damage(file, random.Random(f"{damage.__name__}/{seed}"))
        for read in (lambda: list(entries(path)), lambda: outcomes_of(path, given, mark)):
            for left in tmp_path.glob("journal.db*"):
                left.unlink()
            path.write_bytes(file)
            try:
                assert read() in (given, [one.outcome for one in given]), seed
            except JournalError as error:
                assert "journal.db" in str(error)  # noqa: PT017 (which of the two it is, damage decides)
                told += 1
    assert told > EACH / 4
