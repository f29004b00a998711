"""How much answers depend on which arguments happened to be drawn. Not in the paper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.calls import Draw
from overton.statistics import not_computed
from overton.statistics.resampling import Bootstrap
from overton.studies.open_mindedness.measures.analysis import DrawDependence
from overton.studies.open_mindedness.measures.arguments import ArgumentTable
from overton.studies.open_mindedness.measures.cells import TEMPLATES, Cells
from overton.studies.open_mindedness.measures.repeated_sets import between_sets, repeated_sets

__all__ = ["draw_dependence"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WORDINGS = 3
_NO_PAIRS = (
    "no issue and configuration has pairs of answers to one wording and template both with the same and with other "
    "arguments"
)


class _Pairs(NamedTuple):
    """Unordered pairs of answers, and how many of them differ [models, issues, conditions]."""

    differing: Ints
    every: Ints


def draw_dependence(cells: Cells, table: ArgumentTable | None, bootstrap: Bootstrap) -> list[DrawDependence] | None:
    """For each model, how often answers differ with other and with the same arguments; None without records."""
    if cells.design is None or table is None:
        return None
    rows = cells.design.rows
    places = rows.select("m", "i", "c", "t", "wording", "s", set=pl.Series(_signatures(table, rows.height)))
    shown = places.filter(_varies(places, cells.failures.shape))
    every, same = _count_pairs(shown, cells.failures.shape)
    other = _Pairs(every.differing - same.differing, every.every - same.every)
    repeated = rows.filter(pl.col("draw").is_not_null())
    return [
        _dependence(
            _Pairs(other.differing[model], other.every[model]),
            _Pairs(same.differing[model], same.every[model]),
            repeated_sets(repeated, model),
            bootstrap,
        )
        for model in range(len(cells.models))
    ]


def _varies(places: pl.DataFrame, shape: tuple[int, ...]) -> pl.Series:
    """Which rows belong to an issue and configuration that was shown with more than one set of arguments."""
    place = np.ravel_multi_index(tuple(places[key].to_numpy() for key in ("m", "i", "c")), shape)
    sets = places["set"].to_numpy()
    example = np.zeros(int(np.prod(shape)), np.uint64)
    example[place] = sets
    several = np.bincount(place, sets != example[place], minlength=example.size) > 0
    return pl.Series(several[place])


def _signatures(table: ArgumentTable, height: int) -> NDArray[np.uint64]:
    """A number for each row's set of arguments, whatever their order; 0 where it has none."""
    words = np.array([Draw(f"argument/{name}").words(1)[0] for name in table.ids], np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words[table.places], dtype=np.uint64)])
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(table.rows, minlength=height))])
    return np.asarray(np.diff(total[ends]), np.uint64)


def _count_pairs(shown: pl.DataFrame, shape: tuple[int, ...]) -> tuple[_Pairs, _Pairs]:
    """Pairs of answers to the same wording and template: all of them, and those with the same arguments."""
    place = np.ravel_multi_index(tuple(shown[key].to_numpy() for key in ("m", "i", "c")), shape)
    cell = (place * _WORDINGS + shown["wording"].to_numpy().astype(np.int64)) * TEMPLATES + shown["t"].to_numpy()
    order = np.lexsort((shown["set"].to_numpy(), cell))
    place, cell, stance = place[order], cell[order], shown["s"].to_numpy()[order]
    return _grouped([cell], stance, place, shape), _grouped(
        [cell, shown["set"].to_numpy()[order]], stance, place, shape
    )


def _grouped(keys: list[NDArray[np.generic]], stance: Ints, place: Ints, shape: tuple[int, ...]) -> _Pairs:
    """Pairs among rows with equal keys, which stand together."""
    starts = np.ones(len(stance), bool)
    starts[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    group = np.cumsum(starts) - 1
    sizes = np.bincount(group * 3 + stance, minlength=3 * int(starts.sum())).reshape(-1, 3)
    n = sizes.sum(1)
    every, agreeing = n * (n - 1) // 2, (sizes * (sizes - 1) // 2).sum(1)
    flat = int(np.prod(shape))
    counted = (np.bincount(place[starts], part, minlength=flat).reshape(shape) for part in (every - agreeing, every))
    return _Pairs(*(np.rint(part).astype(np.int64) for part in counted))


def _dependence(
    other: _Pairs, same: _Pairs, sets: dict[int, tuple[Floats, Floats]], bootstrap: Bootstrap
) -> DrawDependence:
    """Rates of flips over issues and configurations with pairs of both kinds, so that like is compared with like.

    Each weighs n1 n0 / (n1 + n0) of its pairs (Mantel-Haenszel), in all three numbers.
    """
    majority_flips, variance = between_sets(sets, bootstrap)
    weight = other.every * same.every / np.maximum(other.every + same.every, 1)
    below = weight.sum(1)
    if not below.any():
        return DrawDependence(*(not_computed(_NO_PAIRS, level=bootstrap.level),) * 3, majority_flips, variance)
    rates = [weight * pairs.differing / np.maximum(pairs.every, 1) for pairs in (other, same)]
    return DrawDependence(
        bootstrap.ratio(rates[0].sum(1), below),
        bootstrap.ratio(rates[1].sum(1), below),
        bootstrap.ratio((rates[0] - rates[1]).sum(1), below),
        majority_flips,
        variance,
    )
