"""Runs of open-mindedness in batches, in either provider's format, over an endpoint of our own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.runs.batch_endpoint import BatchEndpoint
from tests.runs.starting import resume_run, start_run

from overton.calls import Price
from overton.engine import RetryPolicy, batch_sender, batches
from overton.runs.answerers import ModelRequest
from overton.runs.experiment import Experiment
from overton.runs.folder import Manifest, stored_records
from overton.studies.open_mindedness import STUDY, Options

KEY = "sk-test-0123456789abcdefghij"
CALLS = 11 * 6
PRICE = Price(10.0, 100.0, batch=0.5)
QUICK = (0.01, 0.05, 0.4)
"""Seconds: the first wait between polls, the silence before a batch is sent, how long a new batch may be unlisted."""
PATIENCE = RetryPolicy(8, 0.002, 0.02)


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have batches polled and sent after `QUICK`."""
    for module, name, value in zip(
        (batch_sender, batches, batch_sender), ("FIRST_LOOK", "QUIET", "SETTLES"), QUICK, strict=True
    ):
        monkeypatch.setattr(module, name, value)


@dataclass
class BatchRuns:
    """Runs of open-mindedness over the endpoint, in either provider's form."""

    served: BatchEndpoint
    folder: Path
    issues: list[Any]
    kind: str
    more: tuple[tuple[str, str], ...] = ()
    """Further arguments of the model."""

    @property
    def request(self) -> ModelRequest:
        if self.kind == "anthropic":
            return ModelRequest(
                "anthropic/claude-x", (("base_url", self.served.url), ("max_tokens", "40"), *self.more), PRICE
            )
        return ModelRequest(f"{self.served.url}#m", (("seed", "5"), ("max_tokens", "40"), *self.more), PRICE)

    def start(self, out: str, *, models: int = 1, **more: Any) -> Manifest:
        options = Options(trials=1)
        more = {"patience": PATIENCE, "anyway": True, **more}  # otherwise the first calls go alone
        wanted = [
            self.request,
            *(replace(self.request, spec=f"{self.request.spec}{n}", name=f"m{n}") for n in range(2, models + 1)),
        ]
        asked = Experiment(STUDY, self.issues, options)
        return start_run(asked, {"subject": wanted}, self.folder / out, **more)

    def resume(self, out: str, **more: Any) -> Manifest:
        more.setdefault("patience", PATIENCE)
        return resume_run(STUDY, self.folder / out, **more)

    def records(self, out: str) -> Any:
        return stored_records(self.folder / out)

    def plain(self) -> Any:
        """The records of a run without batches; the counts are reset."""
        assert self.start("plain").status == "finished"
        assert self.served.alone.total() == CALLS
        self.served.alone.clear()
        self.served.provider.paid.clear()
        return self.records("plain")

    def job(self, out: str) -> dict[str, Any]:
        items = self.folder / "issues.jsonl"
        items.write_bytes(b"".join(msgspec.json.encode(issue) + b"\n" for issue in self.issues))
        request = self.request
        return {
            "out": str(self.folder / out),
            "items": str(items),
            "models": [request.spec],
            "args": [list(pair) for pair in request.arguments],
            "trials": 1,
            "batch": True,
            "anyway": True,
            "quick": QUICK,
            "price": [10.0, 100.0],
        }
