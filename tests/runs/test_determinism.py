"""Nothing in a run depends on the hash seed or on which reply came first."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

from overton.engine import entries


def test_two_hash_seeds_and_shuffled_completions_give_the_same_calls_and_records(runs: Any, endpoint: Any) -> None:
    chance = random.Random()

    async def shuffled(asked: Any) -> None:
        await asyncio.sleep(chance.choice([0, 0, 0.001, 0.005, 0.02]))

    endpoint.behave = shuffled
    children = [runs.child(f"run-{seed}", {"PYTHONHASHSEED": seed}, connections=12) for seed in ("0", "1")]
    for child in children:
        _, said = child.communicate(timeout=60)
        assert child.returncode == 0, said
    zero, one = (list(entries(runs.folder / f"run-{seed}" / "journal.db")) for seed in "01")
    assert set(zero) == set(one)
    assert len(set(zero)) == 132
    assert [call.place for call in zero] != [call.place for call in one]  # they were indeed shuffled
    assert runs.records("run-0").equals(runs.records("run-1"))
    manifests = [json.loads((runs.folder / f"run-{seed}" / "manifest.json").read_text()) for seed in "01"]
    for manifest in manifests:
        manifest.pop("created")
        manifest["spent"].pop("last")  # the checksum of the last outcome
    assert manifests[0] == manifests[1]


def test_an_address_does_not_change_a_calls_identity(runs: Any, endpoint: Any) -> None:
    runs.start("one")
    endpoint.stop()
    endpoint.port = 0
    endpoint.start()
    runs.start("other")
    one, other = (set(entries(runs.folder / out / "journal.db")) for out in ("one", "other"))
    assert one == other
    assert runs.records("one").drop("model").equals(runs.records("other").drop("model"))
