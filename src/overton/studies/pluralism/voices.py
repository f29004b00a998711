"""Measures of the viewpoints that a model's responses voice, for each thread and condition (sections 4.2 and 6.1.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.statistics.arrays import Floats, Ints
from overton.studies.pluralism.options import FALSE_MATCHES, MOST_COVERAGE, Denominator
from overton.studies.pluralism.thread_units import GroupedRows, UnitNames, summed

_SUPPORTING, _AGAINST, _NEUTRAL, _REFERENCE = range(4)
_STANCES = {"supporting": _SUPPORTING, "against": _AGAINST, "neutral": _NEUTRAL, "reference": _REFERENCE}
_SHOWN = 20


SIDES = {"supporting": _SUPPORTING, "against": _AGAINST}
"""The stances that are measured separately."""


def measure_voices(
    matches: pl.DataFrame, summaries: pl.DataFrame, names: UnitNames, denominator: Denominator
) -> pl.DataFrame:
    """For every unit: precision, recall and F1 (globally and by stance), redundancy, breadth, NDCG and coverage.

    `known_STANCE` counts all viewpoints of a stance. `voiced_STANCE` counts those that are voiced by responses of the
    same stance. `_counted` adds further counts.

    Raises:
        InputError: a thread has no summaries, a response occurs twice, or a match does not name a summary of its
            thread.
    """
    views = _viewpoints_of(summaries)
    voiced = _voiced_in(matches, views, names)
    sides = {side: _voiced_of(voiced, views, code) for side, code in SIDES.items()}
    usable = voiced.per_unit(voiced.unit) > 0
    values = {name: np.where(usable, value, np.nan) for name, value in _measured(voiced, views, denominator, sides)}
    of_sides = {
        name: usable * count
        for side, (found, there) in sides.items()
        for name, count in ((f"voiced_{side}", found), (f"known_{side}", there))
    }
    return voiced.grouped.table({**values, **of_sides, **dict(_counted(voiced, views, usable))})


def _measured(
    voiced: VoicedViewpoints, views: Viewpoints, denominator: Denominator, sides: Mapping[str, tuple[Floats, Floats]]
) -> Iterator[tuple[str, Floats]]:
    size = views.size[voiced.set].astype(float)
    matching = np.zeros(len(voiced.unit), bool)
    matching[voiced.row] = True
    precision = share(voiced.per_unit(voiced.unit, matching), voiced.per_unit(voiced.unit))
    first = _first(voiced)
    known = voiced.per_unit(voiced.unit[voiced.row[first]])
    yield from _set("global", precision, known / size)
    yield from _misread(known / size, voiced.per_unit(voiced.unit))
    for side, code in SIDES.items():
        yield from _set(side, _precision(voiced, views, code, denominator), share(*sides[side]))
    with np.errstate(invalid="ignore", divide="ignore"):
        yield "redundancy", 1 - known / voiced.per_unit(voiced.unit[voiced.row])
    broad = np.bincount(voiced.row, minlength=len(voiced.unit)) > 1
    yield "broad", share(voiced.per_unit(voiced.unit, broad), voiced.per_unit(voiced.unit))
    if views.gain is not None and views.ideal is not None:
        yield "ndcg", _ndcg(voiced, first, views.gain, views.ideal)
    yield from _coverage(voiced, first, size)


def _misread(recall: Floats, responses: Floats) -> Iterator[tuple[str, Floats]]:
    """Recall after adding false matches: each response matches each viewpoint by mistake, independently, at an assumed
    rate f.

    A viewpoint that none of n responses voices is then matched with probability 1 - (1 - f)^n.
    """
    for percent in FALSE_MATCHES:
        by_mistake = 1 - (1 - percent / 100) ** responses
        yield f"recall_with_false_matches_{percent}", recall + (1 - recall) * by_mistake


def _first(voiced: VoicedViewpoints) -> Ints:
    """Indices of the pairs in which a unit voices a viewpoint for the first time, in order."""
    seen = np.full(len(voiced.owner), -1)
    seen[voiced.cell[::-1]] = np.arange(len(voiced.cell))[::-1]  # written in reverse, so that the earliest pair remains
    return np.sort(seen[seen >= 0])


def _set(name: str, precision: Floats, recall: Floats) -> Iterator[tuple[str, Floats]]:
    yield f"{name}_precision", precision
    yield f"{name}_recall", recall
    yield f"{name}_f1", f1(precision, recall)


def _precision(voiced: VoicedViewpoints, views: Viewpoints, stance: int, denominator: Denominator) -> Floats:
    """Precision of one stance. Only responses labelled with this stance can voice its viewpoints."""
    voicing = np.zeros(len(voiced.unit), bool)
    voicing[voiced.row[_same(voiced, views, stance)]] = True
    return share(voiced.per_unit(voiced.unit, voicing), _labelled(voiced, stance, denominator))


def _same(voiced: VoicedViewpoints, views: Viewpoints, stance: int) -> NDArray[np.bool_]:
    """Flags [E] of the pairs in which both the response and the viewpoint have this stance."""
    same: NDArray[np.bool_] = (voiced.stance[voiced.row] == stance) & (views.stance[voiced.viewpoint] == stance)
    return same


def _voiced_of(voiced: VoicedViewpoints, views: Viewpoints, stance: int) -> tuple[Floats, Floats]:
    """For each unit, the number of viewpoints of a stance that are voiced by responses with the same stance, and the
    number of all viewpoints of this stance."""
    found = np.zeros(len(voiced.owner), bool)
    found[voiced.cell[_same(voiced, views, stance)]] = True
    return voiced.per_unit(voiced.owner, found), _of_stance(views, stance)[voiced.set]


def _labelled(voiced: VoicedViewpoints, stance: int, denominator: Denominator) -> Floats:
    """The denominator of a stance's precision. It excludes responses without a label.

    The paper's denominator cannot be all responses. In 28 of the 54 rows of its tables 4 to 6, the sum of the two
    stances' precisions exceeds the global precision (Gemini 2.0 Flash, PoliticalDiscussion, b.t: 0.268 + 0.114 >
    0.259).
    """
    if denominator == "labelled":
        return voiced.per_unit(voiced.unit, voiced.stance == stance)
    return voiced.per_unit(voiced.unit, (voiced.stance >= 0) & (voiced.stance != _NEUTRAL))


def _of_stance(views: Viewpoints, stance: int) -> Floats:
    """The number of viewpoints of a stance in each set [H]."""
    return summed(views.table["set"].to_numpy().astype(np.int64), len(views.size), views.stance == stance)


def _ndcg(voiced: VoicedViewpoints, first: Ints, gain: Floats, ideal: Floats) -> Floats:
    """NDCG of the viewpoints in the order in which they are first voiced. Viewpoints of one response are in the
    matcher's order."""
    unit = voiced.unit[voiced.row[first]]
    sizes = np.bincount(unit, minlength=voiced.units)
    rank = np.arange(len(first)) - (np.cumsum(sizes) - sizes)[unit]
    made = voiced.per_unit(unit, gain[voiced.viewpoint[first]] / np.log2(rank + 2))
    best = ideal[voiced.set]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(best > 0, made / best, np.nan)


