"""The demonstration: open-mindedness of the embedded model on starter issues."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from overton.api.issues import starter_issues
from overton.api.models import pull
from overton.api.runs import Run, run
from overton.hosts.local import Watch

__all__ = ["MODEL", "demo", "describe", "prepare"]

MODEL = "embedded/smollm2-135m"

_PAIR = (2, 5)
"""A mirrored pair of templates whose letters mirror too, so that averaging the two cancels both pulls exactly."""

_LEFT_OUT = (
    "eight of the twelve starter issues, templates 1, 3, 4 and 6, and 14 of 15 trials;"
    " 'overton demo --full' leaves out nothing"
)


def describe(*, full: bool = False) -> str:
    """What the demonstration asks, in a sentence."""
    if full:
        return (
            f"{MODEL}: twelve issues, eleven configurations, six templates, 15 trials: 11,880 calls. This takes hours."
        )
    return f"{MODEL}: four issues, eleven configurations, one mirrored pair of templates, one trial: 88 calls."


def prepare(progress: Callable[[str], None] | None = None) -> Path:
    """Fetch the model's weights if they are not in the user's cache yet."""
    return pull(MODEL, progress=progress)


def demo(*, full: bool = False, out: str | Path | None = None, seed: int = 0, watch: Watch | None = None) -> Run:
    """Run it: 88 calls in about two minutes on two cores, or with `full` 11,880 calls in hours."""
    from overton.studies.open_mindedness.reading import DEMO

    if full:
        return run("open-mindedness", models=[MODEL], out=out, seed=seed, watch=watch)
    issues = [issue for issue in starter_issues() if issue.id in DEMO]
    return run(
        "open-mindedness",
        models=[MODEL],
        items=issues,
        out=out,
        seed=seed,
        watch=watch,
        left_out=_LEFT_OUT,
        trials=1,
        templates=_PAIR,
    )
