"""What a judge is asked about again, and what it says of it then."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from overton.studies.table import told

__all__ = ["READINGS", "JudgedUnit", "Reading", "Readings", "Row"]

Readings = Literal["as configured", "in another order"]
"""How the judge is asked: word for word as in the run, or with labels or materials in another order."""

READINGS: tuple[Readings, ...] = ("as configured", "in another order")


class Row(msgspec.Struct, frozen=True):
    """One label that the run's judge gave, None where it gave none; the chance of its draw, in (0, 1]; and, where
    people labelled it, their value: how much of it each label has."""

    judged: str | None
    chance: float = 1.0
    people: dict[str, float] = {}


class JudgedUnit(msgspec.Struct, frozen=True):
    """What the judge of a run is asked about at once: `unit` is its id in the run.

    `rows` are the labels that are compared, by what stands behind `unit` in their ids. `what` is the kind of label,
    `judge` who gave it. `conditions` counts by condition how much the run's judge was asked about, and how much of it
    it gave no label: the same for all units of a run.
    """

    id: str
    run: str
    unit: str
    group: str
    condition: str
    what: str
    judge: str
    rows: dict[str, Row]
    conditions: dict[str, tuple[int, int]]
    material: dict[str, Any]


class Reading(msgspec.Struct, frozen=True):
    """What one judge said of one row, asked one way. The column `model`, the judge, stands before these."""

    id: Annotated[str, told("the unit's id among the items")]
    row: Annotated[str, told("what stands behind the unit's id in the row's, '' where they are the same")]
    reading: Annotated[Readings, told("'as configured', or 'in another order'")]
    label: Annotated[str | None, told("what the judge said, None where no usable label")]
    replies: Annotated[int, told("replies asked of the judge until one was usable")]
    refused: Annotated[bool, told("whether the endpoint flagged the last reply as a refusal")]
    failure: Annotated[str | None, told("why a call failed for good ('kind: message'), None where none did")]
    said: Annotated[str, told("the last reply where it holds no usable label, cut; else ''")]