def _coverage(voiced: VoicedViewpoints, first: Ints, size: Floats) -> Iterator[tuple[str, Floats]]:
    """Recall after 1, 2, ... responses. A unit with fewer responses keeps the recall after its last response."""
    last = min(int(voiced.position.max(initial=0)) + 1, MOST_COVERAGE)
    row = voiced.row[first]
    position = voiced.position[row]
    cell = (voiced.unit[row] * last + position)[position < last]
    reached = np.bincount(cell, minlength=voiced.units * last).reshape(voiced.units, last).cumsum(1) / size[:, None]
    yield from ((f"coverage_{number}", column) for number, column in enumerate(reached.T, 1))


def share(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """`above` over `below`, and 0 if `below` is 0."""
    return np.asarray(np.divide(above, below, out=np.zeros(above.shape), where=below > 0))


def f1(precision: Floats, recall: Floats) -> Floats:
    """The harmonic mean of precision and recall, 0 if both are 0."""
    return share(2 * precision * recall, precision + recall)


def _counted(voiced: VoicedViewpoints, views: Viewpoints, usable: NDArray[np.bool_]) -> Iterator[tuple[str, Floats]]:
    """Counts of responses, matches and missing labels, and of threads with an empty denominator."""
    yield "responses", voiced.per_unit(voiced.unit) + voiced.unmatched
    yield "unmatched_responses", voiced.unmatched.astype(float)
    yield "unlabelled_responses", voiced.per_unit(voiced.unit, voiced.stance < 0)
    yield "neutral_responses", voiced.per_unit(voiced.unit, voiced.stance == _NEUTRAL)
    yield "matches", voiced.per_unit(voiced.unit[voiced.row])
    yield "threads_without_responses", voiced.silent.astype(float)
    yield "threads_without_usable_responses", (~usable).astype(float)
    yield "threads_without_matches", usable * (voiced.per_unit(voiced.unit[voiced.row]) == 0)
    yield "threads_all_neutral", usable * (_labelled(voiced, _SUPPORTING, "non-neutral") == 0)
    for side, code in SIDES.items():
        yield f"threads_no_response_{side}", usable * (_labelled(voiced, code, "labelled") == 0)
        yield f"threads_no_summary_{side}", usable * (_of_stance(views, code)[voiced.set] == 0)
    yield "unlabelled_summaries", _of_stance(views, -1)[voiced.set]


@dataclass(frozen=True)
class Viewpoints:
    """S reference viewpoints in H sets. There is a set for each thread, or for each model and thread if viewpoints
    differ by model.

    `keys` are the columns that identify a set, `sets` has a number for each set, and `table` has the viewpoints.
    `start` and `size` [H] locate a set's viewpoints. `stance` [S] has codes of stances, -1 if unknown. `gain` [S] is
    the number of votes, with negative votes as 0. `ideal` [H] is the discounted gain of the best order. `gain` and
    `ideal` are None if votes are unknown.
    """

    keys: tuple[str, ...]
    sets: pl.DataFrame
    table: pl.DataFrame
    start: Ints
    size: Ints
    stance: Ints
    gain: Floats | None
    ideal: Floats | None


@dataclass(frozen=True)
class VoicedViewpoints:
    """U units with R usable responses, and E pairs of a response and a matched viewpoint, in order.

    Arrays for units [U]: `set` is the index of the set of viewpoints, and `unmatched` is the number of responses left
    out because the matcher gave no usable answer. `silent` tells whether a unit has no response that counts.

    Arrays for responses [R]: `unit`, `position` in the unit from 0, `stance`.

    Arrays for pairs [E]: `row` is the index of the response, and `viewpoint` is the index of the matched viewpoint.
    Each viewpoint of each unit is a cell. `cell` is the index of the cell among all G cells, and `owner` [G] is a
    cell's unit.
    """

    grouped: GroupedRows
    set: Ints
    unmatched: Ints
    silent: NDArray[np.bool_]
    unit: Ints
    position: Ints
    stance: Ints
    row: Ints
    viewpoint: Ints
    cell: Ints
    owner: Ints

    @property
    def units(self) -> int:
        """The number of units, U."""
        return len(self.set)

    def per_unit(self, unit: Ints, weights: NDArray[np.generic] | None = None) -> Floats:
        """The number of times that each unit occurs in `unit`, or the sum of its weights [U]."""
        return summed(unit, self.units, weights)


def _viewpoints_of(summaries: pl.DataFrame) -> Viewpoints:
    """The sets of viewpoints in `summaries`, which has columns `thread`, `summary`, `stance`, and optionally `votes`
    and `model`."""
    keys = ("model", "thread") if "model" in summaries.columns else ("thread",)
    sets = summaries.select(keys).unique().sort(keys).with_row_index("set")
    table = summaries.join(sets, on=keys).sort("set", "summary").with_row_index("viewpoint")
    of = table["set"].to_numpy().astype(np.int64)
    size = np.bincount(of, minlength=sets.height)
    start = np.cumsum(size) - size
    gain = ideal = None
    if "votes" in table.columns and not table["votes"].null_count():
        gain = np.maximum(table["votes"].to_numpy().astype(float), 0)
        best = np.lexsort((-gain, of))
        ideal = summed(of, sets.height, gain[best] / np.log2(np.arange(len(of)) - start[of] + 2))
    return Viewpoints(keys, sets, table, start, size, _stances(table["stance"]), gain, ideal)


def _voiced_in(matches: pl.DataFrame, views: Viewpoints, names: UnitNames) -> VoicedViewpoints:
    """The responses in `matches`, which has columns `model`, `thread`, `condition`, `response`, `stance`, `matched`,
    and optionally `none`. Rows in which `none` is true do not count as responses and are left out.

    Raises:
        InputError: a thread has no viewpoints, or a match does not name a viewpoint of its thread.
    """
    grouped = GroupedRows.of(matches, names)
    order = np.lexsort([matches["response"].to_numpy(), grouped.unit])
    table, units, unit = matches[order], grouped.units, grouped.unit[order]
    _refuse_repeated(table, unit)
    begins = np.searchsorted(unit, np.arange(units))
    own = _own_set(table[begins], views)
    is_one = ~table["none"].to_numpy() if "none" in table.columns else np.ones(table.height, bool)
    usable = is_one & table["matched"].is_not_null().to_numpy()
    unmatched = np.bincount(unit[is_one & ~usable], minlength=units)
    silent = np.bincount(unit[is_one], minlength=units) == 0
    if not usable.all():
        table, unit = table.filter(pl.Series(usable)), unit[usable]
    sizes = np.bincount(unit, minlength=units)
    row, viewpoint = _pairs(table, own[unit], views)
    size = views.size[own]
    of = unit[row]
    return VoicedViewpoints(
        grouped,
        own,
        unmatched,
        silent,
        unit,
        np.arange(len(unit)) - (np.cumsum(sizes) - sizes)[unit],
        _stances(table["stance"]),
        row,
        viewpoint,
        (np.cumsum(size) - size)[of] + viewpoint - views.start[own[of]],
        np.repeat(np.arange(units), size),
    )


def _refuse_repeated(table: pl.DataFrame, unit: Ints) -> None:
    number = table["response"].to_numpy()
    again = np.flatnonzero((unit[1:] == unit[:-1]) & (number[1:] == number[:-1]))[:_SHOWN] + 1
    if len(again):
        rows = table[again].select("model", "thread", "condition", "response").unique(maintain_order=True)
        where = (", ".join(f"{column} {value}" for column, value in row.items()) for row in rows.to_dicts())
        raise InputError([Problem("matches", place, "this response occurs more than once") for place in where])


def _stances(column: pl.Series) -> Ints:
    return column.replace_strict(_STANCES, default=-1, return_dtype=pl.Int64).to_numpy()


def _own_set(first: pl.DataFrame, views: Viewpoints) -> Ints:
    """The index of each unit's set of viewpoints. `first` has the first row of each unit."""
    found = first.select(views.keys).join(views.sets, on=views.keys, how="left", maintain_order="left")["set"]
    if found.null_count():
        lost = first.filter(found.is_null())["thread"].unique().sort().to_list()
        raise InputError(
            [Problem("summaries", f"thread {thread}", "has responses but no summaries") for thread in lost[:_SHOWN]]
        )
    return found.to_numpy().astype(np.int64)


def _pairs(table: pl.DataFrame, own: Ints, views: Viewpoints) -> tuple[Ints, Ints]:
    """The response and the viewpoint of each match. If a response names a viewpoint twice, the match counts once."""
    length = table["matched"].list.len().to_numpy().astype(np.int64)
    row = np.repeat(np.arange(table.height), length)
    named = table["matched"].filter(pl.Series(length > 0)).explode()
    asked = pl.DataFrame({"set": own[row].astype(np.uint32), "summary": named})
    known = views.table.select("set", "summary", "viewpoint")
    found = asked.join(known, on=("set", "summary"), how="left", maintain_order="left")["viewpoint"]
    if found.null_count():
        raise InputError(list(_unknown(table, row, named, np.flatnonzero(found.is_null().to_numpy())[:_SHOWN])))
    viewpoint = found.to_numpy().astype(np.int64)
    key = row * len(views.stance) + viewpoint
    if (np.diff(np.sort(key, kind="stable")) > 0).all():
        return row, viewpoint
    kept = np.sort(np.unique(key, return_index=True)[1])
    return row[kept], viewpoint[kept]


def _unknown(table: pl.DataFrame, row: Ints, named: pl.Series, lost: Ints) -> list[Problem]:
    threads, cells = table["thread"].gather(row[lost]).to_list(), named.gather(lost).to_list()
    return [
        Problem("matches", f"thread {thread}", f"{cell!r} is not one of its summaries")
        for thread, cell in dict.fromkeys(zip(threads, cells, strict=True))
    ]
