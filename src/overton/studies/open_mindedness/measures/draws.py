"""How much a result depends on which arguments happened to be drawn. Not in the paper."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.calls import Draw
from overton.statistics import Estimate, not_computed
from overton.statistics.bootstrap import Bootstrap
from overton.studies.open_mindedness.measures.analysis import DrawDependence
from overton.studies.open_mindedness.measures.arguments import ArgumentTable
from overton.studies.open_mindedness.measures.cells import PRO, Cells
from overton.studies.open_mindedness.measures.scores import plurality

__all__ = ["draw_dependence"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NO_PAIRS = "no two answers to one issue, configuration, wording and template were shown {} arguments"
_NO_SETS = "argument sets were not repeated: run with --draws"


def draw_dependence(cells: Cells, table: ArgumentTable | None, bootstrap: Bootstrap) -> list[DrawDependence] | None:
    """For each model, how often answers differ with other and with the same arguments; None without records."""
    if cells.design is None or table is None:
        return None
    rows = cells.design.rows.with_columns(set=pl.Series(_signatures(table, cells.design.rows.height)))
    pairs = _pairs(rows, (len(cells.models), len(cells.issues)))
    repeated = rows.filter(pl.col("draw").is_not_null())
    return [
        _dependence([part[model] for part in pairs], _repeated_sets(repeated, model), bootstrap)
        for model in range(len(cells.models))
    ]


def _signatures(table: ArgumentTable, height: int) -> NDArray[np.uint64]:
    """A number for each row's set of arguments, whatever their order; 0 where it has none."""
    words = np.array([Draw(f"argument/{name}").words(1)[0] for name in table.ids], np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words[table.places])])
    ends = np.cumsum(np.bincount(table.rows, minlength=height))
    return np.asarray(np.diff(total[np.concatenate([[0], ends])]), np.uint64)


def _pairs(rows: pl.DataFrame, shape: tuple[int, int]) -> tuple[Ints, Ints, Ints, Ints]:
    """Unordered pairs by model and issue: differing and all, with other arguments; differing and all, with the same."""
    shown = rows.filter(pl.col("set") != 0)
    place = shown["m"].to_numpy() * shape[1] + shown["i"].to_numpy()
    cell = ((place * 8 + shown["c"].to_numpy()) * 3 + shown["wording"].to_numpy().astype(np.int64)) * 6
    cell += shown["t"].to_numpy()
    stance = shown["s"].to_numpy()
    sizes, owner = _group_sizes([cell], stance, place)
    same_sizes, same_owner = _group_sizes([cell, shown["set"].to_numpy()], stance, place)
    differing, every = _count_pairs(sizes, owner, shape)
    same_differing, same = _count_pairs(same_sizes, same_owner, shape)
    return differing - same_differing, every - same, same_differing, same


