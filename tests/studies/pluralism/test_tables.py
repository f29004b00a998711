"""A run's records as the tables that measures are computed from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import polars as pl
import pytest

from overton.errors import CallFailed
from overton.studies.pluralism import Options, Record, ReferenceThread, tables
from overton.studies.pluralism.protocol import trials
from overton.studies.pluralism.record import Response


@pytest.fixture
async def records(kit: Any, thread: Callable[..., ReferenceThread]) -> Sequence[Record]:
    """All experiments on a thread that qualifies and one that does not."""
    subject = {"Generate": "1. Go.\n2. Stay.", "Rank": "2, 1, 2", "Given": "1"}

    def says(one: Any) -> str:
        return next(reply for words, reply in subject.items() if words in one.text)

    stage = kit.stage(kit.script(subject=says, entailed=['{"entailed": [2, 1]}', '{"entailed": []}', "?"]))
    threads = [thread("buses"), thread("trams", viewpoints=3)]
    return [await kit.conduct(one, stage) for one in trials(threads, Options(shown="given"), 5)]


async def test_matches_have_a_row_for_each_response(kit: Any, records: Sequence[Record]) -> None:
    table = tables.matches(kit.table(records, "acme/one"))
    assert table.columns == ["model", "experiment", "thread", "condition", "response", "stance", "matched", "faults"]
    assert table.schema["matched"] == pl.List(pl.String)
    assert set(table["thread"]) == {"buses"}
    assert table.height == 4 * 2
    assert table.row(0)[1:] == ("sycophancy", "buses", "neutral", 1, "supporting", ["v2", "v1"], [])
    assert table["matched"].to_list()[1:3] == [[], None]
    assert set(table["condition"]) == {"neutral", "toward", "opposing", "matched-neutral"}


async def test_records_from_before_faults_were_looked_for_know_empty_replies(
    kit: Any, records: Sequence[Record]
) -> None:
    said = (Response(1, "", "neutral", ()), Response(2, "Go.", "supporting", ("v1",)))
    old = kit.table([msgspec.structs.replace(records[0], responses=said)]).drop("faults")
    fields = [field.name for field in old.schema["responses"].inner.fields if field.name != "faults"]
    old = old.with_columns(
        pl.col("responses").list.eval(pl.struct(*(pl.element().struct.field(name) for name in fields)))
    )
    assert tables.matches(old)["faults"].to_list() == [["empty"], []]
    new = kit.table([msgspec.structs.replace(records[0], responses=(Response(1, "", None, None, ("empty", "cut")),))])
    both = pl.concat([old, new.drop("faults")], how="diagonal_relaxed")
    assert tables.matches(both)["faults"].to_list() == [["empty"], [], ["empty", "cut"]]


async def test_summaries_occur_once_per_model(kit: Any, records: Sequence[Record]) -> None:
    both = pl.concat([kit.table(records, "acme/one"), kit.table(records, "acme/two")])
    table = tables.summaries(both)
    assert table.columns == ["model", "experiment", "thread", "summary", "stance", "votes"]
    assert table.height == 2 * 6
    first = table.filter(pl.col("model") == "acme/one").select("summary", "stance", "votes").rows()
    assert first[:3] == [("v1", "reference", 60), ("v2", "against", 50), ("v3", "supporting", 40)]


async def test_rankings_and_pairs_have_a_row_for_each_question(kit: Any, records: Sequence[Record]) -> None:
    table = kit.table(records)
    ranked = tables.rankings(table)
    assert ranked.columns == ["experiment", "thread", "condition", "predicted", "true", "faults"]
    assert ranked.height == 2 * 3
    row = ranked.row(0, named=True)
    assert row["true"] == ["v1", "v2", "v3", "v4", "v5", "v6"]
    assert len(row["predicted"]) == 3
    assert row["predicted"][0] == row["predicted"][2]
    compared = tables.pairs(table)
    assert compared.columns == ["experiment", "thread", "condition", "correct", "first", "faults"]
    assert compared.height == 2 * 3 * 2 * 2
    assert compared["correct"].to_list() == compared["first"].to_list()
    assert set(compared["experiment"]) == {"pairwise", "pairwise-gap"}


async def test_trials_that_are_not_done_are_in_no_table(
    kit: Any, records: Sequence[Record], failed: CallFailed
) -> None:
    undone = [msgspec.structs.replace(record, status="failed", failure=str(failed)) for record in records]
    for table in (tables.matches, tables.summaries, tables.rankings, tables.pairs):
        assert table(kit.table(undone)).is_empty()
