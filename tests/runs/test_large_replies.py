"""Replies of one megabyte in batches, and the reports, label pages and Inspect logs made from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.runs.batch_endpoint import BatchEndpoint
from tests.runs.batch_runs import KEY, hurry
from tests.runs.test_requests_sent import reply_to

import overton

pytestmark = [pytest.mark.hostile, pytest.mark.long]

MEGABYTE = "\n" + 'A long "answer" <script>alert(1)</script> \\n & \U0001f600. ' * 20_000
ITEMS = 2
PROMPTS = 3 * ITEMS
"""Even-handedness asks for two prompts of a pair, one of them twice."""


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_replies_of_one_megabyte_are_kept_labelled_and_exported(
    form: str, served: BatchEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        reply = reply_to(body)
        if body["model"] == "m":
            part = reply["content"][0] if form == "anthropic" else reply["choices"][0]["message"]
            key = "text" if form == "anthropic" else "content"
            part[key] += MEGABYTE
        return 200, reply

    assert len(MEGABYTE.encode()) > 1_000_000
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    hurry(monkeypatch)
    served.provider.answer = answer
    run = overton.run(
        "even-handedness",
        models=["m=anthropic/m" if form == "anthropic" else f"m={served.url}#m"],
        model_args={"m": {"base_url": served.url} if form == "anthropic" else {"seed": "5"}, "grader": {"seed": "5"}},
        judge=f"grader={served.url}#grader",
        only=[item.id for item in overton.items.read("even-handedness")[:ITEMS]],
        out=tmp_path / "run",
        batch=True,
    )
    assert (run.finished, run.manifest.spent.failed) == (True, 0)
    assert served.provider.paid.total() == run.manifest.spent.requests
    assert (run.path / "journal.db").stat().st_size > PROMPTS * 1_000_000

    report = overton.report(run.path)
    assert report.stat().st_size < 5_000_000
    pages = tmp_path / "pages"
    overton.judge.draw_labels(run.path, pages, people=1, size=10)
    (page,) = pages.glob("*.html")
    assert b"<script>alert" not in page.read_bytes()

    logs = overton.export_run(run.path, out=tmp_path / "logs")
    again = overton.import_logs([one.path for one in logs], out=tmp_path / "imported")
    assert again.records().equals(run.records())
