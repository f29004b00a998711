"""From an outcome table to measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from overton.api.runs import open_run
from overton.api.studies import binding_of
from overton.errors import InputError, Problem
from overton.studies.exhibits import Section, summary

__all__ = ["analyze", "summarise"]


def analyze(study: str, source: str | Path, **how: Any) -> Any:
    """Every measure of `source`: a run's folder, or a table that the study reads.

    For open-mindedness: records (.parquet, .csv, .jsonl) or a table of counts; for stance stability a table of turns,
    or a run that labelled transcripts; for deliberation a table of decisions; for pluralism one of matches
    (with `summaries=`), of rankings or of pairs. Each gives its own `measures.Analysis`.
    `how` goes to the measures as it is: `level`, `resamples`, `seed` and what else a study's `measures.analyze` takes.

    Example: `overton.analyze("open-mindedness", "runs/first").models["openai/gpt-4o"].scores.open_mindedness`.

    Raises:
        InputError: the study or the file cannot be used; every problem with its place. The run is of another study.
    """
    binding = binding_of(study)
    path = Path(source)
    if not path.is_dir():
        return binding.analyze_file(path, **how)
    run = open_run(path)
    if run.manifest.study not in (study, f"judge-{study}"):
        raise InputError([Problem(str(path), "", f"is a run of {run.manifest.study}, not of {study}")])
    return binding.analyze_runs([run], **how)


def summarise(study: str, analysis: Any) -> list[Section]:
    """Of an analysis what a person wants first: the report's marked tables and callouts, in its sections."""
    return summary(binding_of(study).sections(analysis))
