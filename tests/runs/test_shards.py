"""A run split into shards, worked on separately, killed midway, and merged equals the run that was never split."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.runs.conftest import SEED, Endpoint, Runs

import overton
from overton.calls import Reply, Settings, user
from overton.engine import Journal, entries
from overton.engine.identity import CallKey, identify
from overton.engine.journal_file import JournalEntry
from overton.errors import InputError, JournalError
from overton.runs.event_loop import run_to_end
from overton.runs.folder import read_manifest, write_manifest

KILLED = Path(__file__).with_name("killed.py")


@dataclass(frozen=True)
class Design:
    """A small design of a study, and how many shards it is split into."""

    models: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    into: int = 3


DESIGNS = {
    "open-mindedness": Design(("simulated/open-minded",), options={"trials": 1, "templates": [1], "nulls": "all"}),
    "stance-stability": Design(
        ("simulated/chameleon", "simulated/chameleon/steady"),
        {"judge": ("simulated/stance-judge",), "search": ("starter",), "queries": ("simulated/chameleon/writer",)},
        {"turns": 2, "temperatures": [0.5]},
    ),
    "pluralism": Design(("simulated/pluralist",), {"judge": ("simulated/pluralist-judge",)}, {"responses": 3}),
    "deliberation": Design(
        ("simulated/deliberator", "simulated/deliberator/firm"),
        {"values": ("simulated/values-judge",)},
        {"formats": ["synchronous", "round-robin"]},
        into=2,
    ),
    "even-handedness": Design(("simulated/advocate",), {"judge": ("simulated/even-judge",)}, {"trials": 2, "nulls": 1}),
}


def given(name: str) -> dict[str, Any]:
    design = DESIGNS[name]
    return {"models": design.models, "others": design.others, **design.options}


@pytest.mark.long
@pytest.mark.parametrize("name", DESIGNS)
def test_a_run_of_killed_shards_is_the_whole_run(name: str, tmp_path: Path) -> None:
    whole = overton.run(name, out=tmp_path / "whole", **given(name))
    shards = overton.split(name, into=DESIGNS[name].into, out=tmp_path / "shards", **given(name))
    killed = subprocess.run(
        [sys.executable, str(KILLED), *(str(shard.path) for shard in shards)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(killed.stdout)["kills"] >= len(shards)
    merged = overton.merge([shard.path for shard in reversed(shards)], tmp_path / "merged")
    assert merged.finished
    assert merged.records().equals(whole.records())
    assert (merged.path / "records.parquet").read_bytes() == (whole.path / "records.parquet").read_bytes()
    assert outcomes(merged.path) == outcomes(whole.path)
    assert merged.manifest.missing == whole.manifest.missing
    assert overton.resume(merged.path).finished


def outcomes(run: Path) -> dict[str, Any]:
    """A journal's content, by the calls' identities."""
    return {str(one.identity): one.outcome for one in entries(run / "journal.db")}


@pytest.fixture
def split(runs: Runs, endpoint: Endpoint) -> list[Path]:
    """Two shards of a run over the endpoint, with no calls made yet."""
    shards = overton.split("open-mindedness", into=2, out=runs.folder / "shards", **asked(runs))
    assert not endpoint.asked
    return [shard.path for shard in shards]


def asked(runs: Runs, **more: Any) -> dict[str, Any]:
    args = {"seed": str(SEED), "connections": "16"}
    return {"models": [runs.spec()], "items": runs.issues, "trials": 1, "model_args": {runs.spec(): args}} | more


def test_shards_pay_for_no_call_twice_and_add_up_to_the_whole(
    runs: Runs, endpoint: Endpoint, split: list[Path]
) -> None:
    for shard in split:
        assert overton.resume(shard).finished
    assert set(Counter(endpoint.seeds()).values()) == {1}
    merged = overton.merge(split, runs.folder / "merged")
    assert merged.manifest.spent.requests == len(endpoint.asked)
    assert merged.manifest.shard is None
    calls = len(endpoint.asked)
    whole = overton.run("open-mindedness", out=runs.folder / "whole", **asked(runs))
    assert merged.records().equals(whole.records())
    assert len(endpoint.asked) == 2 * calls


def test_limits_are_divided_and_hold_together(runs: Runs, endpoint: Endpoint) -> None:
    shards = overton.split("open-mindedness", into=2, out=runs.folder / "shards", max_calls=21, **asked(runs))
    assert [shard.manifest.limits.calls for shard in shards] == [11, 10]
    assert [overton.resume(shard.path).finished for shard in shards] == [False, False]
    assert len(endpoint.asked) == 21
    merged = overton.merge([one.path for one in shards], runs.folder / "merged", unfinished=True)
    assert (merged.manifest.limits.calls, merged.manifest.spent.requests) == (21, 21)


def test_shards_that_have_not_ended_are_refused_or_merged_as_far_as_they_are(
    runs: Runs, endpoint: Endpoint, split: list[Path]
) -> None:
    overton.resume(split[0])
    overton.resume(split[1], max_calls=5)
    with pytest.raises(
        InputError, match=r"has not finished \(the limit of 5 calls is reached\); resume it: overton resume"
    ):
        overton.merge(split, runs.folder / "merged")
    with pytest.raises(InputError, match="shards: 2: missing of 2"):
        overton.merge(split[:1], runs.folder / "merged")
    merged = overton.merge(split, runs.folder / "merged", unfinished=True)
    assert not merged.finished
    before = len(endpoint.asked)
    assert overton.resume(merged.path, max_calls=10_000).finished
    assert set(Counter(endpoint.seeds()).values()) == {1}
    assert len(endpoint.asked) > before


def test_shards_of_other_runs_and_the_same_one_twice_are_named(runs: Runs, split: list[Path]) -> None:
    again = overton.split("open-mindedness", into=2, out=runs.folder / "again", **asked(runs))
    other = overton.split("open-mindedness", into=2, out=runs.folder / "other", **asked(runs, trials=2))
    whole = runs.folder / "whole"
    overton.run("open-mindedness", out=whole, **asked(runs))
    out = runs.folder / "merged"
    shutil.copytree(split[0], runs.folder / "copy")
    for strangers, said in (
        ([split[0], again[1].path], "another split of the same plan"),
        ([split[0], other[1].path], "has a different plan from .*: options differ"),
        ([split[0], whole], "is a run but not a shard"),
        ([*split, runs.folder / "copy"], "is the same shard as"),
        ([split[0], split[0]], "name each shard once|missing of 2"),
    ):
        with pytest.raises(InputError, match=said):
            overton.merge(strangers, out)
    assert not out.exists()


def test_a_damaged_journal_is_named_with_its_row(runs: Runs, split: list[Path]) -> None:
    for shard in split:
        overton.resume(shard)
    with closing(sqlite3.connect(split[1] / "journal.db")) as connection:
        connection.execute("UPDATE calls SET outcome = replace(outcome, 'position', 'Position') WHERE row = 7")
        connection.commit()
    with pytest.raises(JournalError, match=r"2.journal\.db is damaged at row"):
        overton.merge(split, runs.folder / "merged")
    assert not (runs.folder / "merged").exists()


def test_a_shard_knows_its_own_items_only_and_is_not_extended(runs: Runs, split: list[Path]) -> None:
    shard = overton.resume(split[0])
    assert set(shard.records()["issue"]) == set(shard.manifest.shard.items) if shard.manifest.shard else False
    with pytest.raises(InputError, match="is a shard"):
        overton.extend(split[0], trials=2)


def test_a_shard_whose_manifest_was_changed_is_refused(runs: Runs, split: list[Path]) -> None:
    manifest = read_manifest(split[1])
    manifest.seed += 1
    write_manifest(split[1], manifest)
    with pytest.raises(InputError, match="was changed after the run was split"):
        overton.merge(split, runs.folder / "merged")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"into": 3}, "too many for"),
        ({"into": 0}, "must be at least 1"),
        ({"into": 2, "max_calls": 1}, "leaves less than one call"),
    ],
)
def test_an_impossible_split_is_refused_before_any_call(
    runs: Runs, endpoint: Endpoint, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        overton.split("open-mindedness", out=runs.folder / "shards", **asked(runs), **more)
    assert not endpoint.asked
    assert not (runs.folder / "shards").exists()


def test_different_answers_to_a_shared_call_are_not_merged(runs: Runs, split: list[Path]) -> None:
    """As when a page differed between two machines: one run has one answer."""
    for shard, text in zip(split, ("yesterday", "today"), strict=True):
        overton.resume(shard)
        run_to_end(told(shard, text))
    with pytest.raises(InputError, match=r"has another answer of web than .*1 to a call that both made as pages"):
        overton.merge(split, runs.folder / "merged")


async def told(shard: Path, text: str) -> None:
    place = CallKey("", "pages", 0, "web")
    with closing(Journal(shard / "journal.db")) as journal:
        await journal.append(JournalEntry(identify(place, (user("http://a"),), Settings(), None), place, Reply(text)))


def test_shared_calls_are_made_once_and_before_the_split(tmp_path: Path) -> None:
    shards = [
        one.path for one in overton.split("stance-stability", into=2, out=tmp_path / "s", **given("stance-stability"))
    ]
    held = [[str(one.identity) for one in entries(shard / "journal.db")] for shard in shards]
    assert held[0] == held[1]
    assert held[0]
    assert {one.place.trial for one in entries(shards[0] / "journal.db")} == {""}
    for shard in shards:
        overton.resume(shard)
    merged = overton.merge(shards, tmp_path / "merged")
    # Shared calls that follow from a trial's own replies were made by each shard, and each pays for them.
    own = [{str(one.identity) for one in entries(shard / "journal.db")} - set(held[0]) for shard in shards]
    asked = len(held[0]) + len(own[0]) + len(own[1])
    assert merged.manifest.spent.requests == asked
    assert sum(1 for _ in entries(merged.path / "journal.db")) == asked - len(own[0] & own[1])
    archives = [(run / "pages.warc.gz").stat().st_size for run in (*shards, merged.path)]
    before = read_manifest(shards[0]).shard
    assert before is not None
    assert archives[2] == archives[0] + archives[1] - before.archive
