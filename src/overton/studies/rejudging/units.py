"""What a judge is asked about again, and what it then says."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from overton.studies.table import means

__all__ = ["READINGS", "JudgedUnit", "Reading", "Readings", "Row"]

Readings = Literal["as configured", "in another order"]
"""How the judge is asked: word for word as in the run, or with labels or materials in another order."""

READINGS: tuple[Readings, ...] = ("as configured", "in another order")


class Row(msgspec.Struct, frozen=True):
    """One label of the run's judge, None if it gave none; the chance of its draw, in (0, 1]; and, if people labelled
    it, their value: the weight of each label."""

    judged: str | None
    chance: float = 1.0
    people: dict[str, float] = {}


class JudgedUnit(msgspec.Struct, frozen=True):
    """What the judge of a run is asked about in one request: `unit` is its id in the run.

    `rows` are the labels that are compared, by what follows `unit` in their ids. `what` is the kind of label, `judge`
    who gave it. `conditions` counts by condition how many units the run's judge was asked about, and to how many of
    them it gave no label: the same for all units of a run.
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
    """What one judge said of one row, asked one way. The column `model`, the judge, precedes these."""

    id: Annotated[str, means("the unit's id among the items")]
    row: Annotated[str, means("what follows the unit's id in the row's, '' if they are the same")]
    reading: Annotated[Readings, means("'as configured', or 'in another order'")]
    label: Annotated[str | None, means("what the judge said, None if no usable label")]
    replies: Annotated[int, means("replies requested from the judge until one was usable")]
    refused: Annotated[bool, means("whether the endpoint flagged the last reply as a refusal")]
    failure: Annotated[str | None, means("why a call failed for good ('kind: message'), None if none did")]
    said: Annotated[str, means("the last reply if it has no usable label, cut; otherwise ''")]
