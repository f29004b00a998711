"""How many controls a judge got right.

A control is right if every one of its rows has a right label; one without a label, because the judge refused, failed or
could not be read, is wrong. Controls are treated as a sample of texts as plain as these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from overton.statistics import Estimate
from overton.statistics.proportions import proportion
from overton.studies.controls.units import Control
from overton.studies.measuring import How
from overton.studies.rejudging.units import READINGS
from overton.studies.results import Results

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ENOUGH", "Analysis", "Missed", "Tried", "measure"]

ENOUGH = 0.9
"""A judge that gets a smaller share of controls right fails them. Nobody should miss any; allowing for one in ten is
our choice."""

_AS_CONFIGURED, _IN_ANOTHER_ORDER = READINGS


class Missed(msgspec.Struct, frozen=True):
    """A row of a control that the judge got wrong, as configured: what is right, and what it said, None if nothing
    could be read."""

    control: str
    row: str
    right: tuple[str, ...]
    said: str | None


class Tried(msgspec.Struct, frozen=True):
    """One judge on the controls of one kind of label.

    `right` is the share of the `controls` that it got right, asked as the study asks, and `in_another_order` the same
    with labels or materials in another order. `fails` if the former is below 0.9.
    """

    judge: str
    what: str
    controls: int
    right: Estimate
    in_another_order: Estimate
    fails: bool
    missed: tuple[Missed, ...]


class Analysis(msgspec.Struct, frozen=True):
    """Every judge on every kind of label."""

    tried: tuple[Tried, ...]
    level: float


def measure(results: Results, how: How) -> Analysis:
    """Count what every judge got right."""
    controls: dict[str, Control] = {one.id: one for one in results.items}
    return Analysis(tuple(_tried(results.records, controls, how.level)), how.level)


def _tried(records: pl.DataFrame, controls: Mapping[str, Control], level: float) -> Iterator[Tried]:
    whats = list(dict.fromkeys(one.what for one in controls.values()))
    for (judge,), own in sorted(records.partition_by("model", as_dict=True).items()):
        said = {(str(one["id"]), str(one["row"]), str(one["reading"])): one["label"] for one in own.to_dicts()}
        asked = {name for name, _, _ in said}
        for what in whats:
            tried = [one for one in controls.values() if one.what == what and one.id in asked]
            if tried:
                right = sum(not list(_missed(one, said, _AS_CONFIGURED)) for one in tried)
                again = sum(not list(_missed(one, said, _IN_ANOTHER_ORDER)) for one in tried)
                yield Tried(
                    str(judge),
                    what,
                    len(tried),
                    share_right(right, len(tried), level),
                    share_right(again, len(tried), level),
                    fails=right < ENOUGH * len(tried),
                    missed=tuple(one for control in tried for one in _missed(control, said, _AS_CONFIGURED)),
                )


def _missed(control: Control, said: Mapping[tuple[str, str, str], str | None], reading: str) -> Iterator[Missed]:
    for row, right in control.labels.items():
        label = said.get((control.id, row, reading))
        if label not in right:
            yield Missed(control.id, row, right, label)


def share_right(right: int, controls: int, level: float) -> Estimate:
    """A share of right ones, with Wilson's interval."""
    return Estimate(*proportion(right, controls, level), controls, "Wilson", level)
