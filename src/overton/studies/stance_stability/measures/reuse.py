"""What source re-use goes with: correlations (section 4), the score in bins (figure 4), turn by turn (figure 5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from overton.statistics import Estimate, not_computed
from overton.statistics.arrays import AnyFloats, Flags, Floats
from overton.statistics.jackknife import DIFFERENCE, FISHER, SHARE, Resampling
from overton.studies.stance_stability.measures.analysis import Bin, Correlation, Turn
from overton.studies.stance_stability.measures.cells import ConversationGroups, GroupedValues, Partition, means
from overton.studies.stance_stability.measures.scores import ConversationScores
from overton.studies.stance_stability.measures.traces import Conversations

_CORRELATED = ("confidence", "stance_changes")
"""What the paper correlates source re-use with."""

_FEWEST = 3
_FLAT = "fewer than three conversations, or one side does not vary"


def measure_correlations(
    values: Mapping[str, Floats], models: ConversationGroups, resampling: Resampling
) -> tuple[Correlation, ...]:
    """For each available measure of `_CORRELATED`, with source re-use; empty if there are no documents."""
    if "source_reuse" not in values:
        return ()
    pairs = ((name, values["source_reuse"], values[name]) for name in _CORRELATED if name in values)
    return tuple(_correlation(name, x, y, models, resampling) for name, x, y in pairs)


def _correlation(measure: str, x: Floats, y: Floats, models: ConversationGroups, resampling: Resampling) -> Correlation:
    known = np.isfinite(x) & np.isfinite(y)
    each = {
        name: _estimate(x, y, known & (models.code == number), None, resampling)
        for number, name in enumerate(models.names)
    }
    pooled = _estimate(x, y, known, None, resampling)
    return Correlation(measure, pooled, _estimate(x, y, known, models, resampling), each)


def _estimate(x: Floats, y: Floats, use: Flags, models: ConversationGroups | None, resampling: Resampling) -> Estimate:
    """The correlation over the chosen conversations, with the means of `models` subtracted if these are given."""
    n = int(use.sum())
    if n < _FEWEST:
        return not_computed(_FLAT, level=resampling.level, n=n)
    x, y = np.where(use, x - x[use].mean(), 0), np.where(use, y - y[use].mean(), 0)
    parts = np.stack([use.astype(float), x, y, x * x, y * y, x * y], axis=1)
    block = models.code if models else None
    return resampling.statistic(parts, _pearson, _FLAT, within=DIFFERENCE, scale=FISHER, block=block, use=use)


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

_BINS = 10
"""Figure 4 splits re-use into bins; their number is our choice."""

_DIGITS = 12
_NO_DOCUMENTS = "the table has no documents"


def measure_turns(
    traces: Conversations, scores: ConversationScores, partition: Partition, resampling: Resampling
) -> tuple[Turn, ...]:
    """From turn 2 on, for every model, over all temperatures and at each."""
    models, temperatures = partition.of("model"), partition.names("temperature")
    keys: list[tuple[str, str | None]] = [(model, None) for model in models.names]
    made = _by_turn(models, keys, traces, scores, resampling)
    if len(temperatures) > 1:
        inner: list[tuple[str, str | None]] = [(model, name) for model in models.names for name in temperatures]
        made += _by_turn(partition.within_temperatures, inner, traces, scores, resampling)
    return tuple(made)


def _by_turn(
    split: ConversationGroups,
    keys: list[tuple[str, str | None]],
    traces: Conversations,
    scores: ConversationScores,
    resampling: Resampling,
) -> list[Turn]:
    width = min(int(traces.length.max()), _MOST_TURNS) - 1
    if width < 1:
        return []
    use = (traces.place > 0) & (traces.place <= width) & ~traces.void[traces.conversation]
    conversation, cells = traces.conversation[use], len(keys) * width
    cell = split.code[conversation] * width + traces.place[use] - 1
    term = scores.terms.get("source_reuse")
    known = [] if term is None else [GroupedValues(term[use], conversation, cell, cells, SHARE)]
    differs = np.where(scores.stances.pair, scores.stances.changed, np.nan)
    changed = GroupedValues(differs[use], conversation, cell, cells, SHARE)
    reuse, (changes,) = means(known, resampling), means([changed], resampling)
    empty = not_computed(_NO_DOCUMENTS, level=resampling.level)
    return [
        Turn(model, temperature, place + 2, reuse[0][at] if reuse else empty, changes[at])
        for number, (model, temperature) in enumerate(keys)
        for place in range(width)
        if changes[at := number * width + place].n > 0
    ]


def measure_bins(values: Mapping[str, Floats], models: ConversationGroups, resampling: Resampling) -> tuple[Bin, ...]:
    """The mean Chameleon score by bins of source re-use, for each model; bins without conversations are left out."""
    if "chameleon" not in values:
        return ()
    reuse = values["source_reuse"]
    place = np.floor(np.round(np.nan_to_num(reuse) * _BINS, _DIGITS)).astype(np.int64).clip(0, _BINS - 1)
    cell = np.where(np.isnan(reuse), -1, models.code * _BINS + place)
    every = np.arange(len(reuse))
    (made,) = means([GroupedValues(values["chameleon"], every, cell, len(models.names) * _BINS, SHARE)], resampling)
    return tuple(
        Bin(model, number / _BINS, (number + 1) / _BINS, estimate)
        for index, model in enumerate(models.names)
        for number, estimate in enumerate(made[index * _BINS : (index + 1) * _BINS])
        if estimate.n
    )
