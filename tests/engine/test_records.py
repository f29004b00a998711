"""Records come out in plan order and of the right types, in any order in which trials finish."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl
import pytest

from overton.calls import Trial
from overton.engine.records import RecordWriter, columns_of, record_type_columns
from overton.errors import RunError


class Row(msgspec.Struct, frozen=True):
    trial: str
    number: int


class Inner(msgspec.Struct, frozen=True, omit_defaults=True):
    word: str = "none"
    count: int | None = None


class Rich(msgspec.Struct, frozen=True):
    text: str
    side: Literal["pro", "con"] | None
    share: float | None
    whole: int | None
    flag: bool
    names: tuple[str, ...]
    numbers: list[int] | None
    inner: Inner
    inners: tuple[Inner, ...] = ()


RICH = [
    Rich("plain", "pro", 0.5, 3, True, ("pro-1", "con-2"), [1, 2], Inner("w", 1), (Inner("a"), Inner("b", 2))),
    Rich("", None, None, None, False, (), None, Inner(), ()),
    Rich("</script>\x00\u2028\n\"'\U0001f600", "con", 1, 0, False, ("é\x00\n",), [], Inner("\U0001f600\t"), (Inner(),)),
]


def trials(count: int, items: int = 1) -> list[Trial]:
    return [Trial(f"i{k * items // count}/r{k}", f"i{k * items // count}", 0) for k in range(count)]


@pytest.fixture
def outcomes(tmp_path: Path) -> Callable[..., RecordWriter]:
    def make(record: type[msgspec.Struct] = Row, **more: int) -> RecordWriter:
        return RecordWriter(tmp_path / "parts", record, {"model": "test/model", "held": False}, **more)

    return make


def fill(outcomes: RecordWriter, planned: list[Trial], order: Iterable[int], *, rows: int = 1) -> None:
    for position in order:
        trial = planned[position]
        outcomes.add(position, trial, [Row(trial.name, position * 10 + k) for k in range(rows)])


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_in_plan_order_in_any_order_of_ending(outcomes: Callable[..., RecordWriter], seed: int) -> None:
    planned, kept = trials(12_000), outcomes()
    order = list(range(len(planned)))
    chance = random.Random(seed)
    for start in range(0, len(order), 500):  # as with many in progress at once
        part = order[start : start + 500]
        chance.shuffle(part)
        order[start : start + 500] = part
    fill(kept, planned, order)
    frame = kept.close().collect()
    assert frame["trial"].to_list() == [trial.name for trial in planned]
    assert frame.columns == ["model", "held", "trial", "number"]
    assert frame["model"].unique().to_list() == ["test/model"]
    assert frame["held"].unique().to_list() == [False]


def test_a_trial_may_have_many_records_or_none(outcomes: Callable[..., RecordWriter]) -> None:
    planned, kept = trials(3), outcomes()
    fill(kept, planned, [2], rows=2)
    fill(kept, planned, [1], rows=0)
    fill(kept, planned, [0], rows=1)
    assert kept.close().collect()["number"].to_list() == [0, 20, 21]
    assert kept.done["i0"] == 3


def test_rows_of_incomplete_items_are_left_out(outcomes: Callable[..., RecordWriter]) -> None:
    planned, kept = trials(9, items=3), outcomes()
    fill(kept, planned, [0, 1, 2, 3, 5, 8, 7, 6])  # position 4, of item 1, never finishes
    frame = kept.close(["i1"]).collect()
    assert frame["trial"].to_list() == [planned[k].name for k in (0, 1, 2, 6, 7, 8)]


def test_trials_that_wait_for_an_earlier_one_count_as_done(outcomes: Callable[..., RecordWriter]) -> None:
    planned, kept = trials(9, items=3), outcomes()
    fill(kept, planned, [1, 2, 3, 4, 5, 6, 7, 8])
    assert kept.done == {"i0": 2, "i1": 3, "i2": 3}


def test_no_rows_at_all_still_make_a_table_with_all_columns(outcomes: Callable[..., RecordWriter]) -> None:
    frame = outcomes(Rich).close(["i0"]).collect()
    assert frame.height == 0
    assert frame.columns == ["model", "held", *record_type_columns(Rich)]


def test_every_column_has_its_type_and_keeps_its_values(outcomes: Callable[..., RecordWriter]) -> None:
    kept = outcomes(Rich)
    kept.add(0, trials(1)[0], list(RICH))
    frame = kept.close().collect()
    assert frame.schema["share"] == pl.Float64
    assert frame.schema["inner"] == pl.Struct({"word": pl.String, "count": pl.Int64})
    assert frame.schema["inners"] == pl.List(pl.Struct({"word": pl.String, "count": pl.Int64}))
    for row, record in zip(frame.iter_rows(named=True), RICH, strict=True):
        assert row == {
            "model": "test/model",
            "held": False,
            "text": record.text,
            "side": record.side,
            "share": record.share,
            "whole": record.whole,
            "flag": record.flag,
            "names": list(record.names),
            "numbers": record.numbers,
            "inner": {"word": record.inner.word, "count": record.inner.count},
            "inners": [{"word": one.word, "count": one.count} for one in record.inners],
        }


def test_columns_with_only_missing_values_keep_their_types() -> None:
    frame = columns_of([RICH[1]], record_type_columns(Rich))
    assert frame.schema == pl.Schema(record_type_columns(Rich))


def test_an_annotation_that_no_column_can_hold_is_refused() -> None:
    class Odd(msgspec.Struct):
        table: dict[str, int]

    with pytest.raises(TypeError, match="cannot store"):
        record_type_columns(Odd)


async def test_the_window_holds_back_those_too_far_ahead(outcomes: Callable[..., RecordWriter]) -> None:
    planned, kept = trials(10), outcomes(window=3)
    for position in range(3):
        await asyncio.wait_for(kept.admit(position), 5)
    ahead = asyncio.create_task(kept.admit(3))
    fill(kept, planned, [2, 1])
    for _ in range(3):
        await asyncio.sleep(0)
    assert not ahead.done()
    fill(kept, planned, [0])
    await asyncio.wait_for(ahead, 5)


async def test_a_release_lets_everyone_go(outcomes: Callable[..., RecordWriter]) -> None:
    kept = outcomes(window=2)
    waiting = [asyncio.create_task(kept.admit(position)) for position in (2, 3, 100)]
    await asyncio.sleep(0)
    kept.release()
    await asyncio.wait_for(asyncio.gather(*waiting), 5)


def test_parts_are_removed_when_discarded(outcomes: Callable[..., RecordWriter], tmp_path: Path) -> None:
    kept = outcomes()
    fill(kept, trials(1), [0])
    kept.close().collect()
    kept.discard()
    assert not (tmp_path / "parts").exists()


def test_parts_that_a_killed_session_left_are_not_read(outcomes: Callable[..., RecordWriter], tmp_path: Path) -> None:
    planned = trials(6_000)
    killed = outcomes()
    fill(killed, planned, range(6_000))
    assert list((tmp_path / "parts").iterdir())
    kept = outcomes()
    fill(kept, planned[:2], [0, 1])
    assert kept.close().collect().height == 2


UNFIT = [Row("t", 2**63), Row("\ud800", 1), Row("t", 1.5), Row("t", "1"), Row("t", 10**400)]  # type: ignore[arg-type]


@pytest.mark.parametrize("unfit", UNFIT)
@pytest.mark.parametrize("count", [8, 5_100])
def test_a_trial_whose_records_no_table_can_hold_is_left_out_and_named(
    outcomes: Callable[..., RecordWriter], unfit: Row, count: int
) -> None:
    planned, kept = trials(count, items=4), outcomes()
    for position, trial in enumerate(planned):
        fine = [Row(trial.name, position)]
        kept.add(position, trial, [*fine, unfit] if position == 1 else fine)
    kept.settle()
    kept.settle()
    assert kept.spoiled == {"i0"}
    (name, reason) = kept.unwritable.popitem()
    assert (name, not kept.unwritable) == (planned[1].name, True)
    assert reason.startswith(("column number: ", "column trial: "))
    assert reason.isprintable()
    frame = kept.close(kept.spoiled).collect()
    assert frame["trial"].to_list() == [trial.name for trial in planned if trial.item != "i0"]
    assert kept.done.total() == count


@pytest.mark.parametrize("inner", [Inner("\ud800"), Inner("w", 2**63), Inner("w", "many")])  # type: ignore[arg-type]
def test_unwritable_values_inside_lists_and_structs_are_left_out_too(
    outcomes: Callable[..., RecordWriter], inner: Inner
) -> None:
    planned, kept = trials(2), outcomes(Rich)
    kept.add(0, planned[0], [msgspec.structs.replace(RICH[0], inners=(inner,))])
    kept.add(1, planned[1], RICH)
    assert kept.close().collect().height == len(RICH)
    assert list(kept.unwritable) == [planned[0].name]
    assert kept.unwritable[planned[0].name].startswith("column inners: ")


def test_a_part_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "records.parts").write_bytes(b"")
    outcomes = RecordWriter(tmp_path / "records.parts" / "0", Row, {})
    with pytest.raises(RunError, match="is not a folder"):
        outcomes.close()
    (tmp_path / "1" / "000000.parquet").mkdir(parents=True)
    with pytest.raises(RunError, match=r"000000\.parquet cannot be written: "):
        RecordWriter(tmp_path / "1", Row, {}).close()