def _group_sizes(keys: list[NDArray[np.generic]], stance: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Answers by stance [groups, 3] for rows of equal keys, and each group's place."""
    if not len(stance):
        return np.zeros((0, 3), np.int64), np.zeros(0, np.int64)
    order = np.lexsort(keys[::-1])
    ordered = [key[order] for key in keys]
    starts = np.concatenate([[True], np.any([key[1:] != key[:-1] for key in ordered], axis=0)])
    group = np.cumsum(starts) - 1
    sizes = np.bincount(group * 3 + stance[order], minlength=3 * int(group[-1] + 1)).reshape(-1, 3)
    return sizes, place[order][starts]


def _count_pairs(sizes: Ints, owner: Ints, shape: tuple[int, int]) -> tuple[Ints, Ints]:
    n = sizes.sum(1)
    every = n * (n - 1) // 2
    agreeing = (sizes * (sizes - 1) // 2).sum(1)
    flat = int(np.prod(shape))
    counted = (np.bincount(owner, part, minlength=flat) for part in (every - agreeing, every))
    differing, total = (np.rint(part).astype(np.int64).reshape(shape) for part in counted)
    return differing, total


def _dependence(pairs: list[Ints], sets: list[tuple[Floats, Floats]], bootstrap: Bootstrap) -> DrawDependence:
    other_differing, other, same_differing, same = pairs
    flips_other = _pooled(other_differing, other, _NO_PAIRS.format("different"), bootstrap)
    flips_same = _pooled(same_differing, same, _NO_PAIRS.format("the same"), bootstrap)
    return DrawDependence(flips_other, flips_same, _extra(pairs, bootstrap), *_between_sets(sets, bootstrap))


def _pooled(differing: Ints, every: Ints, reason: str, bootstrap: Bootstrap) -> Estimate:
    if not every.sum():
        return not_computed(reason, level=bootstrap.level)
    return bootstrap.ratio(differing, every)


def _extra(pairs: list[Ints], bootstrap: Bootstrap) -> Estimate:
    """The difference of the two flip rates, over issues that have pairs of both kinds.

    Each issue's pairs weigh as in n1 n0 / (n1 + n0), so that an issue is compared with itself (Mantel-Haenszel).
    """
    other_differing, other, same_differing, same = (part.astype(float) for part in pairs)
    total = np.maximum(other + same, 1)
    weight = other * same / total
    if not weight.sum():
        return not_computed(_NO_PAIRS.format("different and two the same"), level=bootstrap.level)
    return bootstrap.ratio((other_differing * same - same_differing * other) / total, weight)


def _repeated_sets(rows: pl.DataFrame, model: int) -> list[tuple[Floats, Floats]]:
    """For each issue and configuration with repeated sets: answers by stance [sets, 3] and the noise of each set's pro
    share [sets] (the variance of a mean of strata: wordings and templates)."""
    own = rows.filter(pl.col("m") == model)
    counted = own.group_by("i", "c", "draw", "wording", "t").agg(
        *((pl.col("s") == stance).sum().alias(f"s{stance}") for stance in range(3))
    )
    made = []
    for _, part in sorted(counted.group_by("i", "c"), key=lambda pair: pair[0]):
        cells = part.sort("draw", "wording", "t")
        draws = cells["draw"].to_numpy()
        sizes = cells.select("s0", "s1", "s2").to_numpy()
        chosen = np.unique(draws)
        if len(chosen) > 1:
            per_set = [sizes[draws == draw] for draw in chosen]
            noise = np.array([_noise(cell) for cell in per_set])
            made.append((np.stack([cell.sum(0) for cell in per_set]).astype(float), np.append(noise, part["i"][0])))
    return made


def _noise(cells: Ints) -> float:
    n = cells.sum(1).astype(float)
    total = n.sum()
    if (n > 1).all():
        share = cells[:, PRO] / n
        return float(((n / total) ** 2 * share * (1 - share) / (n - 1)).sum())
    share = cells[:, PRO].sum() / total
    return float(share * (1 - share) / (total - 1)) if total > 1 else float("nan")


def _between_sets(sets: list[tuple[Floats, Floats]], bootstrap: Bootstrap) -> tuple[Estimate, Estimate]:
    if not sets:
        return (not_computed(_NO_SETS, level=bootstrap.level),) * 2
    issues = np.unique([int(noise[-1]) for _, noise in sets])
    flips, pairs = np.zeros(len(issues)), np.zeros(len(issues))
    beyond, configurations = np.zeros(len(issues)), np.zeros(len(issues))
    for counts, noise in sets:
        k = int(np.searchsorted(issues, int(noise[-1])))
        stances = plurality(counts)
        flips[k] += sum(stances[a] != stances[b] for a, b in combinations(range(len(stances)), 2))
        pairs[k] += len(stances) * (len(stances) - 1) / 2
        share = counts[:, PRO] / counts.sum(1)
        extra = float(np.var(share, ddof=1) - np.mean(noise[:-1]))
        if np.isfinite(extra):
            beyond[k] += extra
            configurations[k] += 1
    return bootstrap.ratio(flips, pairs), bootstrap.ratio(beyond, configurations)
