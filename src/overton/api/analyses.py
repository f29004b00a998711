"""From an outcome table to measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overton.api.runs import open_run
from overton.api.studies import binding_of

__all__ = ["analyze"]


def analyze(study: str, source: str | Path, **how: Any) -> Any:
    """Every measure of `source`: a run's folder, or a table that the study reads.

    For open-mindedness: records (.parquet, .csv, .jsonl) or a table of counts; gives its `measures.Analysis`. For
    deliberation: a table of decisions; gives its own `measures.Analysis`. `how` goes to the measures as it is: `level`,
    `resamples`, `seed` and what else a study's `measures.analyze` takes.

    Example: `overton.analyze("open-mindedness", "runs/first").models["openai/gpt-4o"].scores.open_mindedness`.

    Raises:
        InputError: the study or the file cannot be used; every problem with its place.
    """
    binding = binding_of(study)
    path = Path(source)
    return binding.analyze_runs([open_run(path)], **how) if path.is_dir() else binding.analyze_file(path, **how)
