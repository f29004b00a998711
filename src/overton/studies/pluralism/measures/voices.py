"""Which viewpoints a model's responses voice: set measures of each thread (sections 4.2 and 6.1.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.studies.pluralism.measures.analysis import Denominator
from overton.studies.pluralism.measures.units import Names, Units, summed
from overton.studies.pluralism.measures.viewpoints import (
    AGAINST,
    NEUTRAL,
    SUPPORTING,
    Viewpoints,
    Voiced,
    viewpoints_of,
    voiced_in,
)

__all__ = ["MOST_COVERAGE", "SIDES", "measure_voices"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SIDES = {"supporting": SUPPORTING, "against": AGAINST}
"""The stances that are measured by themselves."""

MOST_COVERAGE = 50
"""Coverage is told after 1, 2, ... and at most so many responses."""


def measure_voices(matches: pl.DataFrame, summaries: pl.DataFrame, names: Names, denominator: Denominator) -> Units:
    """Precision, recall and F1 globally and by stance, redundancy, NDCG and coverage of every unit.

    Raises:
        InputError: threads without summaries, and matches that name no summary of their thread.
    """
    views = viewpoints_of(summaries)
    voiced = voiced_in(matches, views, names)
    measured = dict(_measured(voiced, views, denominator))
    values = np.stack(list(measured.values()), axis=1)
    usable = voiced.per_unit(voiced.unit) > 0
    says = np.isfinite(values) & usable[:, None]
    counted = dict(_counted(voiced, views, usable))
    return Units(
        voiced.where,
        voiced.conditions,
        tuple(measured),
        np.where(says, values, 0.0),
        says.astype(float),
        tuple(counted),
        np.stack(list(counted.values()), axis=1),
    )


def _measured(voiced: Voiced, views: Viewpoints, denominator: Denominator) -> Iterator[tuple[str, Array]]:
    size = views.size[voiced.set].astype(float)
    matching = np.zeros(len(voiced.unit), bool)
    matching[voiced.row] = True
    precision = _share(voiced.per_unit(voiced.unit, matching), voiced.per_unit(voiced.unit))
    first = _first(voiced)
    known = voiced.per_unit(voiced.unit[voiced.row[first]])
    yield from _set("global", precision, known / size)
    for side, code in SIDES.items():
        yield from _set(side, *_side(voiced, views, code, denominator))
    with np.errstate(invalid="ignore", divide="ignore"):
        yield "redundancy", 1 - known / voiced.per_unit(voiced.unit[voiced.row])
    if views.gain is not None and views.ideal is not None:
        yield "ndcg", _ndcg(voiced, first, views.gain, views.ideal)
    yield from _coverage(voiced, first, size)


def _first(voiced: Voiced) -> Ints:
    """The pairs by which a unit voices a viewpoint for the first time, in order."""
    seen = np.full(len(voiced.owner), -1)
    seen[voiced.cell[::-1]] = np.arange(len(voiced.cell))[::-1]  # the earliest pair is written last, and stays
    return np.sort(seen[seen >= 0])


def _set(name: str, precision: Array, recall: Array) -> Iterator[tuple[str, Array]]:
    yield f"{name}/precision", precision
    yield f"{name}/recall", recall
    yield f"{name}/f1", _share(2 * precision * recall, precision + recall)


def _side(voiced: Voiced, views: Viewpoints, stance: int, denominator: Denominator) -> tuple[Array, Array]:
    """Precision and recall of one stance: only responses labelled with it voice its viewpoints."""
    same = (voiced.stance[voiced.row] == stance) & (views.stance[voiced.viewpoint] == stance)
    voicing = np.zeros(len(voiced.unit), bool)
    voicing[voiced.row[same]] = True
    found = np.zeros(len(voiced.owner), bool)
    found[voiced.cell[same]] = True
    return (
        _share(voiced.per_unit(voiced.unit, voicing), _labelled(voiced, stance, denominator)),
        _share(voiced.per_unit(voiced.owner, found), _of_stance(views, stance)[voiced.set]),
    )


def _labelled(voiced: Voiced, stance: int, denominator: Denominator) -> Array:
    """The responses that the precision of a stance is a share of; those without a label are in no denominator."""
    if denominator == "labelled":
        return voiced.per_unit(voiced.unit, voiced.stance == stance)
    return voiced.per_unit(voiced.unit, (voiced.stance >= 0) & (voiced.stance != NEUTRAL))


def _of_stance(views: Viewpoints, stance: int) -> Array:
    """How many viewpoints of a stance each set has."""
    return summed(views.table["set"].to_numpy().astype(np.int64), len(views.size), views.stance == stance)


def _ndcg(voiced: Voiced, first: Ints, gain: Array, ideal: Array) -> Array:
    """Viewpoints in the order in which they are first voiced, a response's own in the matcher's order."""
    unit = voiced.unit[voiced.row[first]]
    held = np.bincount(unit, minlength=voiced.units)
    rank = np.arange(len(first)) - (np.cumsum(held) - held)[unit]
    made = voiced.per_unit(unit, gain[voiced.viewpoint[first]] / np.log2(rank + 2))
    best = ideal[voiced.set]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, made / best, np.nan)


def _coverage(voiced: Voiced, first: Ints, size: Array) -> Iterator[tuple[str, Array]]:
    """Recall after 1, 2, ... responses; a unit with fewer keeps what it reached."""
    last = min(int(voiced.position.max(initial=0)) + 1, MOST_COVERAGE)
    row = voiced.row[first]
    position = voiced.position[row]
    cell = (voiced.unit[row] * last + position)[position < last]
    reached = np.bincount(cell, minlength=voiced.units * last).reshape(voiced.units, last).cumsum(1) / size[:, None]
    yield from ((f"coverage/{number}", column) for number, column in enumerate(reached.T, 1))


def _share(above: Array, below: Array) -> Array:
    """`above` over `below`, and 0 where that is 0."""
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _counted(voiced: Voiced, views: Viewpoints, usable: NDArray[np.bool_]) -> Iterator[tuple[str, Array]]:
    """What there was, and how often a denominator was empty."""
    yield "responses", voiced.per_unit(voiced.unit) + voiced.unmatched
    yield "unmatched_responses", voiced.unmatched.astype(float)
    yield "unlabelled_responses", voiced.per_unit(voiced.unit, voiced.stance < 0)
    yield "neutral_responses", voiced.per_unit(voiced.unit, voiced.stance == NEUTRAL)
    yield "matches", voiced.per_unit(voiced.unit[voiced.row])
    yield "threads_without_usable_responses", (~usable).astype(float)
    yield "threads_without_matches", usable * (voiced.per_unit(voiced.unit[voiced.row]) == 0)
    yield "threads_all_neutral", usable * (_labelled(voiced, SUPPORTING, "non-neutral") == 0)
    for side, code in SIDES.items():
        yield f"threads_no_response_{side}", usable * (_labelled(voiced, code, "labelled") == 0)
        yield f"threads_no_summary_{side}", usable * (_of_stance(views, code)[voiced.set] == 0)
    yield "unlabelled_summaries", _of_stance(views, -1)[voiced.set]
