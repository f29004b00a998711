"""Single arguments: how models answer wherever one is shown, and whether models agree on that (figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

import numpy as np
import polars as pl
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.correlation import clustered_pearson
from overton.statistics.proportions import wilson_limits
from overton.statistics.resampling import Bootstrap
from overton.studies.open_mindedness.measures.analysis import Agreement, ArgumentShare
from overton.studies.open_mindedness.measures.cells import PRO, Cells

__all__ = ["ArgumentTable", "agreements", "argument_shares", "argument_table", "median_agreement"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ArgumentTable:
    """Answers by argument.

    ids     argument ids, the third axis; the same id in another issue is another argument
    pro, n  answers 'pro' and all answers over trials that showed the argument [models, issues, arguments]
    places  each row's arguments as indices of `ids`, one after the other; `rows` says which row of records each is of
    """

    ids: tuple[str, ...]
    pro: Ints
    n: Ints
    places: Ints
    rows: Ints


def argument_table(cells: Cells) -> ArgumentTable | None:
    """Count answers by the arguments shown; None where no record shows any."""
    if cells.design is None:
        return None
    table = cells.design.rows
    lengths = table["arguments"].list.len().fill_null(0).to_numpy().astype(np.int64)
    shown = table["arguments"].filter(pl.Series(lengths > 0)).explode()
    if not len(shown):
        return None
    ids = tuple(shown.unique().sort())
    places = shown.cast(pl.Enum(list(ids))).to_physical().to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    shape = (len(cells.models), len(cells.issues), len(ids))
    flat = (table["m"].to_numpy() * shape[1] + table["i"].to_numpy())[rows] * shape[2] + places
    size = int(np.prod(shape))
    pro = np.bincount(flat[(table["s"].to_numpy() == PRO)[rows]], minlength=size).reshape(shape)
    return ArgumentTable(ids, pro, np.bincount(flat, minlength=size).reshape(shape), places, rows)


def argument_shares(cells: Cells, table: ArgumentTable, model: int, level: float) -> tuple[ArgumentShare, ...]:
    """The pro share wherever an argument was shown, with Wilson's interval, for every argument of a model."""
    shown = np.argwhere(table.n[model] > 0)
    pro, n = (counts[model][tuple(shown.T)] for counts in (table.pro, table.n))
    low, high = wilson_limits(pro / n, n, level)
    numbers = zip(shown.tolist(), (pro / n).tolist(), low.tolist(), high.tolist(), n.tolist(), strict=True)
    return tuple(
        ArgumentShare(cells.issues[i], table.ids[a], Estimate(value, lower, upper, count, "Wilson", level))
        for (i, a), value, lower, upper, count in numbers
    )


def agreements(
    cells: Cells, table: ArgumentTable, families: Mapping[str, str], bootstrap: Bootstrap
) -> tuple[Agreement, ...]:
    """Correlations between all pairs of models, over the arguments that both were shown."""
    made = []
    for a, b in combinations(range(len(cells.models)), 2):
        first, second = cells.models[a], cells.models[b]
        known = first in families and second in families
        same = families[first] == families[second] if known else None
        made.append(Agreement(first, second, same, *_correlations(table, a, b, bootstrap)))
    return tuple(made)


def _correlations(table: ArgumentTable, first: int, second: int, bootstrap: Bootstrap) -> tuple[Estimate, Estimate]:
    """Over all arguments, and within issues and sides."""
    issues, arguments = np.nonzero((table.n[first] > 0) & (table.n[second] > 0))
    x, y = (table.pro[model, issues, arguments] / table.n[model, issues, arguments] for model in (first, second))
    sides = issues * 2 + np.array([name.startswith("pro-") for name in table.ids])[arguments]
    return (
        clustered_pearson(x, y, issues, bootstrap),
        clustered_pearson(_centred(x, sides), _centred(y, sides), issues, bootstrap),
    )


def _centred(values: Floats, groups: Ints) -> Floats:
    n = np.maximum(np.bincount(groups), 1)
    # Rounded, so that groups without spread are exactly 0 and cannot correlate by rounding errors.
    return np.asarray(np.round(values - (np.bincount(groups, values) / n)[groups], 12))


def median_agreement(found: Sequence[Agreement], *, same_family: bool, level: float) -> Estimate:
    """The median correlation of pairs within or between families; `n` counts pairs. Pairs share models and arguments,
    so there is no interval."""
    pairs = [pair.correlation.value for pair in found if pair.same_family is same_family]
    values = [value for value in pairs if not isnan(value)]
    if not values:
        return not_computed("no such pair of models with a known family", level=level)
    return Estimate(float(np.median(values)), float("nan"), float("nan"), len(values), "median of pairs", level)
