"""Re-use and changes by turn (figure 5), and the score by bins of re-use (figure 4)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from overton.statistics import Estimate, not_computed
from overton.statistics.resampling import Resampling
from overton.studies.stance_stability.measures.analysis import Bin, Turn
from overton.studies.stance_stability.measures.averages import Values, means
from overton.studies.stance_stability.measures.partition import Partition, Split
from overton.studies.stance_stability.measures.scores import Scores
from overton.studies.stance_stability.measures.traces import Traces

__all__ = ["BINS", "MOST_TURNS", "measure_bins", "measure_turns"]

Array = NDArray[np.float64]

MOST_TURNS = 200
"""Later turns are in every measure but are not shown by turn."""

BINS = 10
"""Figure 4 parts re-use into bins; their number is ours."""

_DIGITS = 12
_NO_DOCUMENTS = "the table has no documents"


def measure_turns(traces: Traces, scores: Scores, partition: Partition, resampling: Resampling) -> tuple[Turn, ...]:
    """From turn 2 on, for every model, at all temperatures together and at each."""
    models, temperatures = partition.of("model"), partition.names("temperature")
    keys: list[tuple[str, str | None]] = [(model, None) for model in models.names]
    made = _by_turn(models, keys, traces, scores, resampling)
    if len(temperatures) > 1:
        inner: list[tuple[str, str | None]] = [(model, name) for model in models.names for name in temperatures]
        made += _by_turn(partition.within_temperatures, inner, traces, scores, resampling)
    return tuple(made)


def _by_turn(
    split: Split, keys: list[tuple[str, str | None]], traces: Traces, scores: Scores, resampling: Resampling
) -> list[Turn]:
    width = min(int(traces.length.max()), MOST_TURNS) - 1
    if width < 1:
        return []
    use = (traces.place > 0) & (traces.place <= width)
    conversation, cells = traces.conversation[use], len(keys) * width
    cell = split.code[conversation] * width + traces.place[use] - 1
    term = scores.terms.get("source_reuse")
    known = [] if term is None else [Values(term[use], conversation, cell, cells)]
    changed = Values(scores.held.changed[use].astype(float), conversation, cell, cells, share=True)
    reuse, (changes,) = means(known, resampling), means([changed], resampling)
    empty = not_computed(_NO_DOCUMENTS, level=resampling.level)
    return [
        Turn(model, temperature, place + 2, reuse[0][at] if reuse else empty, changes[at])
        for number, (model, temperature) in enumerate(keys)
        for place in range(width)
        if _is_there(changes[at := number * width + place])
    ]


def _is_there(one: Estimate) -> bool:
    return one.n > 0


def measure_bins(values: Mapping[str, Array], models: Split, resampling: Resampling) -> tuple[Bin, ...]:
    """The mean Chameleon score by bins of source re-use, for each model; bins without conversations are left out."""
    if "chameleon" not in values:
        return ()
    reuse = values["source_reuse"]
    place = np.floor(np.round(np.nan_to_num(reuse) * BINS, _DIGITS)).astype(np.int64).clip(0, BINS - 1)
    cell = np.where(np.isnan(reuse), -1, models.code * BINS + place)
    every = np.arange(len(reuse))
    (made,) = means([Values(values["chameleon"], every, cell, len(models.names) * BINS)], resampling)
    return tuple(
        Bin(model, number / BINS, (number + 1) / BINS, one)
        for index, model in enumerate(models.names)
        for number, one in enumerate(made[index * BINS : (index + 1) * BINS])
        if one.n
    )
