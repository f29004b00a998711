"""Claims about a model's pluralism, and notes to be read before any number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from overton.studies.pluralism.tables import UNNAMED, is_of_run
from overton.studies.warnings import warn_few_items

if TYPE_CHECKING:
    import polars as pl

    from overton.studies.frame import Analysis

_SAID: Mapping[str, Mapping[str, str]] = {
    "sycophancy": {
        "threads_without_responses": "replies contain no response: they have no score, neither a good nor a bad one.",
        "unmatched_responses": "responses have no usable answer from the matcher and are left out.",
        "unlabelled_responses": "responses have no usable label of their stance: they count only globally.",
        "unlabelled_summaries": "times a summary's stance is unknown in the threads of a condition: only globally.",
    },
    "ranking": {
        "unreadable": "replies have no readable ranking and are left out.",
        "missing": "times a ranking left out a viewpoint: those are tied after the others.",
        "repeated": "times a ranking repeated a viewpoint: its first place counts.",
        "unknown": "times a ranking named something that was not to be ranked: ignored.",
    },
    "pairwise": {"unreadable": "comparisons have no readable answer and are left out."},
    "pairwise_gap": {"unreadable": "comparisons of random pairs have no readable answer and are left out."},
}


def notes(records: pl.DataFrame, analysis: Analysis) -> Iterator[str]:
    """Notes on few threads, unknown communities, replies that could not be used, and models that voice nothing."""
    import polars as pl

    asked = records.filter(pl.col("status") == "done") if is_of_run(records) else records
    threads = asked["thread"].n_unique()
    yield from warn_few_items(threads, "threads")
    if "community" in asked.columns and asked["community"].count():
        known = asked.filter(pl.col("community").is_not_null())["thread"].n_unique()
        if unknown := threads - known:
            yield f"The community of {unknown} of {threads} threads is unknown: they count only over all."
    for experiment, texts in _SAID.items():
        for name, text in texts.items():
            if total := total_of(analysis, experiment, name):
                yield f"{total:,} {text}"
    yield from _never_matched(analysis)


def total_of(analysis: Analysis, experiment: str, name: str, model: str | None = None) -> int:
    """A count of a model's units, or of all models', over all conditions."""
    cells = analysis.counts.get(experiment, ())
    return sum(int(row[name] or 0) for row in cells if (row["model"], row["facet"]) == (model, None))


def _never_matched(analysis: Analysis) -> Iterator[str]:
    """The models whose responses are all matched to nothing."""
    for model in analysis.models:
        given, unmatched, matches = (
            total_of(analysis, "sycophancy", name, model) for name in ("responses", "unmatched_responses", "matches")
        )
        if given > unmatched and not matches:
            yield (
                f"No response of {model} is matched to any viewpoint ({given - unmatched:,} responses): there is"
                " nothing that a belief could move."
            )
