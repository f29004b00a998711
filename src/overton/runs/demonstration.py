"""The demonstration: one of our studies on the embedded model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from overton.models import pull
from overton.runs.progress import Watch
from overton.runs.run import Run
from overton.runs.start import run
from overton.studies.registry import DEMO

MODEL = "embedded/smollm2-135m"


def describe(*, full: bool = False) -> str:
    """Describe in a sentence what the demonstration asks."""
    return f"{MODEL}: {DEMO.whole}. This takes hours." if full else f"{MODEL}: {DEMO.said}."


def prepare(progress: Callable[[str], None] | None = None) -> Path:
    """Download the model's weights if they are not in the user's cache yet."""
    return pull(MODEL, progress=progress)


def demo(*, full: bool = False, out: str | Path | None = None, seed: int = 0, watch: Watch | None = None) -> Run:
    """Run it: a few minutes on two cores; with `full`, the whole design in hours."""
    if full:
        return run(DEMO.study, models=[MODEL], out=out, seed=seed, watch=watch)
    return run(DEMO.study, models=[MODEL], out=out, seed=seed, watch=watch, left_out=DEMO.left_out, **DEMO.options)
