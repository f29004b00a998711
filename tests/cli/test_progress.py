"""Progress on standard error: calls, what is reused, and one line a minute without a terminal."""

from __future__ import annotations

import pytest

from overton.cli import progress
from overton.engine import Counters
from overton.runs.progress import Progress
from overton.runs.progress_bar import detail, extent


def seen(answered: int = 0, *, recalled: int = 0, exact: bool = False, done: int = 1) -> Progress:
    tally = Counters(recalled=recalled)
    return Progress(done, 9, tally, 0.0, 1.0, 2, 4, answered=answered, calls=39.6, exact=exact)


def test_progress_counts_calls() -> None:
    assert extent(seen(13)) == "13 of about 40 calls"
    assert extent(seen(13, exact=True)) == "13 of 40 calls"
    assert extent(Progress(9, 9, Counters(), 0.0, 1.0, 0, 4)) == "9 of 9 trials"


def test_calls_that_are_not_made_again_are_reused() -> None:
    assert "2 reused" in detail(seen(13, recalled=2))
    assert "reused" not in detail(seen(13))


def test_without_a_terminal_a_line_is_printed_each_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    with progress.watching("run") as watch:
        for second in range(0, 200):
            now[0] = float(second)
            watch(seen(second))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" of ")[0] for line in lines] == ["run: 60", "run: 120", "run: 180"]
    assert watch.last is not None
    assert watch.last.seconds == 1.0
