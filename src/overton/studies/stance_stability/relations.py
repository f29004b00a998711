"""What goes with source re-use (section 4), and what happens turn by turn (figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from overton.judging import cohen_kappa, share
from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import AnyFloats, Flags, Floats, Ints
from overton.statistics.cell_means import CellValues, cell_means
from overton.statistics.jackknife import DIFFERENCE, FISHER, SHARE, Resampling
from overton.studies.frame import EstimateRow
from overton.studies.grouping import Frame
from overton.studies.groups import number_groups, numbers_of
from overton.studies.measures import Measure
from overton.studies.stance_stability.conversations import UNLABELLED

WITHIN = "within models"
"""The condition of correlations with each model's own means subtracted, so that differences between models do not
count."""

_FEWEST = 3
_FLAT = "fewer than three conversations, or one side does not vary"


def correlations(frame: Frame, measures: Sequence[Measure]) -> Iterator[EstimateRow]:
    """Pearson correlations, between conversations, of source re-use with each of these measures.

    `model` is null over all conversations of all models together, as published, and `WITHIN` models.
    """
    units = frame.units["conversations"]
    table = units.table.filter("known").sort("model", "heat", "conversation", nulls_last=True)
    related = [measure for measure in measures if frame.has(measure)]
    if "source_reuse" not in table.columns or not related:
        return
    models = table["model"].unique().sort().to_list()
    code = table["model"].replace_strict(models, range(len(models)), return_dtype=pl.Int64).to_numpy()
    weight = table[units.weight].to_numpy() if units.weight else None
    over = frame.jackknife.over(table[units.cluster].rank("dense").to_numpy().astype(np.int64) - 1, weight)
    reuse = table["source_reuse"].fill_null(np.nan).to_numpy()
    for measure in related:
        other = table[measure.column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        known = np.isfinite(reuse) & np.isfinite(other)
        key = f"reuse_with_{measure.name}"
        yield EstimateRow(measure=key, number=_correlation(reuse, other, known, None, over))
        within = _correlation(reuse, other, known, code, over)
        yield EstimateRow(measure=key, facet="models", condition=WITHIN, number=within)
        for number, model in enumerate(models):
            own = _correlation(reuse, other, known & (code == number), None, over)
            yield EstimateRow(model=model, measure=key, number=own)


def _correlation(x: Floats, y: Floats, use: Flags, block: Ints | None, over: Resampling) -> Estimate:
    """The correlation over the chosen conversations, with the means of each `block` subtracted if these are given."""
    n = int(use.sum())
    if n < _FEWEST:
        return not_computed(_FLAT, level=over.level, n=n)
    x, y = np.where(use, x - x[use].mean(), 0), np.where(use, y - y[use].mean(), 0)
    parts = np.stack([use.astype(float), x, y, x * x, y * y, x * y], axis=1)
    return over.statistic(parts, _pearson, _FLAT, within=DIFFERENCE, scale=FISHER, block=block, use=use)


def _pearson(sums: AnyFloats) -> AnyFloats:
    """The correlation from sums of ones, values, squares and products [rows, blocks, 6], centring each block."""
    n, x, y, xx, yy, xy = np.moveaxis(sums, 2, 0)
    some = np.where(n > 0, n, 1)
    vx, vy, vxy = ((xx - x * x / some).sum(1), (yy - y * y / some).sum(1), (xy - x * y / some).sum(1))
    tiny = 1e-12 * np.maximum(n.sum(1), 1)
    varies = (vx > tiny) & (vy > tiny)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(varies, np.clip(vxy / np.sqrt(vx * vy), -1, 1), np.nan)


_MOST_TURNS = 200
"""Later turns are in every measure but are not shown by turn."""


def by_turn(frame: Frame) -> Iterator[EstimateRow]:
    """From turn 2 on, for every model, over all temperatures and at each: the mean term of equation 1, and the share of
    conversations whose stance changes at this turn. Conversations that are void are in neither."""
    units = frame.units["turns"]
    later = (pl.col("turn") > 1) & (pl.col("turn") <= _MOST_TURNS) & ~pl.col("void")
    table = units.table.filter(later)
    if table.is_empty():
        return
    temperatures = table["temperature"].unique().cast(pl.String).sort().to_list()
    weights = frame.units["conversations"].weight
    weight = _weight_of_turns(frame, table) if weights else None
    over = frame.jackknife.over(number_groups([numbers_of(table["cluster"])]).of, weight)
    yield from _means_by(table, [], over)
    if len(temperatures) > 1:
        yield from _means_by(table, ["temperature"], over)


def _weight_of_turns(frame: Frame, table: pl.DataFrame) -> Floats:
    """What each turn's conversation counts."""
    own = frame.units["conversations"].table.filter("known")["weight"].to_numpy()
    return np.asarray(own[table["conversation"].to_numpy()])


def _means_by(table: pl.DataFrame, facets: Sequence[str], over: Resampling) -> Iterator[EstimateRow]:
    keys = ["model", *facets, "turn"]
    groups = number_groups([numbers_of(table[name]) for name in keys])
    rows, names = np.arange(table.height), table.select(keys)[groups.first].rows()
    named = [("changed_at_turn", "changed"), *([("reuse_at_turn", "reuse")] if "reuse" in table.columns else [])]
    values = [
        CellValues(table[column].cast(pl.Float64).fill_null(np.nan).to_numpy(), rows, groups.of, len(names), SHARE)
        for _, column in named
    ]
    numbers = cell_means(values, over)
    for at, (model, *where) in enumerate(names):
        if not numbers[0][at].n:  # no conversation has a pair of turns there
            continue
        for (measure, _), made in zip(named, numbers, strict=True):
            condition = " / ".join(map(str, where))
            facet = " / ".join([*facets, "turn"])
            yield EstimateRow(model=model, facet=facet, condition=condition, measure=measure, number=made[at])


def agreement(frame: Frame) -> Iterator[EstimateRow]:
    """How far labels towards the proposition and towards the question's premise agree, over the turns that have both;
    those of one conversation are not independent."""
    table = frame.units["turns"].table
    if "premise" not in table.columns:
        return
    both = table.filter(pl.col("stance") != UNLABELLED, pl.col("premise") != UNLABELLED)
    if both.is_empty():
        return
    own, other, clusters = (both[name].to_list() for name in ("stance", "premise", "conversation"))
    level = frame.jackknife.level
    same = share([stance == premise for stance, premise in zip(own, other, strict=True)], clusters, level=level)
    yield EstimateRow(measure="premise_same", number=same)
    yield EstimateRow(measure="premise_kappa", number=cohen_kappa(own, other, clusters, level=level))
