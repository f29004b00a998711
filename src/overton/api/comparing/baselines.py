"""A baseline: the small file that keeps of a run what a later one is compared with, item by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from overton.api.comparing.results import Lost
from overton.api.comparing.sources import Source, opened
from overton.api.comparing.told import Told, told_of
from overton.errors import InputError, Problem, Unreadable, reason_of
from overton.studies.comparing import Contribution, Measure
from overton.studies.options import option_place
from overton.untrusted import bytes_of, json_of, write_whole

__all__ = ["baseline", "is_baseline", "of_baseline", "study_of"]

FORMAT = 1
SUFFIX = ".json"
_LARGEST = 50_000_000
_DIGITS = 12


class _Kept(msgspec.Struct, frozen=True):
    """What each item gives to one measure; see `Contribution`."""

    items: list[str]
    parts: list[list[float]]
    lost: list[float] | None = None
    moot: list[float] | None = None
    worst: tuple[list[float], list[float]] | None = None
    why: str = ""


class _File(msgspec.Struct, frozen=True):
    """A baseline file. `sides` is by model ('' for all together), then by measure."""

    baseline: int
    study: str
    name: str
    told: Told
    lost: dict[str, Lost]
    sides: dict[str, dict[str, _Kept]]


_decoded = msgspec.json.Decoder(_File).decode


def baseline(run: str | Path, *, out: str | Path, measures: Sequence[str] = (), seed: int = 0, **how: Any) -> Path:
    """Keep of a run, or of one model of it ('RUN#MODEL'), what each item gives to each headline measure, and to
    `measures` besides; writes `out`, which `compare` and `gate` take in the place of the run. Gives the file.

    Replies and items are not in it: sums by item, counts of what is not there, and how the run was asked.

    Raises:
        InputError: it is no run, or has no such measure.
        RunError: it has no records, or the file cannot be written.
    """
    study, _, (source,) = opened([run], None, {**how, "seed": seed})
    if source.run is None:
        raise InputError([Problem(str(run), "", "is no run: only a run knows how it was asked")])
    told = told_of(source.run, journal=True)
    sides = {name: side for name, side in source.sides.items() if not source.model or name == source.model}
    known = {one.measure.name for side in sides.values() for one in side}
    if unknown := [name for name in measures if name not in known]:
        reason = f"no such measure; known are {', '.join(sorted(known))}"
        raise InputError([Problem(option_place("measure"), name, reason) for name in unknown])
    kept = {
        name: {one.measure.name: _kept(one) for one in side if one.measure.leads or one.measure.name in measures}
        for name, side in sides.items()
    }
    made = _File(FORMAT, study.name, source.label, told, dict(source.lost), kept)
    return write_whole(Path(out), [msgspec.json.encode(made), b"\n"])


def _kept(one: Contribution) -> _Kept:
    worst = None if one.worst is None or not one.items else one.worst()
    return _Kept(
        list(one.items),
        np.round(one.parts, _DIGITS).tolist(),
        None if one.lost is None else one.lost.tolist(),
        None if one.moot is None else one.moot.tolist(),
        None if worst is None else (worst[0].tolist(), worst[1].tolist()),
        one.why,
    )


def is_baseline(path: Path) -> bool:
    """Whether it is a baseline file, by its name and its first words."""
    if path.suffix != SUFFIX or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(13).replace(b" ", b"").startswith(b'{"baseline":')


def study_of(path: Path) -> str:
    """The study that a baseline is of.

    Raises:
        InputError: it is damaged, or of another version.
    """
    return _read(path).study


def of_baseline(path: Path, label: str, measures: Mapping[str, Measure]) -> Source:
    """A baseline as a source; `measures` are those that the study knows, by name. Others in it are left out.

    Raises:
        InputError: it is damaged, or of another version.
    """
    held = _read(path)
    sides = {
        model: [_contribution(path, kept, measures[name]) for name, kept in found.items() if name in measures]
        for model, found in held.sides.items()
    }
    return Source(label, path, None, sides, lost=held.lost, told=held.told)


def _read(path: Path) -> _File:
    try:
        held = json_of(bytes_of(path, _LARGEST), _decoded)
    except (OSError, Unreadable) as error:
        reason = f"is no baseline that can be read: {reason_of(error)}"
        raise InputError([Problem(str(path), "", reason)]) from error
    if held.baseline != FORMAT:
        reason = f"has format {held.baseline}; this version of Overton reads {FORMAT}"
        raise InputError([Problem(str(path), "baseline", reason)])
    return held


def _contribution(path: Path, kept: _Kept, measure: Measure) -> Contribution:
    """What was kept, checked: as many rows as items, all of one width, and numbers.

    Raises:
        InputError: it is not so.
    """
    count = len(kept.items)
    rows = [one for one in (kept.lost, kept.moot, *(kept.worst or ())) if one is not None]
    widths = {len(row) for row in kept.parts}
    if len(kept.parts) != count or any(len(one) != count for one in rows) or len(widths) > 1:
        raise InputError([Problem(str(path), measure.name, "does not have a row for each of its items")])
    if len(set(kept.items)) < count:
        raise InputError([Problem(str(path), measure.name, "names an item twice")])
    parts = np.array(kept.parts, float).reshape(count, max(widths, default=2))
    lost, moot = (None if one is None else np.array(one, float) for one in (kept.lost, kept.moot))
    made = Contribution(measure, tuple(kept.items), parts, lost=lost, moot=moot, why=kept.why)
    if kept.worst is None:
        return made
    least, most = (np.array(one, float) for one in kept.worst)
    return replace(made, worst=lambda: (least, most))
