"""Several judges in batches: each pair waits for its answers, its judges are called together, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runs.batch_endpoint import BatchEndpoint
from tests.runs.starting import start_run

from overton.engine import batch_sender, batches
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, stored_records
from overton.runs.items import read_items
from overton.studies.even_handedness import STUDY

QUICK = (0.01, 0.05, 0.4)
ROLES = {"subject": ("subject",), "judge": ("judge-one", "judge-two")}


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[BatchEndpoint]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for module, name, value in zip(
        (batch_sender, batches, batch_sender), ("FIRST_LOOK", "QUIET", "SETTLES"), QUICK, strict=True
    ):
        monkeypatch.setattr(module, name, value)
    made = BatchEndpoint()
    made.start()
    yield made
    made.stop()


def asked(served: BatchEndpoint, out: Path, **more: Any) -> Manifest:
    wanted = {
        role: [ModelRequest(f"{served.url}#{name}", (("max_tokens", "40"),)) for name in names]
        for role, names in ROLES.items()
    }
    return start_run(Experiment(STUDY, read_items(STUDY)[:3], STUDY.options()), wanted, out, **more)


def test_judges_in_batches_give_the_records_of_a_plain_run(served: BatchEndpoint, tmp_path: Path) -> None:
    whole = asked(served, tmp_path / "plain")
    served.alone.clear()
    batched = asked(served, tmp_path / "batched", batch=True)
    assert (whole.status, batched.status, batched.out) == ("finished", "finished", 0)
    made, plain = (stored_records(tmp_path / out) for out in ("batched", "plain"))
    assert made.equals(plain)
    assert made["even_first"].null_count() < made.height
    sizes = [len(batch.calls) for batch in served.provider.batches.values()]
    assert batched.spent.requests == whole.spent.requests == sum(sizes) + served.alone.total()
    assert len(sizes) < sum(sizes) / 4
