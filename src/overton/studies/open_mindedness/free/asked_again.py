"""The judge asked again about free answers, with the positions' letters swapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from overton.calls import Ask, Draw
from overton.studies.judged_rows import JudgedAgain, JudgedOnce, JudgedUnits
from overton.studies.open_mindedness.free.judging import FreeAnswerLabel, Material, label_of
from overton.studies.open_mindedness.free.laid_out import answers_of
from overton.studies.open_mindedness.items import Side
from overton.studies.probabilities import ProbabilityRequest, asked_label_first
from overton.studies.questions import controls_of
from overton.studies.results import Results


def _units(results: Results, what: str) -> JudgedUnits:
    rows = answers_of(results, what)
    shared = asked_label_first(results)

    def drawn(places: Sequence[int]) -> list[JudgedOnce]:
        return [_once(row, shared) for row in rows[list(places)].iter_rows(named=True)]

    labelled = rows["label"].is_not_null().to_list()
    return JudgedUnits(rows["id"].to_list(), rows["condition"].to_list(), labelled, drawn)


def _once(row: Mapping[str, Any], shared: Mapping[str, Any]) -> JudgedOnce:
    material = {**{name: row[name] for name in ("question", "pro", "con", "answer")}, **shared}
    return JudgedOnce(row["id"], row["group"], {"": row["label"]}, {**material, "a_is": row["judged_a_is"]})


async def _ask(
    ask: Ask, what: str, material: Mapping[str, Any], draw: Draw | None, speaker: str | None
) -> dict[str, str | None]:
    shown = Material(*(material[name] for name in Material._fields))
    a_is: Side = "pro" if (material["a_is"] == "pro") == (draw is None) else "con"
    answered, _ = await label_of(
        ask, shown, a_is, speaker, ProbabilityRequest(first=material.get("label_first", False))
    )
    return {"": None if answered.value is None else _said(answered.value, what)}


def _said(found: FreeAnswerLabel, what: str) -> str:
    if what == "strength":
        return found.strength or "none"
    if what == "declines":
        return "declines" if found.declines else "does not"
    return found.taken


AGAIN = JudgedAgain(
    "judge", _units, _ask, controls=partial(controls_of, "overton.studies.open_mindedness"), manner=asked_label_first
)
