"""Writes baselines: what later runs are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from overton.api.comparing.baselines import FORMAT, File, Kept
from overton.api.comparing.provenance import provenance_of
from overton.api.comparing.source import Side, Source
from overton.api.comparing.sources import opened
from overton.errors import InputError, Problem
from overton.files.atomic import write_atomic
from overton.studies.comparing import Contribution, Measure
from overton.studies.options import option_place

__all__ = ["baseline"]

_DIGITS = 12

_FEWER = (1, 2, 3, 5, 8, 12, 20, 30, 50)
"""Numbers of trials for which a baseline stores measures that depend on it, if its run has more."""


def baseline(run: str | Path, *, out: str | Path, measures: Sequence[str] = (), seed: int = 0, **how: Any) -> Path:
    """Store what each item of a run, or of one of its models ('RUN#MODEL'), contributes to each headline measure and
    to `measures`; writes `out`, which `compare` and `gate` take instead of the run. Returns the file.

    It contains no replies or items, only sums by item, counts of what is missing, and how the run was asked.

    Raises:
        InputError: it is not a run, or has no such measure.
        RunError: it has no records, or the file cannot be written.
    """
    study, _, (source,) = opened([run], None, {**how, "seed": seed})
    if source.run is None:
        raise InputError([Problem(str(run), "", "is not a run: only a run records how it was asked")])
    provenance = provenance_of(source.run, journal=True)
    sides = {name: side for name, side in source.sides.items() if not source.model or name == source.model}
    known = {one.measure.name for side in sides.values() for one in side}
    if unknown := [name for name in measures if name not in known]:
        reason = f"no such measure; known are {', '.join(sorted(known))}"
        raise InputError([Problem(option_place("measure"), name, reason) for name in unknown])
    kept = {
        name: {
            one.measure.name: _kept(one, _fewer(source, name, one.measure) if one.measure.matched else None)
            for one in side
            if one.measure.leads or one.measure.name in measures
        }
        for name, side in sides.items()
    }
    made = File(FORMAT, study.name, source.label, provenance, dict(source.lost), kept)
    return write_atomic(Path(out), [msgspec.json.encode(made), b"\n"])


def _fewer(source: Source, model: str, measure: Measure) -> dict[int, dict[str, float]]:
    """Each item's value as with fewer trials than the run has."""
    side = Side(model, source, model)
    wanted = [trials for trials in _FEWER if trials < (source.trials or 0)]
    found = {trials: side.with_trials(measure.name, trials) for trials in wanted}
    return {
        trials: {name: round(float(one.parts[row, 0] / one.parts[row, 1]), _DIGITS) for name, row in one.place.items()}
        for trials, one in found.items()
        if one is not None and one.items
    }


def _kept(one: Contribution, fewer: dict[int, dict[str, float]] | None) -> Kept:
    worst = None if one.worst is None or not one.items else one.worst()
    return Kept(
        list(one.items),
        np.round(one.parts, _DIGITS).tolist(),
        None if one.lost is None else one.lost.tolist(),
        None if one.moot is None else one.moot.tolist(),
        None if worst is None else (worst[0].tolist(), worst[1].tolist()),
        one.why,
        fewer or None,
        one.answers,
    )
