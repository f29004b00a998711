"""A baseline: the small file that stores what later runs are compared with, item by item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from overton.api.comparing.provenance import Provenance
from overton.api.comparing.results import Lost
from overton.api.comparing.source import Source
from overton.errors import InputError, Problem, Unreadable, reason_of
from overton.studies.comparing import Contribution, Measure, Sides, of_pairs
from overton.untrusted import bytes_of, json_of

__all__ = ["FORMAT", "File", "Kept", "is_baseline", "of_baseline", "study_of"]

FORMAT = 1
SUFFIX = ".json"
_LARGEST = 50_000_000


class Kept(msgspec.Struct, frozen=True):
    """What each item contributes to one measure; see `Contribution`.

    `fewer` is for a measure that depends on the number of trials: by a smaller number than the run's, the value of each
    item that has one with so many trials. `answers` is how many an item has in a condition. Baselines of 0.2 have
    neither.
    """

    items: list[str]
    parts: list[list[float]]
    lost: list[float] | None = None
    moot: list[float] | None = None
    worst: tuple[list[float], list[float]] | None = None
    why: str = ""
    fewer: dict[int, dict[str, float]] | None = None
    answers: float | None = None


class File(msgspec.Struct, frozen=True):
    """A baseline file. `sides` is by model ('' for all together), then by measure."""

    baseline: int
    study: str
    name: str
    told: Provenance
    lost: dict[str, Lost]
    sides: dict[str, dict[str, Kept]]


_decoded = msgspec.json.Decoder(File).decode


def is_baseline(path: Path) -> bool:
    """Whether it is a baseline file, by its name and its first bytes."""
    if path.suffix != SUFFIX or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(13).replace(b" ", b"").startswith(b'{"baseline":')


def study_of(path: Path) -> str:
    """The study of a baseline.

    Raises:
        InputError: the file is damaged, or of another version.
    """
    return _read(path).study


def of_baseline(path: Path, label: str, measures: Mapping[str, Measure]) -> Source:
    """A baseline as a source; `measures` are those that the study knows, by name. Others in it are left out.

    Raises:
        InputError: the file is damaged, or of another version.
    """
    file = _read(path)
    sides = {
        model: [_contribution(path, kept, measures[name]) for name, kept in found.items() if name in measures]
        for model, found in file.sides.items()
    }
    kept = {count for found in file.sides.values() for one in found.values() for count in one.fewer or {}}
    fewer = partial(_fewer, file, measures)
    return Source(label, path, None, sides, lost=file.lost, provenance=file.told, fewer=fewer, kept=tuple(sorted(kept)))


def _fewer(file: File, measures: Mapping[str, Measure], trials: int) -> Sides:
    """What was stored for so many trials."""
    return {
        model: [
            of_pairs(measures[name], list(values), np.array([*values.values()]), np.ones(len(values)))
            for name, kept in found.items()
            if name in measures and (values := (kept.fewer or {}).get(trials))
        ]
        for model, found in file.sides.items()
    }


def _read(path: Path) -> File:
    try:
        file = json_of(bytes_of(path, _LARGEST), _decoded)
    except (OSError, Unreadable) as error:
        reason = f"is not a readable baseline: {reason_of(error)}"
        raise InputError([Problem(str(path), "", reason)]) from error
    if file.baseline != FORMAT:
        reason = f"has format {file.baseline}; this version of Overton reads {FORMAT}"
        raise InputError([Problem(str(path), "baseline", reason)])
    return file


def _contribution(path: Path, kept: Kept, measure: Measure) -> Contribution:
    """What was stored, checked: one row per item, all of one width, all numbers.

    Raises:
        InputError: it is not so.
    """
    count = len(kept.items)
    rows = [one for one in (kept.lost, kept.moot, *(kept.worst or ())) if one is not None]
    widths = {len(row) for row in kept.parts}
    if len(kept.parts) != count or any(len(one) != count for one in rows) or len(widths) > 1:
        raise InputError([Problem(str(path), measure.name, "does not have one row per item")])
    if len(set(kept.items)) < count:
        raise InputError([Problem(str(path), measure.name, "names an item twice")])
    parts = np.array(kept.parts, float).reshape(count, max(widths, default=2))
    lost, moot = (None if one is None else np.array(one, float) for one in (kept.lost, kept.moot))
    made = Contribution(measure, tuple(kept.items), parts, lost=lost, moot=moot, why=kept.why, answers=kept.answers)
    if kept.worst is None:
        return made
    least, most = (np.array(one, float) for one in kept.worst)
    return replace(made, worst=lambda: (least, most))
