"""A baseline: the small file that stores what later runs are compared with, item by item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from overton.api.comparing.provenance import Provenance
from overton.api.comparing.source import Lost, Source
from overton.errors import InputError, Problem, Unreadable, quoted, reason_of
from overton.statistics.comparing import ratio
from overton.studies.comparing import Contribution, Measure, Sides, of_pairs
from overton.untrusted import decode_json, read_bytes

__all__ = ["FORMAT", "File", "Kept", "is_baseline", "of_baseline", "study_of"]

FORMAT = 1
SUFFIX = ".json"
_LARGEST = 50_000_000
_LARGEST_NUMBER = 1e100
"""Squares of larger numbers overflow, which ends in intervals without a reason."""


class Kept(msgspec.Struct, frozen=True):
    """The contribution of each item to one measure; see `Contribution`.

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


def of_baseline(path: Path, label: str, known: Mapping[str, Contribution]) -> Source:
    """A baseline as a source; `known` is by measure what a run contributes to it. Other measures in it are left out.

    Raises:
        InputError: the file is damaged, or of another version.
    """
    file = _read(path)
    measures = {name: one.measure for name, one in known.items()}
    sides = {
        model: [_contribution(path, kept, known[name]) for name, kept in found.items() if name in known]
        for model, found in file.sides.items()
    }
    kept = {count for found in file.sides.values() for one in found.values() for count in one.fewer or {}}
    fewer = partial(_fewer, file, measures)
    return Source(label, path, None, sides, lost=file.lost, provenance=file.told, fewer=fewer, kept=tuple(sorted(kept)))


def _fewer(file: File, measures: Mapping[str, Measure], trials: int) -> Sides:
    """The stored values that rest on so many trials."""
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
        file = decode_json(read_bytes(path, _LARGEST), _decoded)
    except (OSError, Unreadable) as error:
        reason = f"is not a readable baseline: {reason_of(error)}"
        raise InputError([Problem(str(path), "", reason)]) from error
    if file.baseline != FORMAT:
        reason = f"has format {file.baseline}; this version of Overton reads {FORMAT}"
        raise InputError([Problem(str(path), "baseline", reason)])
    return file


def _contribution(path: Path, kept: Kept, known: Contribution) -> Contribution:
    """Check a stored contribution and return it: it has a row for each item, as wide as a run's, with numbers that the
    measure can have.

    Raises:
        InputError: it does not.
    """
    measure, count = known.measure, len(kept.items)
    rows = [one for one in (kept.lost, kept.moot, *(kept.worst or ())) if one is not None]
    widths = {len(row) for row in kept.parts}
    if len(kept.parts) != count or any(len(one) != count for one in rows) or len(widths) > 1:
        raise InputError([Problem(str(path), measure.name, "does not have one row per item")])
    if len(set(kept.items)) < count:
        raise InputError([Problem(str(path), measure.name, "names an item twice")])
    if kept.answers is not None and not 0 < kept.answers <= _LARGEST_NUMBER:
        raise InputError([Problem(str(path), measure.name, f"has {kept.answers:g} answers to an item")])
    for trials, values in (kept.fewer or {}).items():
        if reason := _outside(values.values(), measure):
            raise InputError([Problem(str(path), f"{measure.name}, {trials} trials", reason)])
    width = known.parts.shape[1] if len(known.parts) else max(widths, default=2)
    _check(path, kept, measure, width)
    parts = np.array(kept.parts, float).reshape(count, width)
    lost, moot = (None if one is None else np.array(one, float) for one in (kept.lost, kept.moot))
    made = Contribution(measure, tuple(kept.items), parts, lost=lost, moot=moot, why=kept.why, answers=kept.answers)
    if kept.worst is None:
        return made
    least, most = (np.array(one, float) for one in kept.worst)
    return replace(made, worst=lambda: (least, most))


def _check(path: Path, kept: Kept, measure: Measure, width: int) -> None:
    """Refuse what a baseline cannot contain, so that an edited one does not become a difference of millions.

    Raises:
        InputError: a row has other than `width` numbers, or a number that its measure cannot have; names the item.
    """
    for number, item in enumerate(kept.items):
        reason = _wrong_row(kept, number, measure, width)
        if reason:
            advice = "make the baseline again from its run (overton baseline)"
            raise InputError([Problem(str(path), f"{measure.name}, {quoted(item)}", f"{reason}: {advice}")])


def _wrong_row(kept: Kept, number: int, measure: Measure, width: int) -> str:
    """The fault of an item's numbers, '' if there is none."""
    row = kept.parts[number]
    gone = [one[number] for one in (kept.lost, kept.moot) if one is not None]
    ends = [one[number] for one in kept.worst or ()]
    if len(row) != width:
        return f"has {len(row)} numbers, but in the run {width}"
    if any(abs(one) > _LARGEST_NUMBER for one in (*row, *gone, *ends)):
        return f"has a number above {_LARGEST_NUMBER:g}"
    if any(one < 0 for one in gone):
        return "has a negative count of missing or refused answers"
    if ends and ends[0] > ends[1]:
        return f"could be at least {ends[0]:g} and at most {ends[1]:g}"
    if measure.of is not ratio:
        return ""
    above, below = row
    if below < 0:
        return f"has the weight {below:g}, below 0"
    return _outside([above / below] if below else [], measure)


def _outside(values: Iterable[float], measure: Measure) -> str:
    """Why values of single items are too far outside the measure's range, or ''.

    A value corrected for chance can be somewhat outside, but not by more than the width of the range.
    """
    low, high = measure.within
    for value in values:
        if not (low - (high - low) <= value <= high + (high - low)):
            return f"has the value {value:g}, but the measure is between {low:g} and {high:g}"
    return ""
