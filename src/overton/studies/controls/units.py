"""Texts whose label is beyond doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from overton.studies.noting import Notes
from overton.studies.rejudging.protocol import UnitTrial
from overton.studies.rejudging.units import JudgedUnit, Row

__all__ = ["Control", "check_control", "trials"]


class Control(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a judge is asked about, and what it has to say.

    `what` is the kind of label, as in the study's sheet. `labels` has for each row of the judgement ('' if there is
    only one) every label that is right: more than one if neighbouring ones are. `material` is what the study's
    `JudgedAgain.ask` takes.
    """

    id: str
    what: str
    labels: dict[str, tuple[str, ...]]
    material: dict[str, Any]


def check_control(whats: Sequence[str], control: Control, notes: Notes) -> None:
    """Note an unknown kind of label, and rows without a right one."""
    if control.what not in whats:
        notes.error("what", f"must be one of {', '.join(whats)}")
    if not control.labels or not all(control.labels.values()):
        notes.error("labels", "must name at least one right label for each row")


def trials(controls: Sequence[Control], options: Any, seed: int) -> Iterator[UnitTrial]:
    """One trial for each control, asked like a unit of a run."""
    for one in controls:
        unit = JudgedUnit(
            id=one.id,
            run="controls",
            unit=one.id,
            group=one.id,
            condition="",
            what=one.what,
            judge="",
            rows={row: Row(None) for row in one.labels},
            conditions={},
            material=one.material,
        )
        yield UnitTrial(f"{one.id}/control", one.id, seed, unit=unit)
