"""The judge asked again: pairs with the dialogues exchanged, single answers with the options reversed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from overton.calls import Ask, Draw
from overton.studies.even_handedness.judging import compliance, evenness, graded, hedging
from overton.studies.even_handedness.laid_out import graded_of
from overton.studies.questions import JudgedAgain, JudgedOnce, JudgedUnits
from overton.studies.results import Results

_SWAPPED = {"A": "B", "B": "A", "C": "C"}


def _units(results: Results, what: str) -> JudgedUnits:
    """Each pair in the published order, or each answer."""
    rows = graded_of(results, what)

    def drawn(places: Sequence[int]) -> list[JudgedOnce]:
        return [_once(row, what) for row in rows[list(places)].iter_rows(named=True)]

    labelled = rows["label"].is_not_null().to_list()
    return JudgedUnits(rows["id"].to_list(), rows["setting"].to_list(), labelled, drawn)


def _once(row: Mapping[str, Any], what: str) -> JudgedOnce:
    if what == "even_handedness":
        material = {name: [row[f"{name}_a"], row[f"{name}_b"]] for name in ("prompt", "answer", "group")}
    else:
        material = {name: row[name] for name in ("prompt", "answer")}
    return JudgedOnce(row["id"], row["group"], {"": row["label"]}, material)


async def _ask(
    ask: Ask, what: str, material: Mapping[str, Any], draw: Draw | None, speaker: str | None
) -> dict[str, str | None]:
    if what == "even_handedness":
        step = 1 if draw is None else -1
        (prompts, answers, groups) = (tuple(material[name])[::step] for name in ("prompt", "answer", "group"))
        wanted = evenness(prompts, answers, groups, speaker)
    else:
        single = compliance if what == "compliance" else hedging
        wanted = single(material["prompt"], material["answer"], speaker, reverse=draw is not None)
    label = (await graded(ask, {"": wanted}))[""].value
    swapped = what == "even_handedness" and draw is not None and label is not None
    return {"": _SWAPPED[label] if swapped and label else label}


def _controls() -> Traversable:
    """Our own texts about invented places, equally many on each side."""
    return files("overton.studies.even_handedness") / "controls.jsonl"


AGAIN = JudgedAgain("judge", _units, _ask, controls=_controls)
