"""Reference viewpoints, and which of them each response of a unit matches, as numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.errors import InputError, Problem
from overton.studies.pluralism.measures.units import Names, Where, in_units, summed

__all__ = ["AGAINST", "NEUTRAL", "SUPPORTING", "Viewpoints", "Voiced", "viewpoints_of", "voiced_in"]

Array = NDArray[np.float64]
Ints = NDArray[np.int64]

SUPPORTING, AGAINST, NEUTRAL, _REFERENCE = range(4)
_STANCES = {"supporting": SUPPORTING, "against": AGAINST, "neutral": NEUTRAL, "reference": _REFERENCE}
_SHOWN = 20


@dataclass(frozen=True)
class Viewpoints:
    """S reference viewpoints in H sets: each thread's, or each model's and thread's where they differ by model.

    `keys` says which, `sets` numbers the sets and `table` the viewpoints. `start` and `size` [H] say where a set's
    viewpoints are. `stance` [S] is -1 where not known; `gain` [S] are votes, negative ones as 0, and `ideal` [H] is the
    discounted gain of the best order; both are None without votes.
    """

    keys: tuple[str, ...]
    sets: pl.DataFrame
    table: pl.DataFrame
    start: Ints
    size: Ints
    stance: Ints
    gain: Array | None
    ideal: Array | None


@dataclass(frozen=True)
class Voiced:
    """U units with R usable responses, and E pairs of a response and a viewpoint that it matches, in order.

    Of units [U]: `where`, the `set` of viewpoints, and `unmatched`, the number of responses left out
    because the matcher gave no usable answer. Of responses [R]: `unit`, `position` from 0, `stance`. Of pairs [E]:
    `row` of the response, `viewpoint`, and `cell`, which numbers the viewpoints of all units, G together; `owner` [G]
    is a cell's unit.
    """

    where: Where
    conditions: tuple[str, ...]
    set: Ints
    unmatched: Ints
    unit: Ints
    position: Ints
    stance: Ints
    row: Ints
    viewpoint: Ints
    cell: Ints
    owner: Ints

    @property
    def units(self) -> int:
        """U."""
        return len(self.set)

    def per_unit(self, unit: Ints, weights: NDArray[np.generic] | None = None) -> Array:
        """How often each unit occurs in `unit`, or the sum of its weights [U]."""
        return summed(unit, self.units, weights)


def viewpoints_of(summaries: pl.DataFrame) -> Viewpoints:
    """The sets of `summaries`: `thread`, `summary`, `stance`, perhaps `votes` and `model`."""
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


def voiced_in(matches: pl.DataFrame, views: Viewpoints, names: Names) -> Voiced:
    """The responses of `matches`: `model`, `thread`, `condition`, `response`, `stance`, `matched`.

    Raises:
        InputError: threads without viewpoints, and matches that name none of their thread's.
    """
    where, order, unit, conditions = in_units(matches, names, "response")
    table, units = matches[order], len(where.thread)
    _refuse_repeated(table, unit)
    begins = np.searchsorted(unit, np.arange(units))
    own = _own_set(table[begins], views)
    usable = table["matched"].is_not_null().to_numpy()
    unmatched = np.bincount(unit[~usable], minlength=units)
    if not usable.all():
        table, unit = table.filter(usable), unit[usable]
    held = np.bincount(unit, minlength=units)
    row, viewpoint = _pairs(table, own[unit], views)
    size = views.size[own]
    of = unit[row]
    return Voiced(
        where,
        conditions,
        own,
        unmatched,
        unit,
        np.arange(len(unit)) - (np.cumsum(held) - held)[unit],
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
        raise InputError([Problem("matches", place, "this response stands there more than once") for place in where])


def _stances(column: pl.Series) -> Ints:
    return column.replace_strict(_STANCES, default=-1, return_dtype=pl.Int64).to_numpy()


def _own_set(first: pl.DataFrame, views: Viewpoints) -> Ints:
    """The set of each unit, whose first rows are given."""
    found = first.select(views.keys).join(views.sets, on=views.keys, how="left", maintain_order="left")["set"]
    if found.null_count():
        lost = first.filter(found.is_null())["thread"].unique().sort().to_list()
        raise InputError(
            [Problem("summaries", f"thread {one}", "has responses but no summaries") for one in lost[:_SHOWN]]
        )
    return found.to_numpy().astype(np.int64)


def _pairs(table: pl.DataFrame, own: Ints, views: Viewpoints) -> tuple[Ints, Ints]:
    """Responses and the viewpoints that they match, pair by pair; what a response matches twice counts once."""
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
        Problem("matches", f"thread {thread}", f"{cell!r} is none of its summaries")
        for thread, cell in dict.fromkeys(zip(threads, cells, strict=True))
    ]
