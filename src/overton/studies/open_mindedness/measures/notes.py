"""Warnings that belong beside the numbers, each a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from overton.studies.open_mindedness.measures.analysis import ModelResult
from overton.studies.open_mindedness.measures.cells import Cells

__all__ = ["notes_on"]

_ENOUGH = 30
"""Baseline answers an issue (five trials of each template) below which scores come out clearly too high: by about two
points of a hundred with three trials and six with one, where leans spread as in benchmarks/coverage.py."""


def notes_on(cells: Cells, results: Mapping[str, ModelResult]) -> tuple[str, ...]:
    """What a reader has to know about the models' results."""
    notes = []
    for name, result in results.items():
        if result.tally.failures:
            notes.append(
                f"{name}: {result.tally.failures} calls failed for good; they are no answers and are left out."
            )
        if result.undefined:
            notes.append(
                f"{name}: no baseline answer takes a stance on {', '.join(result.undefined)}, so there is no score."
            )
        if result.incomplete:
            notes.append(
                f"{name}: no score for {len(result.incomplete)} issues that lack answers in some configuration."
            )
        few = _median_answers(result)
        if result.scored and few < _ENOUGH:
            notes.append(
                f"{name}: {few} baseline answers an issue are few: flips by chance make scores too high, by more the "
                "fewer the answers. Shares and pulls are not affected."
            )
        doubtful = _two_to_one(result) if cells.design is None else []
        if doubtful:
            notes.append(
                f"{name}: the baseline of {', '.join(doubtful)} has exactly two pro answers to one con, as from always "
                "answering A; counts cannot tell whether it is the letter or the position."
            )
    return tuple(notes)


def _median_answers(result: ModelResult) -> int:
    counted = [one.conditions["baseline"].answers for one in result.issues.values() if "baseline" in one.conditions]
    return int(median(counted)) if counted else 0


def _two_to_one(result: ModelResult) -> list[str]:
    found = [(name, one.conditions["baseline"]) for name, one in result.issues.items() if "baseline" in one.conditions]
    return [
        name
        for name, baseline in found
        if baseline.answers > 2
        and baseline.shares.con.value > 0
        and abs(baseline.shares.pro.value - 2 * baseline.shares.con.value) < 1e-9
    ]
