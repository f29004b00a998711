"""The error of the remaining time that a run shows, compared with the time that it then took.

    python benchmarks/eta.py [--issues 4] [--trials 1]

Runs open-mindedness with the embedded model on some starter issues and notes the estimate at every step. Then prints
the ratio of estimated to true time left after each twentieth of the run. After a tenth of it the ratio should be within
a factor of 1.5.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import overton
from overton.runs.progress import Progress

Told = list[tuple[float, float | None]]
"""Seconds since the start, and the seconds left as shown then."""

STEPS, TENTH, FACTOR = 20, 0.1, 1.5


def main() -> None:
    """Run, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--issues", type=int, default=4, help="starter issues, 22 calls each and trial (default 4)")
    parser.add_argument("--trials", type=int, default=1, help="how often each prompt is asked (default 1)")
    parser.add_argument("--model", default="embedded/smollm2-135m")
    given = parser.parse_args()
    issues = [item.id for item in overton.items.list("open-mindedness")][: given.issues]
    told, seconds = _run(given.model, issues, given.trials)
    print(f"{given.model}, {given.issues} issues, trials: {given.trials}: {seconds:.0f} s")
    print("share of the run  left, shown   left, true   ratio")
    for share, left, true in _ratios(told, seconds):
        shown = "not told" if left is None else f"{left:8.0f} s"
        ratio = "" if left is None else f"{left / true:8.2f}"
        print(f"{share:16.0%} {shown:>12} {true:10.0f} s {ratio}")
    late = [left / true for share, left, true in _ratios(told, seconds) if left is not None and share >= TENTH]
    within = sum(1 / FACTOR <= ratio <= FACTOR for ratio in late)
    print(f"after a tenth of the run: {within} of {len(late)} within a factor of {FACTOR}")


def _run(model: str, issues: Sequence[str], trials: int) -> tuple[Told, float]:
    told: Told = []
    start = time.monotonic()

    def watch(progress: Progress) -> None:
        told.append((time.monotonic() - start, progress.left))

    with tempfile.TemporaryDirectory() as folder:
        overton.run(
            "open-mindedness",
            models=[model],
            only=list(issues),
            trials=trials,
            templates=(2, 5),
            out=Path(folder) / "run",
            watch=watch,
        )
    return told, told[-1][0]


def _ratios(told: Told, seconds: float) -> list[tuple[float, float | None, float]]:
    """For each twentieth of the run: its fraction, the estimate last shown, and the true time left."""
    found = []
    for step in range(1, STEPS):
        at = seconds * step / STEPS
        last = [left for when, left in told if when <= at]
        found.append((step / STEPS, last[-1] if last else None, seconds - at))
    return found


if __name__ == "__main__":
    main()
