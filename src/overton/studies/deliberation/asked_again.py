"""The judge asked again for the values of explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from overton.calls import Ask, Draw
from overton.studies.deliberation.prompts import LISTED, VALUES
from overton.studies.deliberation.protocol import valued
from overton.studies.judged_rows import JudgedAgain, JudgedOnce, JudgedUnits
from overton.studies.orders import reorder
from overton.studies.questions import controls_of
from overton.studies.results import Results

USED, NOT_USED = "used", "not used"
"""What the judge says about an explanation and a value: it names the value, or it does not."""


def _units(results: Results, what: str) -> JudgedUnits:
    """Every message with an explanation: it has a label for each of the values."""
    import polars as pl

    explained = results.records.filter(pl.col("explanation").str.strip_chars() != "")
    names = explained.select(pl.format("{}/{}/{}", "deliberation", "round", "agent"))[:, 0].to_list()

    def drawn(places: Sequence[int]) -> list[JudgedOnce]:
        rows = zip(places, explained[list(places)].iter_rows(named=True), strict=True)
        return [_once(names[place], row) for place, row in rows]

    conditions = [f"{form}, {goal}" for form, goal in explained.select("format", "goal").iter_rows()]
    return JudgedUnits(names, conditions, explained["values"].is_not_null().to_list(), drawn)


def _once(name: str, row: Mapping[str, Any]) -> JudgedOnce:
    labels = _labels(row["values"])
    material = {"verdict": row["verdict"], "explanation": row["explanation"]}
    return JudgedOnce(name, row["dilemma"], labels or dict.fromkeys(VALUES), material)


def _labels(values: Sequence[str] | None) -> dict[str, str | None]:
    return {} if values is None else {value: USED if value in values else NOT_USED for value in VALUES}


async def _ask(
    ask: Ask, what: str, material: Mapping[str, Any], draw: Draw | None, speaker: str | None
) -> dict[str, str | None]:
    listed = LISTED if draw is None else reorder(draw, LISTED)
    found = await valued(ask, material["verdict"], material["explanation"], listed=listed, speaker=speaker)
    return _labels(found.values)


AGAIN = JudgedAgain("values", _units, _ask, controls=partial(controls_of, "overton.studies.deliberation"))
