"""Models whose answers a grammar holds to a form carry that in their names, wherever their numbers stand."""

from __future__ import annotations

from collections.abc import Sequence

from overton.api.runs import Run

__all__ = ["HELD", "held_models", "marked"]

HELD = " (held to the answer format)"


def held_models(runs: Sequence[Run]) -> list[str]:
    """The specs of the measured models that are held to a form."""
    return sorted({entry.spec for run in runs for entry in run.entries if entry.holds_form})


def marked(run: Run) -> dict[str, str]:
    """The names of a run's measured models as they are shown."""
    return {entry.spec: entry.spec + (HELD if entry.holds_form else "") for entry in run.entries}
